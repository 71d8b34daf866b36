"""The peers keep the rules of the benchmark; those whose library is not installed are skipped by name."""

import contextlib
import logging
import multiprocessing
import subprocess
import sys
import threading

import numpy as np
import pytest

from dale.optim.sampling import latin_hypercube
from dale_bench.contender import Objective, Spent
from dale_bench.functions import get
from dale_bench.peers import PEERS, botorch_, entropy_search, environment, turbo
from dale_bench.peers.turbo import INITIAL_SIDE, MAX_SIDE, TrustRegion

SCIPY_ONLY = ("cobyqa", "direct", "de", "random")
HEAVY = {"botorch": 6, "botorch_fixed": 6, "turbo": 7, "pes": 5, "mes": 5, "skopt": 12, "optuna_gp": 13}  # budgets
LIBRARIES = ("botorch", "gpytorch", "torch", "optuna", "cma", "cmaes", "pybobyqa", "pybads", "skopt", "sklearn")
LIBRARIES += ("smac", "ConfigSpace")

HIDE = """
import sys

class Hiding:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, *rest):
        return None if name.split(".")[0] in libraries else self.finder.find_spec(name, *rest)

sys.meta_path[:] = [Hiding(finder) for finder in sys.meta_path]
"""


class Recording(Objective):
    """An objective that keeps the points, as they came, and notes."""

    def __init__(self, name, budget):
        super().__init__(get(name), budget)
        self.points = []
        self.notes = {}

    def __call__(self, u):
        value = super().__call__(u)
        self.points.append(np.array(u))
        return value


class Broken(Recording):
    """An objective that fails at its second evaluation."""

    def __call__(self, u):
        if self.regrets:
            raise RuntimeError("the simulator has crashed")
        return super().__call__(u)


def installed(name):
    peer = PEERS[name]
    if peer.missing:
        pytest.skip(f"peer {name} not tested: {', '.join(peer.missing)} not installed (extra 'peers')")
    return peer


def run(peer, objective, seed=0):
    with contextlib.suppress(Spent):
        peer.run(objective, seed)
    return objective


def global_state():
    return np.random.get_state()[1].tolist()  # noqa: NPY002


@pytest.mark.parametrize("name", PEERS)
class TestEveryPeer:
    def test_it_spends_the_budget_exactly_in_the_cube_and_in_silence(self, name, capfd):
        peer = installed(name)
        state = global_state()
        threads, children = threading.active_count(), len(multiprocessing.active_children())
        objective = run(peer, Recording("quad2:moved", HEAVY.get(name, 25)))
        assert len(objective.regrets) == objective.budget
        points = np.array(objective.points)
        assert points.shape == (objective.budget, 2)
        assert points.min() >= 0
        assert points.max() <= 1
        assert capfd.readouterr() == ("", "")
        assert global_state() == state
        assert (threading.active_count(), len(multiprocessing.active_children())) == (threads, children)

    def test_same_seed_same_run(self, name):
        peer = installed(name)
        budget = HEAVY.get(name, 25)
        first, again, other = (run(peer, Recording("branin", budget), seed).regrets for seed in (1, 1, 2))
        assert first == again
        assert (first == other) == (name == "direct")  # it knows no chance

    @pytest.mark.parametrize("budget", [1, 2])
    def test_the_least_budgets(self, name, budget):
        assert len(run(installed(name), Recording("hart3", budget)).regrets) == budget

    def test_an_error_of_the_objective_passes(self, name):
        with pytest.raises(RuntimeError, match="the simulator has crashed"):
            installed(name).run(Broken("quad2", 20), 0)

    def test_the_card(self, name):
        peer = PEERS[name]
        assert peer.name == name
        assert peer.peer
        assert peer.label
        assert peer.starts_at_center == (name == "direct")

    def test_versions(self, name):
        peer = installed(name)
        assert set(peer.versions) == set(peer.distributions) >= {"dale", "numpy", "scipy"}


@pytest.mark.parametrize(
    ("name", "budget"), [("cobyqa", 40), ("direct", 80), ("de", 200), ("bobyqa", 40), ("bads", 40), ("cma", 100)]
)
def test_a_solver_beats_random_points_on_a_quadratic(name, budget):
    def median(peer):
        return np.median([min(run(peer, Recording("quad2:moved", budget), seed).regrets) for seed in range(5)])

    assert median(installed(name)) < 0.2 * median(PEERS["random"])


def test_cobyqa_restarts_from_other_points():
    objective = run(PEERS["cobyqa"], Recording("branin", 300))
    values = np.array(objective.regrets)
    assert np.sum(values < 1e-10) > 3  # in more than one basin, or the same again
    assert np.flatnonzero(values > 1).max() > 100


def test_cma_restarts_with_larger_populations(monkeypatch):
    installed("cma")
    import cma

    populations = []

    class Watched(cma.CMAEvolutionStrategy):
        def __init__(self, x0, sigma0, options):
            super().__init__(x0, sigma0, options)
            populations.append(self.popsize)

    monkeypatch.setattr(cma, "CMAEvolutionStrategy", Watched)
    run(PEERS["cma"], Recording("branin", 2500))
    assert populations[:3] == [6, 12, 24]


def test_direct_begins_at_the_center():
    assert np.array_equal(run(PEERS["direct"], Recording("hart3", 3)).points[0], [0.5, 0.5, 0.5])


class TestWithoutTheLibraries:
    def test_importing_the_package_needs_none_of_them(self):
        code = f"libraries = {LIBRARIES!r}\n{HIDE}"
        code += "from dale_bench.peers import PEERS\nprint(*(n for n, peer in PEERS.items() if not peer.missing))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.split() == list(SCIPY_ONLY)

    def test_importing_the_package_loads_none_of_them(self):
        code = f"import sys, dale_bench.peers; print(*set({LIBRARIES!r}) & set(sys.modules))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.split() == []

    def test_missing_tells_which(self, monkeypatch):
        for library in LIBRARIES:
            monkeypatch.setitem(sys.modules, library, None)
        assert PEERS["pes"].missing == ("botorch", "gpytorch", "torch")
        assert PEERS["optuna_cma"].missing == ("optuna", "cmaes")
        assert all(not PEERS[name].missing for name in SCIPY_ONLY)


class TestEnvironment:
    def test_restarts_count_and_stop_without_an_evaluation(self):
        objective = Recording("quad2", 10)
        starts = environment.restarts(objective)
        assert next(starts) == 0
        objective(np.zeros(2))
        assert next(starts) == 1
        with pytest.raises(RuntimeError, match="got none in start 1"):
            next(starts)

    def test_numpys_global_generator_is_seeded_and_put_back(self):
        def draw():
            with environment.seeded_numpy(3):
                return np.random.random()  # noqa: NPY002

        before = global_state()
        assert draw() == draw()
        assert global_state() == before


class TestTrustRegion:
    def test_three_successes_in_a_row_double_it_up_to_the_largest(self):
        region = TrustRegion()
        for _ in range(3):
            region = region.after(success=True, failure_tolerance=2)
        assert region == TrustRegion(2 * INITIAL_SIDE)
        for _ in range(3):
            region = region.after(success=True, failure_tolerance=2)
        assert region == TrustRegion(MAX_SIDE)

    def test_as_many_failures_as_dimensions_halve_it(self):
        region = TrustRegion()
        for _ in range(5):
            region = region.after(success=False, failure_tolerance=5)
        assert region == TrustRegion(INITIAL_SIDE / 2)

    def test_a_success_ends_a_run_of_failures(self):
        region = TrustRegion()
        for success in (False, True, False, True, True):
            region = region.after(success, failure_tolerance=2)
        assert region == TrustRegion(INITIAL_SIDE, successes=2)

    def test_it_restarts_after_a_collapse(self, monkeypatch):
        peer = installed("turbo")
        designs = []

        def counted(n, dimension, rng):
            designs.append(latin_hypercube(n, dimension, rng))
            return designs[-1]

        monkeypatch.setattr(turbo, "latin_hypercube", counted)
        monkeypatch.setattr(turbo, "MIN_SIDE", 0.5)
        points = np.array(run(peer, Recording("step2", 24)).points)  # flat steps: failures
        assert len(designs) > 1
        assert all((points[:, None] == design).all(-1).any() for design in designs)


class TestBotorch:
    def test_log_ei_gets_close_on_a_quadratic(self):
        assert min(run(installed("botorch_fixed"), Recording("quad2:moved", 15)).regrets) < 1e-2

    def test_equal_values_are_no_error(self):
        installed("botorch_fixed")
        with environment.quiet():
            model = botorch_.fit_noise_free(list(np.eye(3)), [2.0, 2.0, 2.0])
            assert botorch_.propose_logei(model).shape == (3,)


class TestEntropySearch:
    def test_mes_takes_the_place_of_pes_where_ep_fails_and_it_is_counted(self, monkeypatch, caplog):
        peer = installed("pes")
        calls = iter([True, False, True])

        def propose_pes(model):
            if next(calls):
                raise entropy_search.EPFailed("not positive definite")
            return np.array([0.25, 0.75])

        monkeypatch.setattr(entropy_search, "propose_pes", propose_pes)
        with caplog.at_level(logging.INFO):
            objective = run(peer, Recording("quad2:moved", 6))
        assert objective.points[4].tolist() == [0.25, 0.75]
        assert objective.notes == {"mes_for_pes": 2, "steps": 3}
        assert "EP failed at 2 of 3 steps" in caplog.text

    @pytest.mark.parametrize("error", ["RuntimeError", "NotPSDError", "InputDataError"])
    def test_a_breakdown_of_ep_is_recognised(self, monkeypatch, error):
        installed("pes")
        from botorch.acquisition import predictive_entropy_search
        from botorch.exceptions import InputDataError
        from linear_operator.utils.errors import NotPSDError

        kinds = {kind.__name__: kind for kind in (RuntimeError, NotPSDError, InputDataError)}

        def break_down(*args, **kwargs):
            raise kinds[error]("broken")

        model = botorch_.fit(list(np.random.default_rng(0).random((4, 2))), [1.0, 2.0, 0.5, 1.5])
        monkeypatch.setattr(predictive_entropy_search, "qPredictiveEntropySearch", break_down)
        with pytest.raises(entropy_search.EPFailed, match="broken"):
            entropy_search.propose_pes(model)

    def test_nan_is_a_failure(self):
        torch = pytest.importorskip(
            "torch", reason="the maximisation by finite differences needs torch (extra 'peers')"
        )
        with pytest.raises(entropy_search.EPFailed, match="not a number"):
            entropy_search._maximize(lambda U: torch.full((len(U),), np.nan), np.full((5, 2), 0.5))

    def test_the_climb_finds_the_top_of_a_hill_and_of_a_slope(self):
        pytest.importorskip("torch", reason="the maximisation by finite differences needs torch (extra 'peers')")
        starts = np.random.default_rng(0).random((50, 3))

        def hill(U):
            return -((U[:, 0] - 0.3) ** 2).sum(-1)

        def gradient(U):
            return U[:, 0].sum(-1)

        np.testing.assert_allclose(entropy_search._maximize(hill, starts), 0.3, atol=1e-3)
        np.testing.assert_allclose(entropy_search._maximize(gradient, starts), 1.0)
