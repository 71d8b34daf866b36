"""
Use dale's proposals in an Optuna study
=======================================

Your code is written for Optuna, with its storages, callbacks and dashboard. What changes if you change the sampler?
"""

import matplotlib.pyplot as plt
import numpy as np
import optuna

from dale.integrations.optuna import DaleSampler

optuna.logging.set_verbosity(optuna.logging.WARNING)


def objective(trial):
    rate = np.log10(trial.suggest_float("rate", 1e-5, 1e-1, log=True))
    momentum = trial.suggest_float("momentum", 0.0, 0.99)
    layers = trial.suggest_int("layers", 1, 8)
    loss = 0.1 + 0.25 * (rate + 2.5) ** 2 + 0.3 * (rate + 2.5) * (momentum - 0.8) + (momentum - 0.8) ** 2
    return loss + 0.02 * abs(layers - 4)


# %%
# Only the sampler differs. Each study has the same budget of 40 trials.

studies = {}
for name, sampler in (("TPE, Optuna's default", optuna.samplers.TPESampler), ("dale", DaleSampler)):
    studies[name] = []
    for seed in range(3):
        study = optuna.create_study(sampler=sampler(seed=seed))
        study.optimize(objective, n_trials=40)
        studies[name].append(study)
    print(f"{name}: best loss {[round(study.best_value, 6) for study in studies[name]]}")

# %%
# The lowest loss is 0.1. Three seeds on one function are an illustration, not a comparison.

fig, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
for (name, same), colour in zip(studies.items(), ["#999999", "#D55E00"], strict=True):
    for i, study in enumerate(same):
        best = np.minimum.accumulate([trial.value for trial in study.trials]) - 0.1
        ax.step(range(1, 41), np.maximum(best, 1e-16), where="post", color=colour, label=name if i == 0 else None)
ax.set(yscale="log", xlabel="trials", ylabel="best loss above the minimum")
ax.legend(frameon=False)
plt.show()

# %%
# Each trial keeps the reason for its proposal, so ``optuna`` tools work as before.

print(studies["dale"][0].best_params)
