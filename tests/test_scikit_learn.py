"""Models of scikit-learn, as users tune them: noise is found where there is some, and nowhere else.

Their scores are rugged: a tree flips, a support vector is dropped, an accuracy has few values.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor, RandomForestClassifier
from sklearn.model_selection import KFold, cross_val_score
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import dale
from dale.history.reason import Source

pytestmark = pytest.mark.filterwarnings("ignore", "error::dale.EvaluationWarning")
N_ROWS, BUDGET, LONG_BUDGET = 120, 36, 60
POSITIVE = dale.Float(1e-3, 1e2, log=True)


@dataclass(frozen=True)
class Task:
    """A model, the data it is fitted to, and the parameters to tune."""

    model: Any
    load: Any
    space: dict[str, Any]
    scoring: str | None = None

    def score(self, params: Any, random_state: int) -> float:
        """The negative score of a cross-validation; model and folds depend on the random state."""
        X, y = self.load(return_X_y=True)
        rows = np.random.default_rng(0).permutation(len(y))[:N_ROWS]
        folds = KFold(2, shuffle=True, random_state=random_state)
        model = make_pipeline(StandardScaler(), self.model(**params, **_seeded(self.model, random_state)))
        scores = cross_val_score(model, X[rows], y[rows], cv=folds, scoring=self.scoring, error_score="raise")
        return -float(np.mean(scores))


def _seeded(model, random_state):
    return {} if model is SVR else {"random_state": random_state}


def boosting(**params):
    return GradientBoostingRegressor(n_estimators=15, **params)


def boosted_classes(**params):
    return GradientBoostingClassifier(n_estimators=10, **params)


def forest(**params):
    return RandomForestClassifier(n_estimators=8, **params)


def network(**params):
    return MLPClassifier((6,), max_iter=25, **params)


RATE, DEPTH, LEAF = dale.Float(1e-2, 1, log=True), dale.Int(1, 4), dale.Float(0.01, 0.3)
TASKS = {
    "boosting": Task(boosting, load_diabetes, {"learning_rate": RATE, "max_depth": DEPTH, "min_samples_leaf": LEAF}),
    "SVC": Task(SVC, load_breast_cancer, {"C": POSITIVE, "gamma": dale.Float(1e-4, 1, log=True)}),
    "forest": Task(forest, load_wine, {"max_depth": dale.Int(1, 8), "max_features": dale.Float(0.1, 1)}),
    "network": Task(network, load_wine, {"alpha": POSITIVE, "learning_rate_init": RATE}, "neg_log_loss"),
    "SVR": Task(SVR, load_diabetes, {"C": POSITIVE, "gamma": dale.Float(1e-4, 1, log=True), "epsilon": POSITIVE}),
    "boosted classes": Task(
        boosted_classes, load_wine, {"learning_rate": RATE, "subsample": dale.Float(0.3, 1)}, "neg_log_loss"
    ),
}


def each_task(*quick):
    """Twenty runs; those of these tasks with the first seed are quick."""
    return pytest.mark.parametrize(
        ("name", "seed"),
        [
            pytest.param(name, seed, marks=[] if name in quick and seed == 0 else pytest.mark.slow)
            for name in TASKS
            for seed in range(4 if name in ("boosting", "SVC") else 3)
        ],
    )


def replicates(result):
    return [t for t in result.history if t.reason.source is Source.REPLICATE]


@each_task("boosting", "SVC", "forest", "network")
def test_a_fixed_random_state_is_not_noise(name, seed):
    task = TASKS[name]
    result = dale.minimize(lambda params: task.score(params, 0), task.space, budget=BUDGET, seed=seed)
    assert result.noise == 0
    assert result.fun == min(result.func_vals)
    assert len(replicates(result)) <= 2


@each_task("boosting", "network")
def test_another_random_state_each_time_is_noise(name, seed):
    task, rng = TASKS[name], np.random.default_rng(seed)
    result = dale.minimize(
        lambda params: task.score(params, int(rng.integers(2**31))),
        task.space,
        budget=LONG_BUDGET,
        seed=seed,
        callback=lambda intermediate: intermediate.noise > 0,
    )
    assert 1 <= len(replicates(result)) <= 2  # scores with few values may agree once by chance
    assert result.noise > 0
