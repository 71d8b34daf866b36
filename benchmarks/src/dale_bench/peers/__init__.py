"""Other solvers behind one interface, `PEERS` by name. The extra ``peers`` installs their packages.

This package itself imports only numpy and scipy. Each adapter imports its library when it runs, and
`Contender.missing` lists what is not installed. All solvers see only the unit cube. They get the budget only as a limit
on evaluations, and the setting for exact values if they have one. CMA-ES with margin and SMAC see a space instead, and
are contenders of `dale_bench.problems` only.

    scipy_           COBYQA, DIRECT, differential evolution; uniform random points
    pybobyqa         Py-BOBYQA
    bads             pybads
    cma_             pycma's CMA-ES with restarts
    optuna_          GPSampler, TPESampler, CmaEsSampler; DaleSampler
    botorch_         log EI, with inferred and with given noise
    turbo            the TuRBO-1 rule on BoTorch's Gaussian process
    entropy_search   PES and MES
    skopt_           scikit-optimize
    environment      warnings, seeds, threads, restarts
"""

from collections.abc import Callable

from dale_bench.contender import Contender, Objective
from dale_bench.peers import bads, botorch_, cma_, entropy_search, optuna_, pybobyqa, scipy_, skopt_, turbo

__all__ = ["PEERS"]

OURS = ("dale", "numpy", "scipy")
BOTORCH = ("botorch", "gpytorch", "torch")


def _peer(
    name: str,
    label: str,
    run: Callable[[Objective, int], None],
    modules: tuple[str, ...] = (),
    distributions: tuple[str, ...] = (),
    starts_at_center: bool = False,
) -> Contender:
    return Contender(name, run, label, True, modules, OURS + (distributions or modules), starts_at_center)


PEERS: dict[str, Contender] = {
    peer.name: peer
    for peer in (
        _peer("cobyqa", "COBYQA", scipy_.cobyqa),
        _peer("bobyqa", "Py-BOBYQA", pybobyqa.bobyqa, ("pybobyqa",), ("Py-BOBYQA",)),
        _peer("bads", "BADS", bads.bads, ("pybads",), ("pybads", "gpyreg")),
        _peer("cma", "CMA-ES (pycma)", cma_.cma, ("cma",)),
        _peer("optuna_gp", "Optuna GP", optuna_.gp, ("optuna", "torch")),
        _peer("optuna_tpe", "Optuna TPE", optuna_.tpe, ("optuna",)),
        _peer("optuna_cma", "Optuna CMA-ES", optuna_.cma, ("optuna", "cmaes")),
        _peer("optuna_dale", "dale's sampler in Optuna", optuna_.dale, ("optuna",)),
        _peer("botorch", "BoTorch log EI", botorch_.logei, BOTORCH),
        _peer("botorch_fixed", "BoTorch log EI, noise given", botorch_.logei_fixed, BOTORCH),
        _peer("turbo", "TuRBO-1 rule", turbo.turbo, BOTORCH),
        _peer("pes", "PES", entropy_search.pes, BOTORCH),
        _peer("mes", "MES", entropy_search.mes, BOTORCH),
        _peer("skopt", "scikit-optimize", skopt_.gp_minimize, ("skopt",), ("scikit-optimize", "scikit-learn")),
        _peer("direct", "DIRECT", scipy_.direct, starts_at_center=True),
        _peer("de", "differential evolution", scipy_.differential_evolution),
        _peer("random", "random", scipy_.random),
    )
}
