"""
Parameters that exist only for some options
===========================================

A support vector machine has a width ``gamma`` for two of its kernels and a degree for one of them. How do you search
such a space without wasting evaluations on parameters that have no effect?
"""

import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import dale

X, y = load_wine(return_X_y=True)

space = dale.Space(
    C=dale.Float(1e-2, 1e3, log=True),
    kernel=dale.Choice(["linear", "rbf", "poly"]),
    gamma=dale.Float(1e-4, 1e1, log=True).when(kernel=["rbf", "poly"]),
    degree=dale.Int(2, 5).when(kernel="poly"),
)


def score(model, X, y):
    """Minus the log loss of the margins: smoother than the accuracy, which has few different values."""
    return -np.mean(np.logaddexp(0, -np.where(y, 1, -1) * model.decision_function(X)))


def log_loss(params):
    model = make_pipeline(StandardScaler(), SVC(**params))
    return -np.mean(cross_val_score(model, X, y == 1, cv=3, scoring=score))


# %%
# ``when`` states the condition. The objective receives the active parameters and no others.

result = dale.minimize(log_loss, space, budget=45, seed=0)
print(result)

# %%
# In parallel coordinates each trial is a line. It has no points on the axes of parameters that are inactive.

dale.plot.parallel(result, objective="log loss")

# %%
# How many evaluations did each kernel get, and what was its best value?

for kernel in space.parameters["kernel"].options:
    values = [trial.value for trial in result.history if trial.params["kernel"] == kernel]
    print(f"{kernel:6} {len(values):3} evaluations, best {min(values):.4f}")
