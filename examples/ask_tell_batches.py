"""Ask and tell, for evaluations that dale does not run itself: a batch at a time, answers in any order, some missing.

Stands for a laboratory that runs four experiments a day. Results come back when they come back, and now and then an
experiment is lost. Points that are still out are known to the optimizer, so it never proposes one of them again.
"""

import numpy as np

import dale


def yield_of_experiment(params, rng):
    """Yield in percent, at best 93; one experiment in ten is lost."""
    if rng.random() < 0.1:
        raise RuntimeError("the sample was contaminated")
    heat, acid = (params["temperature"] - 71) / 25, (params["ph"] - 6.2) / 2.5
    return 93 * np.exp(-(heat**2) - heat * acid - acid**2)


def main():
    rng = np.random.default_rng(1)
    optimizer = dale.Optimizer(dale.Space(temperature=(20, 120), ph=(3, 9)), seed=0)
    optimizer.add({"temperature": 50, "ph": 7}, -40.2)  # what was known before; dale minimises, so minus the yield

    late = []
    for day in range(1, 7):
        batch = optimizer.ask(4)
        ready, late = [*late, *batch[:3]], batch[3:]  # the last one takes until tomorrow
        for i in rng.permutation(len(ready)):
            trial = ready[i]
            try:
                optimizer.tell(trial, -yield_of_experiment(trial.params, rng))
            except RuntimeError as error:
                optimizer.fail(trial, str(error))
        best = optimizer.best
        at = ", ".join(f"{name} {value:.1f}" for name, value in best.params.items())
        print(f"day {day}: best yield {-best.value:.2f} % at {at}  ({best.reason})")

    states = [str(trial.state) for trial in optimizer.history]
    print(", ".join(f"{states.count(state)} {state}" for state in ("told", "failed", "pending")))


if __name__ == "__main__":
    main()
