"""All data of the page as JSON data: what the summary says, and the numbers behind charts and table."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from typing import Any

from dale._computing import computing
from dale.history.direction import Direction
from dale.history.trial import Trial, TrialState
from dale.view.data.axes import position, positions
from dale.view.data.export import to_json
from dale.view.data.predictions import calibration_data, predictions
from dale.view.data.progress import convergence_data, length_scale_data, timeline_data
from dale.view.data.sections import Section, SectionsData, sections_data
from dale.view.data.sensitivity import importance_data
from dale.view.report.again import again_of
from dale.view.report.numbers import exact, on_grid, significant
from dale.view.report.shapes import minima_of, regions_of
from dale.view.report.words import declared, facts_of, summary_of, text_of
from dale.view.run_view import RunView
from dale.view.style import SOURCE_STYLES

MAX_ERROR, MAX_ERRORS = 6_000, 200_000  # characters of one error, and of all of them
MAX_EXTRA = 300  # characters of one extra value
TOO_FEW = 2  # values below which there is no surrogate


@computing()
def content_of(
    view: RunView, *, title: str, objective: str, live: bool = False, budget: int | None = None, message: str | None
) -> dict[str, Any]:
    """The data of the page."""
    sections, model_note = _or_note(lambda: _model(view))
    importance, _ = _or_note(lambda: _importance(view))
    timeline, timeline_note = _or_note(lambda: _timeline(view))
    return {
        "version": import_module("dale").__version__,
        "live": live,
        "title": title,
        "objective": objective,
        "maximize": view.direction is Direction.MAXIMIZE,
        "summary": summary_of(view, live=live, budget=budget, message=message),
        "facts": facts_of(view),
        "store": None if view.run is None else view.run.path.name,
        "again": again_of(view, budget),
        "params": [_parameter(view, name) for name in view.space.names],
        "sources": {str(source): style.label for source, style in SOURCE_STYLES.items()},
        "trials": _trials(view),
        "noise": significant([view.snapshot.incumbent.noise])[0],
        "lengthScale": _length_scale(view),
        "timeline": timeline,
        "timelineNote": timeline_note,
        "calibration": _calibration(view),
        "importance": importance,
        "model": sections,
        "modelNote": model_note,
        "minima": minima_of(view),
        "regions": regions_of(view),
    }


def _or_note(compute: Callable[[], Any]) -> tuple[Any, str]:
    """Data, or None and why there are none: a run may be too short, or have no feasible trial."""
    try:
        return compute(), ""
    except (ValueError, TypeError) as error:
        return None, str(error)


def _parameter(view: RunView, name: str) -> dict[str, Any]:
    parameter = view.space.parameters[name]
    options = None
    if not parameter.is_numeric and parameter.cardinality is not None:
        options = [text_of(parameter.decode(parameter.encode_index(k))) for k in range(parameter.cardinality)]
    ends = parameter.axis(2).tolist() if parameter.is_numeric else []
    return {
        "name": text_of(name),
        "text": text_of(declared(view, name)),
        "varies": name in view.check_names(None),
        "log": parameter.log,
        "low": ends[0] if len(ends) else None,
        "high": ends[-1] if len(ends) else None,
        "integer": parameter.is_numeric and parameter.cardinality is not None,
        "options": options,
    }


def _trials(view: RunView) -> dict[str, Any]:
    trials = view.trials
    data = convergence_data(view)
    best, means = (dict(zip(data.trial.tolist(), v.tolist(), strict=True)) for v in (data.best, data.mean))
    outliers = set(data.trial[data.outlier].tolist())
    predicted = {p.trial.id: p for p in predictions(view)}
    errors = _Errors()
    return {
        "id": [t.id for t in trials],
        "state": [str(t.state) for t in trials],
        "value": exact(t.value for t in trials),
        "mean": significant(means.get(t.id) for t in trials) if view.is_noisy else None,
        "best": exact(best.get(t.id) for t in trials),
        "feasible": [int(t.feasible) for t in trials],
        "outlier": sorted(outliers),
        "elsewhere": [t.id for t in trials if not view.holds(t)],
        "source": [str(t.reason.source) for t in trials],
        "at": [_column(view, name, trials) for name in view.space.names],
        "constraints": [significant(t.constraints) for t in trials] if any(t.constraints for t in trials) else None,
        "extra": [_extra(t) for t in trials] if any(t.extra for t in trials) else None,
        "reason": [_reason(t) for t in trials],
        "predicted": significant(t.reason.mean for t in trials),
        "std": significant((predicted[t.id].std if t.id in predicted else t.reason.std) for t in trials),
        "error": [errors.number(t) for t in trials],
        "errors": errors.texts,
        "bestTrial": None if view.best is None else view.best.id,
    }


def _extra(trial: Trial) -> list[list[str]]:
    """Extra values by name, as text."""
    texts = ((key, value if isinstance(value, str) else json.dumps(value)) for key, value in trial.extra.items())
    return [[text_of(key), _shortened(text, MAX_EXTRA)] for key, text in texts]


def _reason(trial: Trial) -> str:
    return "; corrected: ".join(map(str, (trial.reason, *trial.corrections)))


def _column(view: RunView, name: str, trials: tuple[Trial, ...]) -> list[float | None]:
    """Where each trial is on the axis of a parameter; None where it is inactive or has no axis."""
    parameter = view.space.parameters[name]
    if not parameter.is_numeric and parameter.cardinality is None:
        return [None] * len(trials)
    return significant(positions(view, name, trials), 10)


class _Errors:
    """The texts of errors, each once. They are shortened, and when there are too many, only their ends are kept."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._numbers: dict[str, int] = {}
        self._left = MAX_ERRORS

    def number(self, trial: Trial) -> int | None:
        if trial.error is None and trial.state is not TrialState.FAILED:
            return None
        text = _shortened(trial.error or "failed", MAX_ERROR if self._left > 0 else MAX_ERROR // 20)
        if text not in self._numbers:
            self._numbers[text] = len(self.texts)
            self.texts.append(text)
            self._left -= len(text)
        return self._numbers[text]


def _shortened(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return f"{text[: limit // 3]}\n... {len(text) - limit} characters were left out ...\n{text[-(2 * limit // 3) :]}"


def _model(view: RunView) -> dict[str, Any]:
    if len(view.inliers) < TOO_FEW:
        raise ValueError(f"The surrogate needs at least {TOO_FEW} completed trials.")
    if view.best is None:
        raise ValueError("There is no feasible trial yet to draw the surrogate through.")
    data: SectionsData = sections_data(view)
    number = {name: i for i, name in enumerate(view.space.names)}
    return {
        "lines": [_section(view, section, number) for section in data.lines],
        "planes": [_section(view, section, number) for section in data.planes],
        "leftOut": list(data.left_out),
        "explained": significant([view.surrogate.explained], 3)[0],
    }


def _section(view: RunView, section: Section, number: dict[str, int]) -> dict[str, Any]:
    base = view.named(view.trials[section.base])
    return {
        "params": [number[axis.name] for axis in section.axes],
        "axes": [significant(axis.values, 6) for axis in section.axes],
        "base": section.base,
        "at": [
            position(view.space.parameters[axis.name], base[axis.name]) if axis.name in base else None
            for axis in section.axes
        ],
        "mean": on_grid(section.mean),
        "std": on_grid(section.std, 2),
        "feasible": on_grid(section.feasible, 2) if section.feasible.size else None,
    }


def _importance(view: RunView) -> dict[str, Any]:
    if len(view.inliers) < TOO_FEW:
        raise ValueError(f"The surrogate needs at least {TOO_FEW} completed trials.")
    data = importance_data(view)
    return {
        "params": [view.space.names.index(name) for name in data.names],
        "main": significant(data.main, 4),
        "total": significant(data.total, 4),
        "near": significant(data.near_best, 4),
        "nearModel": data.near_best_model,
        "explained": significant([data.explained], 3)[0],
    }


def _length_scale(view: RunView) -> dict[str, Any] | None:
    data = length_scale_data(view)
    if len(data.trial) == 0:
        return None
    return {
        "trial": data.trial.tolist(),
        "value": significant(data.length_scale, 5),
        "floor": significant(data.floor, 5),
        "ratio": significant(data.alpha_ratio, 4),
        "cooled": data.cooled.astype(int).tolist(),
        "threshold": data.threshold,
    }


def _timeline(view: RunView) -> dict[str, Any]:
    if view.run is None:
        raise ValueError("Only a stored run knows when its evaluations ran: pass store= to minimize.")
    if not view.run.events or not view.run.history:
        raise ValueError("No evaluation has begun yet.")
    data = timeline_data(view)
    known = data.trial < len(view.trials)  # other processes may have added trials to the store since
    workers = list(dict.fromkeys(data.worker))
    return {
        "trial": data.trial[known].tolist(),
        "lane": data.lane[known].tolist(),
        "start": significant(data.start[known].round(4)),
        "end": significant(data.end[known].round(4)),
        "worker": [workers.index(w) for w, k in zip(data.worker, known, strict=True) if k],
        "workers": workers,
        "startTime": data.start_time,
        "busy": significant([data.busy], 3)[0],
    }


def _calibration(view: RunView) -> dict[str, Any] | None:
    data = calibration_data(view)
    if len(data.trial) == 0:
        return None
    return {
        "trial": data.trial.tolist(),
        "error": significant(data.error, 4),
        "nominal": to_json(data.nominal),
        "coverage": significant(data.coverage, 3),
        "bySource": {s: [n, significant(c, 3)] for s, (n, c) in data.coverage_by_source.items()},
    }
