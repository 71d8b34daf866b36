"""Exceptions and warnings of dale.

Every message states what was expected, what was received and how to fix it. An error never changes the state of a run.
"""

import os


def unreadable(path: str | os.PathLike[str], error: OSError, expected: str) -> OSError:
    """The error of a file that cannot be read, of the same type, which says what the file should have been."""
    return type(error)(f"{os.fspath(path)} cannot be read: {error.strerror}; expected {expected}")


class SpaceError(ValueError):
    """Invalid bounds, an invalid parameter, or a point outside of the space.

    Examples:
        >>> import dale
        >>> dale.Optimizer([(2, 1)])  # doctest: +IGNORE_EXCEPTION_DETAIL
        Traceback (most recent call last):
        dale.errors.SpaceError: ...
    """


class TrialError(ValueError):
    """An unknown trial, a second value for a complete trial, or another number of outcome constraints than before.

    Examples:
        >>> import dale
        >>> dale.Optimizer([(0, 1)]).tell(5, 1.0)  # doctest: +IGNORE_EXCEPTION_DETAIL
        Traceback (most recent call last):
        dale.errors.TrialError: ...
    """


class StoreError(RuntimeError):
    """A store that cannot be opened, read or written, or that holds another problem. The file is not changed.

    This is not a ``ValueError``, because the reported value is not the cause.

    Examples:
        >>> import dale
        >>> dale.open("missing.db")  # doctest: +IGNORE_EXCEPTION_DETAIL
        Traceback (most recent call last):
        dale.errors.StoreError: ...
    """


class StoreWarning(UserWarning):
    """A store on a network file system, where it may be damaged, or one of a run on another kind of CPU.

    Examples:
        >>> import dale, warnings
        >>> warnings.simplefilter("error", dale.StoreWarning)  # refuse such a store
    """


class ForkWarning(UserWarning):
    """Some trials are outside of the space of a fork (``dale.fork``), and were left out.

    Examples:
        >>> import dale, warnings
        >>> warnings.simplefilter("ignore", dale.ForkWarning)  # the space was narrowed on purpose
    """


class EvaluationError(RuntimeError):
    """An evaluation failed, and the run ended: with ``on_error="raise"``, or because the first ones failed alike.

    It holds the error as text. An exception that the objective raised in the process of the run is raised itself
    instead.

    Examples:
        >>> import dale
        >>> dale.minimize(lambda x: None, [(0, 1)], budget=9, on_error="raise")  # doctest: +IGNORE_EXCEPTION_DETAIL
        Traceback (most recent call last):
        dale.errors.EvaluationError: ...
    """


class EvaluationWarning(UserWarning):
    """The first failed evaluation of each kind, with its traceback. The run continues.

    Examples:
        >>> import dale, warnings
        >>> warnings.simplefilter("ignore", dale.EvaluationWarning)  # failures are expected
    """


class ReportWarning(UserWarning):
    """The page of a run (``report=``) could not be written. The run continues.

    Examples:
        >>> import dale, warnings
        >>> warnings.simplefilter("ignore", dale.ReportWarning)  # the page does not matter
    """


class Retry(RuntimeError):
    """Raised by an objective to report a transient failure: ``raise dale.Retry("the node died")``.

    The trial fails with this message. The models ignore the failure, and the same point is evaluated again.

    Examples:
        >>> import dale
        >>> calls = []
        >>> def objective(x):
        ...     calls.append(x[0])
        ...     if len(calls) == 1:
        ...         raise dale.Retry("the node died")
        ...     return x[0] ** 2
        >>> result = dale.minimize(objective, [(-1, 1)], budget=3, seed=0)
        >>> bool(calls[0] == calls[1])
        True
    """


class SpaceExhausted(RuntimeError):
    """All points of a finite space have been proposed. This ends a run; it is not a mistake of the caller.

    Examples:
        >>> import dale
        >>> optimizer = dale.Optimizer({"n": dale.Int(1, 2)}, seed=0)
        >>> trials = optimizer.ask(2)
        >>> optimizer.ask()  # doctest: +IGNORE_EXCEPTION_DETAIL
        Traceback (most recent call last):
        dale.errors.SpaceExhausted: ...
    """
