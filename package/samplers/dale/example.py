"""Choose a kernel and its parameters; one of the parameters exists only for one of the kernels."""

import math

import optuna
import optunahub


def objective(trial: optuna.Trial) -> float:
    """The loss of a made-up model."""
    kernel = trial.suggest_categorical("kernel", ["rbf", "poly"])
    gamma = trial.suggest_float("gamma", 1e-4, 1e1, log=True)
    loss = (math.log10(gamma) + 1) ** 2
    if kernel == "poly":
        loss += 0.1 + (trial.suggest_int("degree", 2, 5) - 3) ** 2
    return loss


if __name__ == "__main__":
    module = optunahub.load_module("samplers/dale")
    study = optuna.create_study(sampler=module.DaleSampler(seed=0))
    study.optimize(objective, n_trials=30)
    print(study.best_params, study.best_value)
