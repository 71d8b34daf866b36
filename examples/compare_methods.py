"""Compare methods on Branin's function: add the paper's two ideas one at a time and print the regret.

A method is composed of a length-scale policy, an acquisition function and, optionally, quadratic local regions.
"""

import numpy as np

import dale
from dale.methods.length_scale.alpha_ratio import AlphaRatio
from dale.methods.length_scale.fixed import Fixed
from dale_bench.functions import get

BUDGET, SEEDS = 20, range(3)
METHODS = {
    "fixed length-scale": dale.methods.ei(Fixed(0.3)),
    "maximum likelihood": dale.methods.ei(),
    "alpha-ratio cool down": dale.methods.ei(AlphaRatio()),
    "... and quadratic regions": dale.methods.paper(),
}


def regret(method, seed):
    branin = get("branin")
    return dale.minimize(branin.fun, branin.bounds, budget=BUDGET, seed=seed, method=method).fun - branin.minimum


def main():
    print(f"regret after {BUDGET} evaluations, {len(SEEDS)} seeds (too few to rank the methods)")
    for name, method in METHODS.items():
        regrets = [regret(method, seed) for seed in SEEDS]
        print(f"  {name:26} median {np.median(regrets):8.1e}   all " + ", ".join(f"{r:.1e}" for r in regrets))


if __name__ == "__main__":
    main()
