"""What a method is: a proposal as a function of a snapshot, and what it declares about itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

import numpy as np

from dale._arrays import Vector
from dale.history.reason import Reason
from dale.history.seeding import RandomStreams
from dale.history.snapshot import Snapshot


class Proposal(NamedTuple):
    """The next point (d,) of the unit cube and why it was chosen.

    Examples:
        >>> import numpy as np
        >>> from dale.history import Reason, Source
        >>> Proposal(np.array([0.5]), Reason(Source.GLOBAL)).reason.source
        <Source.GLOBAL: 'global'>
    """

    point: Vector
    reason: Reason


@dataclass(frozen=True)
class Capabilities:
    """What a method can deal with. The optimizer reads this and knows nothing else about a method.

    Attributes:
        input_constraints: It proposes only points that ``snapshot.domain`` allows.
        outcome_constraints: It takes constraints that come with the values into account.
        held_parameters: It searches where ``snapshot.domain`` holds parameters.
        replicates: Where values are noisy, it may propose pending points of a finite space, if that is worth it.

    Examples:
        >>> import dale
        >>> dale.methods.default().capabilities.outcome_constraints
        True
        >>> dale.methods.paper().capabilities.outcome_constraints
        False
    """

    input_constraints: bool = False
    outcome_constraints: bool = False
    held_parameters: bool = False
    replicates: bool = False


class Method(Protocol):
    """Proposes the next evaluation. A frozen value: its settings, and no state.

    Examples:
        >>> import dale
        >>> from dale.history import Reason, Source
        >>> class Uniform:
        ...     name, revision, capabilities = "uniform", 1, Capabilities()
        ...
        ...     def changed_settings(self):
        ...         return {}
        ...
        ...     def propose(self, snapshot, rng):
        ...         return Proposal(rng("global").random(snapshot.history.dimension), Reason(Source.GLOBAL))
        >>> dale.minimize(lambda x: x[0] ** 2, [(-1, 1)], budget=5, seed=0, method=Uniform()).nfev
        5
    """

    @property
    def name(self) -> str:
        """Name under which a store keeps the method."""
        ...

    @property
    def revision(self) -> int:
        """Rises when the same history gives another proposal than before."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """What the method can deal with."""
        ...

    def propose(self, snapshot: Snapshot, rng: RandomStreams) -> Proposal:
        """The next point: a function of the history and the random streams. ``snapshot.cache`` only saves time."""
        ...

    def changed_settings(self) -> Mapping[str, Any]:
        """Settings that differ from the defaults, by name."""
        ...


def changed_settings(settings: Any) -> dict[str, Any]:
    """The fields of a dataclass that differ from their defaults; those without a default always count.

    A field that is a dataclass itself becomes a mapping of its ``type`` and its own changed settings, and a member of a
    ``StrEnum`` its text.
    """
    values = {field: getattr(settings, field.name) for field in dataclasses.fields(settings)}
    return {field.name: _nested(value) for field, value in values.items() if value != _default(field)}


def _default(field: dataclasses.Field[Any]) -> Any:
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def _nested(value: Any) -> Any:
    if isinstance(value, StrEnum):
        return str(value)
    if isinstance(value, tuple):
        return tuple(map(_nested, value))
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return value
    return {"type": type(value).__name__, **changed_settings(value)}


def check_method(method: Any) -> Method:
    """A method that the user gave, if it is one."""
    declared = ("name", "revision", "capabilities", "changed_settings", "propose")
    missing = [name for name in declared if not hasattr(method, name)]
    if isinstance(method, type) or not callable(getattr(method, "propose", None)) or missing:
        lacks = f", which has no {', '.join(missing)}" if missing and callable(getattr(method, "propose", None)) else ""
        raise TypeError(
            f"method must be one of dale.methods, such as dale.methods.paper(), or your own with "
            f"{', '.join(declared)}; got {method!r}{lacks}"
        )
    checked: Method = method
    return checked


def check_proposal(proposal: Any, dimension: int, method: Method) -> Proposal:
    """A method's proposal, if it is a finite point of the unit cube's dimension with a reason."""
    point = np.asarray(proposal.point) if isinstance(proposal, Proposal) else None
    if point is None or point.shape != (dimension,) or not np.isfinite(point).all():
        raise TypeError(
            f"method {method.name!r}: expected a Proposal with a finite point of shape ({dimension},), got {proposal!r}"
        )
    checked: Proposal = proposal
    return checked


def require_constraints(method: Method, *, outcome: bool) -> None:
    """An error if the method cannot deal with constraints of this kind."""
    able = method.capabilities.outcome_constraints if outcome else method.capabilities.input_constraints
    if not able:
        kind = "outcome" if outcome else "input"
        raise TypeError(
            f"the method {method.name!r} takes no {kind} constraints; use the default method (method=None), or one "
            f"whose capabilities include {kind}_constraints"
        )


def require_held_parameters(method: Method) -> None:
    """An error if the method cannot hold parameters."""
    if not method.capabilities.held_parameters:
        raise TypeError(
            f"the method {method.name!r} cannot hold parameters (fixed=); use the default method (method=None), or a "
            "space without them"
        )


def check_outcome_constraints(method: Method, constraints: Sequence[float]) -> None:
    """An error if an outcome has constraints, and the method cannot deal with them."""
    if constraints:
        require_constraints(method, outcome=True)
