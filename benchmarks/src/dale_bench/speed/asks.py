"""How each contender is asked for one more point, after n observations.

Each is a context that yields the call to be timed. What can be done before the last observation is known, is done
before: imports, a data structure, and with Optuna the first fit, from whose end its next one starts.

dale is there twice. A proposal that steps from the best observation saves the search of the global model, and the state
of a run decides which kind comes next. So as ``GLOBAL`` the default method is held to its global side, the dearer kind:
the local step is worked out, and turned down.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace

from dale import methods
from dale_bench.peers import botorch_
from dale_bench.peers.surroundings import quiet, seeded_torch
from dale_bench.speed.observations import data, observed

RESTARTS, RAW_SAMPLES = 10, 512  # as in BoTorch's tutorials

Asked = AbstractContextManager[Callable[[], object]]


@contextmanager
def ask_dale(n: int, d: int, seed: int) -> Iterator[Callable[[], object]]:
    """The default method, whatever it proposes."""
    yield observed(n, d, seed).ask


@contextmanager
def ask_globally(n: int, d: int, seed: int) -> Iterator[Callable[[], object]]:
    """The default method, as if it were too early for local steps."""
    default = methods.default()
    selection = replace(default.selection, min_evaluations_per_parameter=sys.maxsize)
    yield observed(n, d, seed, replace(default, selection=selection)).ask


@contextmanager
def ask_optuna(n: int, d: int, seed: int) -> Iterator[Callable[[], object]]:
    """GPSampler, told that there is no noise; all observations but one are there when it is first asked."""
    X, y = data(observed(n, d, seed))
    with quiet(), seeded_torch(seed):
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)  # it announces studies and trials
        space: dict[str, optuna.distributions.BaseDistribution] = {
            f"u{i}": optuna.distributions.FloatDistribution(0.0, 1.0) for i in range(d)
        }
        trials = [
            optuna.trial.create_trial(params=dict(zip(space, x, strict=True)), distributions=space, value=value)
            for x, value in zip(X.tolist(), y.tolist(), strict=True)
        ]
        sampler = optuna.samplers.GPSampler(seed=seed, deterministic_objective=True)
        study = optuna.create_study(sampler=sampler)
        study.add_trials(trials[:-1])
        study.tell(study.ask(space), state=optuna.trial.TrialState.FAIL)  # the sampler passes over failed trials
        study.add_trial(trials[-1])
        yield lambda: study.ask(space)


@contextmanager
def ask_botorch(n: int, d: int, seed: int) -> Iterator[Callable[[], object]]:
    """`SingleTaskGP` with its defaults, which infer the noise, fitted anew, and the search of log EI."""
    X, y = data(observed(n, d, seed))
    with quiet():
        import torch
        from botorch.acquisition import LogExpectedImprovement
        from botorch.optim import optimize_acqf

        best = torch.tensor(-y.min(), dtype=torch.double)  # it maximises -y

        def ask() -> object:
            acquisition = LogExpectedImprovement(botorch_.fit(list(X), y.tolist()), best_f=best)
            return optimize_acqf(acquisition, botorch_.box(d), 1, RESTARTS, RAW_SAMPLES)

        with seeded_torch(seed):
            yield ask


DALE, OPTUNA, BOTORCH = "default", "optuna_gp", "botorch"  # as contenders are called
GLOBAL = "global"
ASKS: dict[str, Callable[[int, int, int], Asked]] = {
    DALE: ask_dale,
    GLOBAL: ask_globally,
    OPTUNA: ask_optuna,
    BOTORCH: ask_botorch,
}
