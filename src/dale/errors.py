"""Exceptions and warnings of dale.

Every message states what was expected, what was received and how to fix it. An error never changes the state of a run.
"""


class SpaceError(ValueError):
    """Invalid bounds, an invalid parameter, or a point outside of the space."""


class TrialError(ValueError):
    """An unknown trial, a second value for a complete trial, or another number of outcome constraints than before."""


class StoreError(RuntimeError):
    """A store that cannot be opened, read or written, or that holds another problem. The file is not changed.

    This is not a ``ValueError``, because the reported value is not the cause.
    """


class StoreWarning(UserWarning):
    """A store on a network file system, where it may be damaged."""


class Retry(RuntimeError):
    """Raised by an objective to report a transient failure: ``raise dale.Retry("the node died")``.

    The trial fails with this message. The models ignore the failure, and the same point is evaluated again.
    """


class SpaceExhausted(RuntimeError):
    """All points of a finite space have been proposed. This ends a run; it is not a mistake of the caller."""
