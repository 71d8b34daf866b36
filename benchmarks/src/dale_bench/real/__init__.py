"""Real problems, `PROBLEMS` by name, exact and noisy, each a small module that reads on its own.

exact/        the value of a point is always the same; the best feasible value counts
noisy/        fresh randomness at each evaluation; the true mean of the recommended point counts

problem       a problem, and the task with noise
data          scikit-learn's data and splits
contenders    the contenders and where they apply
runs          make runs; the rows
scores        values at checkpoints, ranks
report        the tables
"""

from dale_bench.real.exact import (
    boosting,
    compressor,
    kinetics,
    lotka_volterra,
    mlp,
    pendulum,
    pressure_vessel,
    svc,
    welded_beam,
)
from dale_bench.real.noisy import (
    boosting_cv,
    cart_pole,
    curve_fit,
    epidemic,
    evolution,
    inventory,
    mlp_cv,
    queue,
    ridge_cv,
    svc_cv,
)
from dale_bench.real.problem import Real

__all__ = ["PROBLEMS"]

PROBLEMS: dict[str, Real] = {
    module.PROBLEM.name: module.PROBLEM
    for module in (
        *(svc, boosting, mlp, lotka_volterra, kinetics, pressure_vessel, welded_beam, compressor, pendulum),
        *(svc_cv, boosting_cv, mlp_cv, ridge_cv, queue, inventory, epidemic, curve_fit, evolution, cart_pole),
    )
}
