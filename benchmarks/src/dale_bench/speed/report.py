"""Table, verdicts and plot of the measurements."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from dale.view.style import LABEL, TITLE, legend_below, new_figure, save, style_axes
from dale_bench.contenders import label
from dale_bench.figures import line_style, set_log_ticks
from dale_bench.speed.asks import BOTORCH, DALE, GLOBAL, NOISY, OPTUNA
from dale_bench.speed.measure import FLOOR, IMPORTS, Timing
from dale_bench.speed.plan import PEERS
from dale_bench.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AROUND_100 = 99, 101  # their mean is used as n = 100
SHARES = {BOTORCH: 40, OPTUNA: 8}  # at n = 100 a proposal may cost at most 1 / share of the peer's
SHARE_D = 6
WITH_NOISE, WITH_NOISE_AT = 3.0, (200, 6)
GROWTH, GROWTH_FROM, GROWTH_TO = 16.0, 500, 2000
JUMP = 3.0
FLOORS, FLOOR_AT = 20.0, (2000, 6)
SQUARES, FREE_MEGABYTES = 4, 100.0  # limit of memory: SQUARES * n^2 doubles, plus FREE_MEGABYTES
IMPORT = 1.3
SLOWER = "ratios and verdicts use the slower of dale's two kinds of proposal: any, and without local steps"
KINDS = {DALE: "dale", GLOBAL: "global", NOISY: "with noise"}
LABELS = {GLOBAL: "dale, global", NOISY: "dale, with noise"}

Known = dict[tuple[str, int, int], Timing]


class Verdict(NamedTuple):
    """A claim with its limit and the measurement.

    Attributes:
        claim: The claim.
        measured: The measured number, which must not exceed the limit; None if it was not measured.
        limit: The limit.
        shown: The measured number with its unit.
    """

    claim: str
    measured: float | None
    limit: float
    shown: str = ""

    def __str__(self) -> str:
        if self.measured is None:
            return f"not measured: {self.claim}"
        return f"{'holds' if self.measured <= self.limit else 'does not hold'}: {self.claim}; it is {self.shown}"


def speed_table(timings: Sequence[Timing]) -> Table:
    """One row for each (d, n): milliseconds of the floor, of dale and of each peer, their ratios, and memory."""
    known = _known(timings)
    peers = [p for p in PEERS if any(t.contender == p for t in timings)]
    kinds = [kind for kind in (DALE, GLOBAL, NOISY) if kind != NOISY or any(t.contender == kind for t in timings)]
    header = ["d", "n", "floor, ms", *(f"{KINDS[kind]}, ms" for kind in kinds), "/ floor", "MB"]
    for peer in peers:
        header += [f"{label(peer)}, ms", "/ dale", "MB"]
    rows = []
    for d, n in dict.fromkeys((t.d, t.n) for t in timings):
        floor, ours = known.get((FLOOR, n, d)), _slower(known, n, d)
        row = [str(d), str(n), _milliseconds(floor, with_range=False)]
        row += [_milliseconds(known.get((kind, n, d))) for kind in kinds]
        row += [_ratio(ours, floor), _mb(known, (DALE, GLOBAL), n, d)]
        for peer in peers:
            theirs = known.get((peer, n, d))
            row += [_milliseconds(theirs), _ratio(theirs, ours), _mb(known, (peer,), n, d)]
        rows.append(row)
    return header, rows


def verdicts(timings: Sequence[Timing], imports: Sequence[Timing]) -> list[Verdict]:
    """The claims about the cost of a proposal, with the measurements."""
    known = _known(timings)
    return [
        *(_share(known, peer, share) for peer, share in SHARES.items()),
        _with_noise(known),
        _step(known, f"n = {GROWTH_FROM} to {GROWTH_TO}: at most {GROWTH:g} times", GROWTH_FROM, GROWTH_TO, GROWTH),
        _step(known, f"n = 99 to 101: no jump above {JUMP:g} times", *AROUND_100, JUMP),
        _above_floor(known),
        _memory(known),
        _import(imports),
    ]


def speed_figure(timings: Sequence[Timing]) -> Figure:
    """Seconds over n, both logarithmic, a panel for each d."""
    dimensions = list(dict.fromkeys(t.d for t in timings))
    contenders = [c for c in (FLOOR, DALE, GLOBAL, NOISY, *PEERS) if any(t.contender == c for t in timings)]
    figure = new_figure(3.4 * len(dimensions) + 0.6, 3.8)
    panels = list(figure.subplots(1, len(dimensions), squeeze=False, sharey=True)[0])
    for ax, d in zip(panels, dimensions, strict=True):
        for name in contenders:
            points = sorted((t.n, t.seconds) for t in timings if t.contender == name and t.d == d)
            if points:
                style = {"color": "#777777", "linestyle": ":"} if name == FLOOR else line_style(name, contenders)
                style |= {"marker": "o", "markersize": 3.5, "linewidth": 1.6, "label": LABELS.get(name, label(name))}
                ax.loglog(*zip(*points, strict=True), **style)
        ax.set_title(f"d = {d}", fontsize=TITLE)
        ax.set_xlabel("observations", fontsize=LABEL)
        set_log_ticks(ax.xaxis, [t.n for t in timings if t.d == d])
        style_axes(ax)
    panels[0].set_ylabel("CPU seconds of a proposal", fontsize=LABEL)
    legend_below(figure, panels, columns=max(2, 2 * len(dimensions)))
    return figure


def write_figure(timings: Sequence[Timing], directory: Path) -> list[Path]:
    """Write the plot as PNG and SVG."""
    figure = speed_figure(timings)
    return [save(figure, directory / f"speed.{kind}") for kind in ("png", "svg")]


def _share(known: Known, peer: str, share: int) -> Verdict:
    claim = f"n = 100, d = {SHARE_D}: at most 1/{share} of {label(peer)}"
    ours = [_slower(known, n, SHARE_D) for n in AROUND_100]
    theirs = [known.get((peer, n, SHARE_D)) for n in AROUND_100]
    if None in ours or None in theirs:
        return Verdict(claim, None, 1 / share)
    a, b = (fmean(t.seconds for t in timings if t) for timings in (ours, theirs))
    return Verdict(claim, a / b, 1 / share, f"1/{b / a:.3g}")


def _with_noise(known: Known) -> Verdict:
    n, d = WITH_NOISE_AT
    claim = f"n = {n}, d = {d}: with noise at most {WITH_NOISE:g} times"
    noisy, exact = known.get((NOISY, n, d)), known.get((DALE, n, d))
    if noisy is None or exact is None:
        return Verdict(claim, None, WITH_NOISE)
    ratio = noisy.seconds / exact.seconds
    return Verdict(claim, ratio, WITH_NOISE, f"{ratio:.3g} times")


def _step(known: Known, claim: str, n: int, larger: int, limit: float) -> Verdict:
    """Ratio of the cost at the larger n to that at n, in the dimension where it is largest."""
    ratios = {}
    for d in dict.fromkeys(d for _, _, d in known):
        before, after = _slower(known, n, d), _slower(known, larger, d)
        if before and after:
            ratios[d] = after.seconds / before.seconds
    if not ratios:
        return Verdict(claim, None, limit)
    worst = max(ratios, key=ratios.__getitem__)
    return Verdict(claim, ratios[worst], limit, f"{ratios[worst]:.3g} times at most (d = {worst})")


def _above_floor(known: Known) -> Verdict:
    n, d = FLOOR_AT
    claim = f"n = {n}, d = {d}: within {FLOORS:g} times the floor"
    ours, floor = _slower(known, n, d), known.get((FLOOR, n, d))
    if ours is None or floor is None:
        return Verdict(claim, None, FLOORS)
    ratio = ours.seconds / floor.seconds
    return Verdict(claim, ratio, FLOORS, f"{ratio:.3g} times")


def _memory(known: Known) -> Verdict:
    n, d = FLOOR_AT
    limit = SQUARES * n**2 * 8 / 1e6 + FREE_MEGABYTES
    claim = f"n = {n}, d = {d}: memory within {SQUARES} n^2 doubles and {FREE_MEGABYTES:g} MB, that is {limit:g} MB"
    ours = _megabytes(known, (DALE, GLOBAL), n, d)
    return Verdict(claim, ours, limit, "" if ours is None else f"{ours:.0f} MB")


def _import(imports: Sequence[Timing]) -> Verdict:
    """The minimum of all repetitions, because an import always does the same work."""
    claim = f"import dale: within {IMPORT:g} times that of numpy, scipy.optimize and scipy.linalg"
    best = {t.contender: min(t.cpu) for t in imports}
    if not best.keys() >= IMPORTS.keys():
        return Verdict(claim, None, IMPORT)
    ours, needed = (best[name] for name in IMPORTS)
    return Verdict(claim, ours / needed, IMPORT, f"{ours / needed:.3g} times ({ours:.3g} s, {needed:.3g} s)")


def _known(timings: Sequence[Timing]) -> Known:
    return {t.key: t for t in timings}


def _slower(known: Known, n: int, d: int) -> Timing | None:
    """The slower of dale's two kinds of proposal."""
    ours = [known[kind, n, d] for kind in (DALE, GLOBAL) if (kind, n, d) in known]
    return max(ours, key=lambda t: t.seconds, default=None)


def _megabytes(known: Known, contenders: Sequence[str], n: int, d: int) -> float | None:
    """The largest memory of several contenders."""
    timings = [known[c, n, d] for c in contenders if (c, n, d) in known]
    return max((t.megabytes for t in timings if t.megabytes is not None), default=None)


def _milliseconds(timing: Timing | None, *, with_range: bool = True) -> str:
    if timing is None:
        return "-"
    ends = f" ({_digits(1e3 * min(timing.cpu))}-{_digits(1e3 * max(timing.cpu))})" if with_range else ""
    return _digits(1e3 * timing.seconds) + ends


def _ratio(timing: Timing | None, other: Timing | None) -> str:
    return "-" if timing is None or other is None else _digits(timing.seconds / other.seconds)


def _mb(known: Known, contenders: Sequence[str], n: int, d: int) -> str:
    megabytes = _megabytes(known, contenders, n, d)
    return "-" if megabytes is None else _digits(megabytes)


def _digits(number: float) -> str:
    """Three digits, without an exponent if possible."""
    return f"{number:.3g}" if number < 1000 else f"{number:.0f}"
