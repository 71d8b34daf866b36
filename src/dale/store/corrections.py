"""Corrections of a stored run by a command: without its method, its constraints and its objective, which are code."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager

from dale.history.evaluation import Evaluation
from dale.history.history import History
from dale.history.transitions import ON_COMMAND_LINE, amended, discarded
from dale.history.trial import Trial, find_trial
from dale.store.events import EventKind
from dale.store.run import open_run
from dale.store.store import Store, open_store


def amend_stored(
    path: str | os.PathLike[str], trial: int, changes: Evaluation, *, why: str = "", who: str | None = None
) -> Trial | None:
    """Correct the outcome of a trial, as ``Optimizer.amend`` does; also while other processes use the store.

    Args:
        path: The store.
        trial: Id of the trial.
        changes: The new outcome; None for the parts that stay as they are.
        why: The reason.
        who: Who corrects it; None for the name of the user in the operating system.

    Returns:
        The trial as it is now; None if it has this outcome already, and nothing was changed.

    Examples:
        >>> import dale
        >>> result = dale.minimize(lambda x: x[0] ** 2, [(-2, 2)], budget=3, seed=0, store="run.db")
        >>> amend_stored("run.db", 1, Evaluation(0.25, None, None), why="recalibrated").value
        0.25
    """
    with _changing(path) as (store, trials):
        known = find_trial(trials, trial)
        after = amended(trials, known, changes, who, why, ON_COMMAND_LINE)
        if after is known:
            return None
        store.append(EventKind.AMEND, after)
    return after


def discard_stored(path: str | os.PathLike[str], trial: int, *, why: str = "", who: str | None = None) -> Trial:
    """Discard a trial, as ``Optimizer.discard`` does; arguments as in ``amend_stored``.

    Examples:
        >>> import dale
        >>> result = dale.minimize(lambda x: x[0] ** 2, [(-2, 2)], budget=3, seed=0, store="run.db")
        >>> str(discard_stored("run.db", 1, why="wrong sample").state)
        'discarded'
    """
    with _changing(path) as (store, trials):
        after = discarded(trials, find_trial(trials, trial), who, why, ON_COMMAND_LINE)
        store.append(EventKind.DISCARD, after)
    return after


@contextmanager
def _changing(path: str | os.PathLike[str]) -> Iterator[tuple[Store, Sequence[Trial]]]:
    """The store, in a transaction, and all trials."""
    run = open_run(path)
    with closing(open_store(path, run.space, dict(run.problem))) as store, store.transaction() as events:
        yield store, store.replay(History.empty(run.space.dimension, direction=run.direction), events).trials
