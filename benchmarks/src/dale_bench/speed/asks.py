"""How each contender makes one proposal after n observations.

Each function is a context manager that yields the call to be timed. Work that does not need the last observation is
done before: imports, data structures, and Optuna's first fit, from which its next fit starts.

dale is measured three times. A local step saves the global search, and the state of a run determines the kind of a
proposal. As ``GLOBAL``, the default method computes the local step and rejects it, so that the slower, global search is
measured. As ``NOISY``, the values have noise of ``NOISE_STD`` times their own std.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace

from dale import methods
from dale_bench.peers import botorch_
from dale_bench.peers.environment import quiet, seeded_torch
from dale_bench.speed.observations import data, observed

RESTARTS, RAW_SAMPLES = 10, 512  # as in BoTorch's tutorials

NOISE_STD = 0.1

Asked = AbstractContextManager[Callable[[], object]]


@contextmanager
def ask_dale(n: int, d: int, seed: int) -> Iterator[Callable[[], object]]:
    """The default method with any kind of proposal."""
    yield observed(n, d, seed).ask


@contextmanager
def ask_globally(n: int, d: int, seed: int) -> Iterator[Callable[[], object]]:
    """The default method without local steps, as at the start of a run."""
    default = methods.default()
    selection = replace(default.selection, min_evaluations_per_parameter=sys.maxsize)
    yield observed(n, d, seed, replace(default, selection=selection)).ask


@contextmanager
def ask_with_noise(n: int, d: int, seed: int) -> Iterator[Callable[[], object]]:
    """The default method with any kind of proposal, where values have noise."""
    yield observed(n, d, seed, noise=NOISE_STD).ask


@contextmanager
def ask_optuna(n: int, d: int, seed: int) -> Iterator[Callable[[], object]]:
    """GPSampler with the setting for exact values. It makes one proposal before the last observation is added."""
    X, y = data(observed(n, d, seed))
    with quiet(), seeded_torch(seed):
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)  # it logs studies and trials
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
        study.tell(study.ask(space), state=optuna.trial.TrialState.FAIL)  # the sampler ignores failed trials
        study.add_trial(trials[-1])
        yield lambda: study.ask(space)


@contextmanager
def ask_botorch(n: int, d: int, seed: int) -> Iterator[Callable[[], object]]:
    """A fit of `SingleTaskGP` with its defaults, which infer the noise, and the maximisation of log EI."""
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


DALE, OPTUNA, BOTORCH = "default", "optuna_gp", "botorch"  # names of contenders
GLOBAL, NOISY = "global", "noisy"
ASKS: dict[str, Callable[[int, int, int], Asked]] = {
    DALE: ask_dale,
    GLOBAL: ask_globally,
    NOISY: ask_with_noise,
    OPTUNA: ask_optuna,
    BOTORCH: ask_botorch,
}
