"""
Tune numbers, integers and options together
===========================================

A model of nearest neighbours has a number of neighbours, an exponent of its distance, a way to weight the neighbours
and a way to scale the inputs. Which of them matter for this data set, and which values are good?
"""

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, PowerTransformer, StandardScaler

import dale

X, y = load_diabetes(return_X_y=True, scaled=False)
SCALERS = {"none": None, "range": MinMaxScaler(), "std": StandardScaler(), "power": PowerTransformer()}

space = dale.Space(
    n_neighbors=dale.Int(1, 60, log=True),
    p=dale.Float(1, 4, step=0.5),
    weights=dale.Choice(["uniform", "distance"]),
    scaling=dale.Choice(list(SCALERS)),
)


def error(params):
    """The mean absolute error in five-fold cross-validation."""
    settings = {name: params[name] for name in ("n_neighbors", "p", "weights")}
    model = make_pipeline(SCALERS[params["scaling"]], KNeighborsRegressor(**settings))
    return -np.mean(cross_val_score(model, X, y, cv=5, scoring="neg_mean_absolute_error"))


# %%
# A space with names passes a mapping to the objective: integers arrive as ``int``, options as they are. The space has
# more than 3000 points, and 32 of them are evaluated.

result = dale.minimize(error, space, budget=32, seed=0)
print(f"error {result.fun:.2f} with {dict(result.params)}")

# %%
# **Which parameters matter?** The importance shows how much of the variance of the error each parameter explains, alone
# and together with others.

dale.plot.importance(result)

# %%
# **Which values are good?** The slices go through the best point. For an option there is one mark per value.

# sphinx_gallery_thumbnail_number = 2
dale.plot.slice(result, objective="mean absolute error")
