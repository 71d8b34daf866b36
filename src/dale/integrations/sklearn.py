"""Hyperparameter search for scikit-learn: ``RandomizedSearchCV`` with dale's proposals instead of random ones."""

from __future__ import annotations

import math
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from dale.errors import SpaceError, SpaceExhausted
from dale.history.evaluation import check_count
from dale.history.trial import Trial
from dale.methods.base import Method
from dale.optimizer import Optimizer
from dale.space.choice import Choice
from dale.space.float import Float
from dale.space.int import Int
from dale.space.space import Space, as_space

try:
    from sklearn.exceptions import FitFailedWarning
    from sklearn.model_selection._search import BaseSearchCV
    from sklearn.utils import check_random_state
except ImportError as error:
    raise ImportError(f"dale.integrations.sklearn needs scikit-learn ({error}): pip install 'dale[sklearn]'") from error

ALL_FAILED = re.compile(r"^\s*All the \d+ fits failed")  # a message of scikit-learn


class DaleSearchCV(BaseSearchCV):
    """Searches hyperparameters by cross-validation, with the interface of ``RandomizedSearchCV``.

    All candidates are evaluated on the same splits. A candidate whose score is NaN, such as one whose fit failed,
    counts as failed, and its neighbourhood is avoided. With ``n_jobs``, as many candidates are proposed at once as keep
    the workers busy; a search therefore depends on ``n_jobs`` and on the number of splits.

    Args:
        estimator: What is tuned; a pipeline has parameters such as ``"svc__C"``.
        param_distributions: A ``dale.Space``; or a mapping of the parameters' names to dale's parameters, pairs
            (low, high) in a tuple, lists of options, or ``uniform``, ``loguniform`` and ``randint`` of ``scipy.stats``.
        n_iter: Number of candidates.
        scoring: As in ``RandomizedSearchCV``. Of several metrics, the one that ``refit`` names is maximised, or the
            first one if ``refit`` is False or callable.
        n_jobs: Number of fits at once.
        refit: Whether, or with which metric, the best candidate is fitted to all data.
        cv: The splits.
        verbose: How much is printed.
        pre_dispatch: How many fits are dispatched in advance.
        random_state: Seed of the search.
        error_score: Score of a candidate whose fit fails, or "raise".
        return_train_score: Whether ``cv_results_`` has scores on the training sets.
        method: A method of ``dale.methods``; None for the default.

    Attributes:
        optimizer_: The ``dale.Optimizer``, which maximises the score, with all candidates and the reasons for them.

    Examples:
        >>> from scipy.stats import loguniform
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn.linear_model import Ridge
        >>> search = DaleSearchCV(Ridge(), {"alpha": loguniform(1e-4, 1e2)}, n_iter=12, random_state=0)
        >>> search = search.fit(*load_diabetes(return_X_y=True))
        >>> len(search.cv_results_["params"]), round(float(search.best_score_), 2)
        (12, 0.48)
    """

    def __init__(
        self,
        estimator: Any,
        param_distributions: Any,
        *,
        n_iter: int = 30,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: Any = "2*n_jobs",
        random_state: Any = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
        method: Method | None = None,
    ) -> None:
        self.param_distributions = param_distributions
        self.n_iter = n_iter
        self.random_state = random_state
        self.method = method
        super().__init__(
            estimator=estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )

    def _run_search(self, evaluate_candidates: Callable[..., dict[str, Any]]) -> None:
        """Propose and evaluate candidates, some at a time; called by ``fit``."""
        check_count(self.n_iter, "n_iter", "a positive integer, the number of candidates")
        space = search_space(self.param_distributions)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self.optimizer_ = Optimizer(space, seed=seed, method=self.method, direction="maximize")
        splits = _SameSplits(self._checked_cv_orig)
        at_once = math.ceil(_n_workers(self.n_jobs) / self.n_splits_)
        results: dict[str, Any] = {}
        self._failed: dict[int, dict[str, Any]] = {}
        while (n_left := int(self.n_iter) - len(self.optimizer_.history)) > 0:
            try:
                trials = self.optimizer_.ask(min(at_once, n_left))
            except SpaceExhausted:
                break
            candidates = [dict(trial.params) for trial in trials]
            try:
                results = evaluate_candidates(candidates, cv=splits)
            except ValueError as error:
                if self.error_score == "raise" or not ALL_FAILED.search(str(error)):
                    raise
                warnings.warn(str(error), FitFailedWarning, stacklevel=2)
                self._failed |= {trial.id: params for trial, params in zip(trials, candidates, strict=True)}
                for trial in trials:
                    self.optimizer_.fail(trial, str(error))
                last_error = error
            else:
                self._tell(trials, results)
        if not results:
            raise last_error
        if trials[-1].id in self._failed:  # since the results were formatted
            results.update(self._format_results(*self._evaluated))
        del self._failed, self._evaluated

    def _format_results(self, candidate_params: Any, n_splits: int, out: Any, more_results: Any = None) -> Any:
        """The results of the candidates that were evaluated and of those that failed.

        If all fits of a call fail, scikit-learn takes the model to be misconfigured and keeps none of them. Here a call
        may have only one candidate, so its results are completed in the form of the others.
        """
        self._evaluated = candidate_params, n_splits, out, more_results
        candidates, out = list(candidate_params), list(out)
        for number, params in self._failed.items():  # in ascending order
            candidates.insert(number, params)
            begin = number * n_splits
            out[begin:begin] = [_failed_fit(out[0], self.error_score)] * n_splits
        with warnings.catch_warnings():  # a FitFailedWarning was given already, and this one would be at every call
            warnings.filterwarnings("ignore", "One or more of the .* scores are non-finite", UserWarning)
            return super()._format_results(candidates, n_splits, out, more_results)

    def _tell(self, trials: list[Trial], results: Mapping[str, Any]) -> None:
        """Report the scores of the last candidates."""
        metric = f"mean_test_{self.refit}"
        if metric not in results:
            metric = next(name for name in results if name.startswith("mean_test_"))
        for trial, score in zip(trials, results[metric][-len(trials) :], strict=True):
            if math.isfinite(score):
                self.optimizer_.tell(trial, float(score))
            else:
                self.optimizer_.fail(trial, f"the score is {score}")


def _n_workers(n_jobs: int | None) -> int:
    """The number of fits at once: -1 for all cores, -2 for all but one."""
    if n_jobs is None:
        return 1
    return n_jobs if n_jobs > 0 else max((os.cpu_count() or 1) + 1 + n_jobs, 1)


def _failed_fit(other: Mapping[str, Any], error_score: float) -> dict[str, Any]:
    """The outcome of a fit that failed, in the form of another one."""
    failed = {**other, "fit_time": 0.0, "score_time": 0.0}
    for key in ("test_scores", "train_scores"):
        if key in failed:
            is_several = isinstance(failed[key], Mapping)
            failed[key] = dict.fromkeys(failed[key], error_score) if is_several else error_score
    return failed


class _SameSplits:
    """A splitter that gives the splits of its first call again: scores of candidates can then be compared."""

    def __init__(self, cv: Any) -> None:
        self._cv = cv
        self._splits: list[Any] | None = None

    def split(self, X: Any, y: Any = None, **params: Any) -> Iterator[Any]:
        """The pairs of training and test indices."""
        if self._splits is None:
            self._splits = list(self._cv.split(X, y, **params))
        return iter(self._splits)


def search_space(param_distributions: Any) -> Space:
    """The space of a search from what ``DaleSearchCV`` or ``RandomizedSearchCV`` takes."""
    if not isinstance(param_distributions, Mapping):
        space = as_space(param_distributions)
        if not space.named:
            raise SpaceError(f"expected the parameters of an estimator by name, got {param_distributions!r}")
        return space
    return Space({name: _as_parameter(value, name) for name, value in param_distributions.items()})


def _as_parameter(value: Any, name: str) -> Any:
    if isinstance(value, list):
        return Choice(value)
    distribution = getattr(getattr(value, "dist", None), "name", None)  # of a frozen distribution of SciPy
    if distribution is None:
        if hasattr(value, "rvs"):
            raise TypeError(_not_supported(value, name))
        return value
    low, high = value.support()
    if distribution == "uniform":
        return Float(low, high)
    if distribution in ("loguniform", "reciprocal"):
        return Float(low, high, log=True)
    if distribution == "randint":
        return Int(int(low), int(high))
    raise TypeError(_not_supported(distribution, name))


def _not_supported(what: Any, name: str) -> str:
    return (
        f"parameter {name!r}: expected uniform, loguniform or randint of scipy.stats, a list of options, or a "
        f"parameter such as dale.Float(1e-3, 1e2, log=True), got {what!r}"
    )
