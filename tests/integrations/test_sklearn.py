"""DaleSearchCV: scikit-learn's own checks, and what a search has to do."""

import numpy as np
import pytest
import sklearn
from joblib import parallel_config
from scipy.stats import loguniform, norm, randint, uniform
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.decomposition import PCA
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, RandomizedSearchCV, ShuffleSplit
from sklearn.pipeline import Pipeline
from sklearn.svm import SVR
from sklearn.utils.estimator_checks import parametrize_with_checks

import dale
from dale.integrations.sklearn import DaleSearchCV, search_space

X, y = make_regression(60, 5, noise=5.0, random_state=0)
# Their repr is part of the tests' names, which must be the same in every process: no object that shows its address.
SEARCHES = [
    DaleSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, n_iter=1, cv=2, error_score="raise", random_state=0),
    DaleSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, n_iter=1, cv=2, error_score="raise", random_state=0),
]


def expected_failures(search):
    """Those of scikit-learn's own searches."""
    if isinstance(search.estimator, Ridge):
        return {"check_supervised_y_2d": "Ridge predicts in two dimensions and gives no DataConversionWarning"}
    return {}


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(SEARCHES[:1], expected_failed_checks=expected_failures)
def test_checks_of_a_regressor(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(SEARCHES[1:], expected_failed_checks=expected_failures)
def test_checks_of_a_classifier(estimator, check):
    check(estimator)


def search(space=None, estimator=None, n_iter=6, **settings):
    space = {"alpha": dale.Float(1e-4, 1e4, log=True)} if space is None else space
    settings = {"cv": KFold(3), "random_state": 0, **settings}
    return DaleSearchCV(Ridge() if estimator is None else estimator, space, n_iter=n_iter, **settings)


def test_the_interface_is_that_of_randomized_search():
    theirs = set(RandomizedSearchCV(Ridge(), {}).get_params(deep=False))
    assert set(search().get_params(deep=False)) - {"method"} == theirs
    fitted = search().fit(X, y)
    random = RandomizedSearchCV(Ridge(), {"alpha": loguniform(1e-4, 1e4)}, n_iter=6, cv=KFold(3)).fit(X, y)
    assert fitted.cv_results_.keys() == random.cv_results_.keys()
    assert fitted.predict(X).shape == (60,)
    assert fitted.best_params_ == fitted.cv_results_["params"][fitted.best_index_]


def test_it_finds_a_better_candidate_than_random_search():
    space = {"C": loguniform(1e-3, 1e4), "gamma": loguniform(1e-5, 1e1), "epsilon": uniform(0, 1)}
    ours = search(space, SVR(), n_iter=20).fit(X, y).best_score_
    theirs = [
        RandomizedSearchCV(SVR(), space, n_iter=20, cv=KFold(3), random_state=seed).fit(X, y).best_score_
        for seed in range(3)
    ]
    assert ours > max(theirs)


def test_the_same_seed_gives_the_same_search():
    candidates = [search(random_state=s, n_iter=8).fit(X, y).cv_results_["params"] for s in (1, 1, 2)]
    assert candidates[0] == candidates[1] != candidates[2]
    state = [search(random_state=np.random.RandomState(3)).fit(X, y).cv_results_["params"] for _ in range(2)]
    assert state[0] == state[1]


def test_clones_are_unfitted_and_equal():
    fitted = search().fit(X, y)
    copy = clone(fitted)
    assert copy.get_params(deep=False).keys() == fitted.get_params(deep=False).keys()
    with pytest.raises(NotFittedError):
        copy.predict(X)
    assert copy.fit(X, y).cv_results_["params"] == fitted.cv_results_["params"]


def test_pipelines_and_conditional_parameters():
    pipeline = Pipeline([("pca", PCA()), ("svr", SVR())])
    space = dale.Space(
        {
            "pca__n_components": dale.Int(1, 5),
            "svr__kernel": dale.Choice(["linear", "poly"]),
            "svr__degree": dale.Int(2, 4).when({"svr__kernel": "poly"}),
        }
    )
    fitted = search(space, pipeline, n_iter=10).fit(X, y)
    results = fitted.cv_results_
    is_poly = np.array([params["svr__kernel"] == "poly" for params in results["params"]])
    np.testing.assert_array_equal(np.ma.getmaskarray(results["param_svr__degree"]), ~is_poly)


def test_several_jobs_evaluate_several_candidates_at_once():
    with parallel_config(backend="threading"):  # processes take seconds to start
        fitted = search(n_iter=7, n_jobs=2, cv=ShuffleSplit(1, random_state=0)).fit(X, y)
    assert len(fitted.cv_results_["params"]) == 7
    serial = search(n_iter=7, n_jobs=1, cv=ShuffleSplit(1, random_state=0)).fit(X, y)
    assert fitted.cv_results_["params"][:3] == serial.cv_results_["params"][:3]  # the initial design


def test_random_splits_are_the_same_for_all_candidates():
    fitted = search({"alpha": [1.0, 1.0 + 1e-12]}, n_iter=2, cv=ShuffleSplit(3)).fit(X, y)
    first, second = fitted.cv_results_["mean_test_score"]
    assert first == pytest.approx(second, rel=1e-9)


def test_several_metrics():
    scoring = {"r2": "r2", "mae": "neg_mean_absolute_error"}
    fitted = search(scoring=scoring, refit="mae", n_iter=5).fit(X, y)
    told = [trial.value for trial in fitted.optimizer_.history]
    np.testing.assert_array_equal(told, fitted.cv_results_["mean_test_mae"])
    assert fitted.best_index_ == np.argmax(told)
    unfitted = search(scoring=scoring, refit=False, n_iter=3).fit(X, y)
    assert [t.value for t in unfitted.optimizer_.history] == unfitted.cv_results_["mean_test_r2"].tolist()
    chosen = search(scoring=scoring, refit=lambda results: 1, n_iter=3).fit(X, y)
    assert chosen.best_index_ == 1


class Fragile(Ridge):
    def fit(self, X, y, sample_weight=None):
        if self.alpha > 10:
            raise ValueError("too large")
        return super().fit(X, y, sample_weight)


def test_failed_fits():
    with pytest.warns(FitFailedWarning, match="All the 3 fits failed"):
        fitted = search(estimator=Fragile(), n_iter=9, return_train_score=True).fit(X, y)
    results, trials = fitted.cv_results_, fitted.optimizer_.history
    failed = np.isnan(results["mean_test_score"])
    assert 0 < failed.sum() < 9
    assert [params["alpha"] > 10 for params in results["params"]] == failed.tolist()
    assert [dict(trial.params) for trial in trials] == results["params"]
    assert [trial.error is not None for trial in trials] == failed.tolist()
    np.testing.assert_array_equal(np.isnan(results["split1_train_score"]), failed)
    assert fitted.best_params_ == results["params"][np.nanargmax(results["mean_test_score"])]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
def test_a_failure_at_the_end_is_in_the_results():
    space = {"alpha": dale.Choice([1.0, 100.0])}
    for seed in range(3):
        scoring = {"r2": "r2", "mae": "neg_mean_absolute_error"}
        fitted = search(space, Fragile(), n_iter=2, random_state=seed, scoring=scoring, refit="r2").fit(X, y)
        failed = [params["alpha"] == 100 for params in fitted.cv_results_["params"]]
        assert np.isnan(fitted.cv_results_["mean_test_mae"]).tolist() == failed
        assert fitted.best_params_ == {"alpha": 1.0}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
def test_a_search_without_any_result():
    with pytest.raises(ValueError, match="All the 3 fits failed"):
        search({"alpha": (20.0, 30.0)}, Fragile(), n_iter=2).fit(X, y)
    with pytest.raises(ValueError, match=r"^too large"):
        search(estimator=Fragile(), n_iter=10, error_score="raise").fit(X, y)


def test_sample_weights_and_metadata_routing():
    weights = np.linspace(0.1, 2, len(y))
    weighted = search(n_iter=4).fit(X, y, sample_weight=weights)
    assert weighted.best_score_ != search(n_iter=4).fit(X, y).best_score_
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = Ridge().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        routed = search(estimator=estimator, n_iter=4).fit(X, y, sample_weight=weights)
    assert routed.best_params_ == weighted.best_params_


def test_classification_with_a_finite_space_ends_early():
    data = make_classification(60, random_state=0)
    fitted = search({"C": [0.1, 1.0], "fit_intercept": [True, False]}, LogisticRegression(), n_iter=9).fit(*data)
    assert len(fitted.cv_results_["params"]) == 5  # the best one twice, to test for noise
    assert fitted.predict_proba(data[0]).shape == (60, 2)


def test_spaces():
    space = search_space(
        {"a": uniform(1, 2), "b": loguniform(1e-3, 10), "c": randint(1, 5), "d": ["x", 1], "e": (0, 1)}
    )
    assert space == dale.Space(
        a=dale.Float(1, 3),
        b=dale.Float(1e-3, 10, log=True),
        c=dale.Int(1, 4),
        d=dale.Choice(["x", 1]),
        e=dale.Float(0, 1),
    )
    assert search_space(space) is space


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (
            {"alpha": norm(0, 1)},
            "parameter 'alpha': expected uniform, loguniform or randint of scipy.stats.*got 'norm'",
        ),
        ([(0, 1)], "expected the parameters of an estimator by name"),
        ({"alpha": "ab"}, "parameter 'alpha'"),
    ],
)
def test_invalid_spaces(space, message):
    with pytest.raises((TypeError, ValueError), match=message):
        search(space).fit(X, y)


def test_an_invalid_number_of_candidates():
    with pytest.raises((TypeError, ValueError), match="n_iter"):
        search(n_iter=0).fit(X, y)
