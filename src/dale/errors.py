"""What a user can do wrong, as ``ValueError``s with a name; the end of a search that has seen everything; ``Retry``.

Every message says what was got, what was wanted and what to do; raising one never changes any state.
"""


class SpaceError(ValueError):
    """Bounds, a parameter or a point that do not make sense."""


class TrialError(ValueError):
    """A trial that is unknown, was told before with another value, or is told other constraints than those before."""


class StoreError(RuntimeError):
    """A run on disk that cannot be opened, read or written, or that is another problem's; the file is left as it is.

    No ``ValueError``, for the point that was being told is not to blame.
    """


class StoreWarning(UserWarning):
    """A store in a place where it may be damaged."""


class Retry(RuntimeError):
    """For an objective to raise when the machine is at fault and not the point: ``raise dale.Retry("the node died")``.

    The trial fails with this reason, its neighbourhood is not avoided, and its point is asked again.
    """


class SpaceExhausted(RuntimeError):
    """Every point of a finite space has been asked: no mistake, but there is no trial to give."""
