"""Ask and tell, for evaluations that dale does not run itself: batches, results in any order, lost experiments.

A laboratory runs four experiments a day. The last one of each day takes until the next day, and some experiments are
lost. The optimizer accounts for pending points, so a new batch never repeats one of them.
"""

import numpy as np

import dale


def run_experiment(params, rng):
    """Yield in percent, 93 at best; one experiment in ten is lost."""
    if rng.random() < 0.1:
        raise RuntimeError("the sample was contaminated")
    temperature, ph = (params["temperature"] - 71) / 25, (params["ph"] - 6.2) / 2.5
    return 93 * np.exp(-(temperature**2) - temperature * ph - ph**2)


def main():
    rng = np.random.default_rng(1)
    optimizer = dale.Optimizer(dale.Space(temperature=(20, 120), ph=(3, 9)), seed=0)
    optimizer.add({"temperature": 50, "ph": 7}, -40.2)  # an earlier experiment; dale minimises, so pass minus the yield

    late = []
    for day in range(1, 7):
        batch = optimizer.ask(4)
        ready, late = [*late, *batch[:3]], batch[3:]  # the last experiment takes until tomorrow
        for i in rng.permutation(len(ready)):
            trial = ready[i]
            try:
                optimizer.tell(trial, -run_experiment(trial.params, rng))
            except RuntimeError as error:
                optimizer.fail(trial, str(error))
        best = optimizer.best
        point = ", ".join(f"{name} {value:.1f}" for name, value in best.params.items())
        print(f"day {day}: best yield {-best.value:.2f} % at {point}  ({best.reason})")

    states = [str(trial.state) for trial in optimizer.history]
    print(", ".join(f"{states.count(state)} {state}" for state in ("complete", "failed", "pending")))


if __name__ == "__main__":
    main()
