"""scikit-optimize's `gp_minimize`: expected improvement with a Matérn kernel, after ten random points."""

from dale_bench.contender import Objective
from dale_bench.peers.environment import quiet, seeded_numpy

INITIAL_POINTS = 10  # its default
NOISE = 1e-10


@quiet()
def gp_minimize(objective: Objective, seed: int) -> None:
    """`gp_minimize` with a given noise of almost zero, otherwise with its defaults."""
    import skopt

    with seeded_numpy(seed):
        skopt.gp_minimize(
            objective,
            [(0.0, 1.0)] * objective.dimension,
            acq_func="EI",
            noise=NOISE,
            n_calls=objective.budget,
            n_initial_points=min(INITIAL_POINTS, objective.budget),
            random_state=seed,
        )
