"""What a user can do wrong, as ``ValueError``s with a name, and the end of a search that has seen everything.

Every message says what was got, what was wanted and what to do; raising one never changes any state.
"""


class SpaceError(ValueError):
    """Bounds, a parameter or a point that do not make sense."""


class TrialError(ValueError):
    """A trial that is unknown, or was told before with another value."""


class SpaceExhausted(RuntimeError):
    """Every point of a finite space has been asked: no mistake, but there is no trial to give."""
