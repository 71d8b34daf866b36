"""
Replace RandomizedSearchCV
==========================

``DaleSearchCV`` has the interface of ``RandomizedSearchCV``. How many candidates does it need?
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import loguniform
from sklearn.datasets import load_diabetes
from sklearn.model_selection import RandomizedSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from dale.integrations.sklearn import DaleSearchCV

X, y = load_diabetes(return_X_y=True)
model = make_pipeline(StandardScaler(), SVR())
space = {
    "svr__C": loguniform(1e-1, 1e4),
    "svr__gamma": loguniform(1e-5, 1e0),
    "svr__epsilon": loguniform(1e-1, 1e2),
}

# %%
# The same estimator, distributions, splits and number of candidates.

settings = {"n_iter": 30, "cv": 3, "scoring": "neg_mean_absolute_error", "random_state": 0}
searches = {
    "RandomizedSearchCV": RandomizedSearchCV(model, space, **settings),
    "DaleSearchCV": DaleSearchCV(model, space, **settings),
}
for name, search in searches.items():
    search.fit(X, y)
    print(f"{name:18} error {-search.best_score_:.3f} with", {k: f"{v:.3g}" for k, v in search.best_params_.items()})

# %%
# ``cv_results_`` is the usual table. With ``optimizer_``, the search has all plots of dale.

fig, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
for (name, search), colour in zip(searches.items(), ["#999999", "#D55E00"], strict=True):
    errors = -search.cv_results_["mean_test_score"]
    ax.plot(range(1, 31), errors, ".", color=colour, alpha=0.6)
    ax.step(range(1, 31), np.minimum.accumulate(errors), where="post", color=colour, lw=2, label=name)
ax.set(xlabel="candidates", ylabel="mean absolute error", ylim=(43, 60))
ax.legend(frameon=False)
plt.show()

# %%
# How does the score depend on each parameter?

searches["DaleSearchCV"].optimizer_.result().plot("slice", objective="minus the score")
