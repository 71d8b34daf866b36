"""The minima of the problems, verified by independent searches."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize

from dale_bench.problems import KINDS, failing, mixed
from dale_bench.problems.problem import FEASIBILITY_TOLERANCE, MIN_REGRET, Task
from problem_cases import ALL, CONSTRAINED, EQUAL, HIDDEN, MIXED, draws, spent


class TestEveryProblem:
    @pytest.mark.parametrize(("kind", "name"), ALL)
    def test_its_minimiser_lies_in_the_space_and_attains_the_minimum(self, kind, name):
        problem = KINDS[kind].problem(name, 3)
        assert problem.name == name
        assert problem.regret(problem.space.check(problem.minimiser)) <= max(1e-12, problem.min_regret)
        assert problem.true(problem.minimiser) == pytest.approx(problem.minimum, abs=1e-9)

    @pytest.mark.parametrize(("kind", "name"), ALL)
    def test_no_random_point_is_below_it(self, kind, name):
        problem = KINDS[kind].problem(name, 1)
        values = [problem.true(p) for p in draws(problem.space, 500) if problem.regret(p) < math.inf]
        assert min(values) >= problem.minimum  # of those that keep the constraints; there are some

    @pytest.mark.parametrize(("kind", "name"), ALL)
    def test_same_seed_same_problem(self, kind, name):
        a, b = (KINDS[kind].problem(name, 2) for _ in range(2))
        points = draws(a.space, 5)
        told = [[(p.noisy or p.true)(x) for x in points] for p in (a, b)]
        assert told[0] == told[1]


class TestMinimaOfMixedProblems:
    """By enumeration if possible, otherwise by independent dense searches."""

    def test_integers(self):
        side = np.arange(21.0)
        rest = np.stack(np.meshgrid(side, side, side, side, indexing="ij"), -1).reshape(-1, 4)
        best = min(mixed.integer_quadratic(np.column_stack([np.full(len(rest), k), rest])).min() for k in side)
        assert best == pytest.approx(MIXED["integers"].minimum, abs=1e-12)

    def test_switches(self):
        found = []
        for setting in itertools.product([False, True], repeat=mixed.SWITCHES):
            named = {f"s{i}": on for i, on in enumerate(setting)}
            basin = optimize.minimize(
                lambda z, named=named: mixed.switches({**named, "x": z[0], "y": z[1]}), [0.5, 0.5]
            )
            assert np.all((basin.x > 0) & (basin.x < 1))  # all basins are inside the box
            found.append(basin.fun)
        assert min(found) == pytest.approx(MIXED["switches"].minimum, abs=1e-9)
        assert sorted(found)[1] > min(found) + 0.1

    def test_basins_of_every_option_and_integer(self):
        problem = MIXED["basins"]
        found = {}
        for option, n in itertools.product(mixed.BASINS, range(11)):
            z = optimize.minimize(
                lambda z, option=option, n=n: mixed.basins({"option": option, "n": n, "x": z[0], "y": z[1]}),
                [mixed.BASINS[option][0], 0.5],
                bounds=[(0, 1)] * 2,
            )
            found[option, n] = z.fun
        assert min(found, key=found.get) == ("c", 6)
        assert min(found.values()) == pytest.approx(problem.minimum, abs=1e-9)
        assert sorted(found.values())[1] > 0.015  # no other comes near

    def test_kernel_ridge(self):
        problem = MIXED["kernel_ridge"]
        found = {}
        settings = [(k, 1) for k in ("linear", "gaussian", "exponential")] + [("polynomial", d) for d in range(1, 6)]
        for kernel, degree in settings:

            def error(z, kernel=kernel, degree=degree):
                return mixed.kernel_ridge(
                    {"kernel": kernel, "degree": degree, "gamma": 10 ** z[0], "ridge": 10 ** z[1]}
                )

            bounds = [(-3, 2), (-4, 2)]
            grid = sorted(itertools.product(np.linspace(-3, 2, 16), np.linspace(-4, 2, 13)), key=error)
            ends = [optimize.minimize(error, z, method="Nelder-Mead", bounds=bounds).fun for z in grid[:2]]
            found[kernel, degree] = min(ends)
        assert min(found, key=found.get) == ("gaussian", 1)
        assert min(found.values()) == pytest.approx(problem.minimum, abs=1e-7)
        assert min(found.values()) >= problem.minimum - 1e-12
        assert sorted(found.values())[1] > problem.minimum + 0.01

    def test_the_stepped_vessel(self):
        """Along the radius, for each pair of plates, at the least length that holds the volume and at both ends."""
        problem = MIXED["vessel_stepped"]
        radius = np.linspace(10, 200, 191)
        lengths = np.clip((1_296_000 - 4 / 3 * np.pi * radius**3) / (np.pi * radius**2), 10, 200)
        best = {}
        for shell, head in itertools.product(range(1, 100), repeat=2):
            design = [
                shell / 16,
                head / 16,
                np.tile(radius, 3),
                np.concatenate([lengths, 0 * radius + 10, 0 * radius + 200]),
            ]
            limits = np.maximum(
                np.vstack([np.broadcast_to(g, design[2].shape) for g in mixed.vessel_constraints(*design)]), 0
            )
            best[shell, head] = float(np.min(mixed.vessel_cost(*design) + mixed.PENALTY @ limits))
        assert min(best.values()) >= problem.minimum
        for shell, head in sorted(best, key=best.get)[:12]:
            ends = [
                optimize.minimize(
                    lambda z, shell=shell, head=head: mixed.vessel_stepped(
                        {"shell": shell / 16, "head": head / 16, "radius": z[0], "length": z[1]}
                    ),
                    start,
                    method="Nelder-Mead",
                    bounds=[(10, 200)] * 2,
                    options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 2000},
                ).fun
                for start in ([42, 176], [45, 140], [40, 190])
            ]
            best[shell, head] = min(ends)
            assert best[shell, head] >= problem.minimum - 1e-10
        assert min(best, key=best.get) == (13, 7)
        assert best[13, 7] == pytest.approx(problem.minimum, abs=1e-6)
        assert problem.minimum == pytest.approx(6.059714, abs=1e-6)  # as published


def solved(problem, allowance, starts, seed=0):
    """The best of SLSQP from random starts, with every constraint at most the allowance."""
    space = problem.space

    def at(u):
        return space.decode(np.clip(u, 0, 1))

    kept = {"type": "ineq", "fun": lambda u: allowance - problem.constraints(at(u))}
    best = math.inf
    for start in np.random.default_rng(seed).random((starts, space.dimension)):
        with np.errstate(all="ignore"):
            end = optimize.minimize(
                lambda u: float(problem.true(at(u))),
                start,
                method="SLSQP",
                bounds=[(0, 1)] * space.dimension,
                constraints=kept,
                options={"ftol": 1e-14, "maxiter": 300},
            )
        if np.all(problem.constraints(at(end.x)) <= allowance + 1e-10):
            best = min(best, float(problem.true(at(end.x))))
    return best


@pytest.mark.filterwarnings("ignore")  # SLSQP divides by its own zeros
@pytest.mark.parametrize("name", CONSTRAINED)
class TestMinimaOfConstrainedProblems:
    def test_slsqp_from_many_starts_ends_there(self, name):
        problem = CONSTRAINED[name]
        assert solved(problem, 0.0, 20) == pytest.approx(problem.minimum, abs=1e-7)

    def test_the_tolerance_on_constraints_is_worth_less_than_the_min_regret(self, name):
        problem = CONSTRAINED[name]
        allowance = 1e-4
        worth = (problem.minimum - solved(problem, allowance, 20)) / allowance
        assert worth > 0
        assert worth * FEASIBILITY_TOLERANCE < MIN_REGRET


AT_THE_EDGE = ["half_plane", "ring", "simulator", "rosenbrock_disk"]


class TestMinimaWithHiddenConstraints:
    @pytest.mark.filterwarnings("ignore")  # SLSQP divides by its own zeros
    @pytest.mark.parametrize("name", [*AT_THE_EDGE, "branin_corner"])
    def test_slsqp_from_many_starts_ends_there(self, name):
        assert solved(HIDDEN[name], 0.0, 20) == pytest.approx(HIDDEN[name].minimum, abs=1e-8)

    @pytest.mark.parametrize("name", AT_THE_EDGE)
    def test_at_the_edge(self, name):
        assert max(HIDDEN[name].constraints(HIDDEN[name].minimiser)) == pytest.approx(0, abs=1e-12)

    def test_one_minimum_of_branin_is_just_inside_the_failing_corner(self):
        problem, points = HIDDEN["branin_corner"], failing.BRANIN.minimisers
        assert [problem.fails(x) for x in points] == [False, True, False]
        assert problem.constraints(points[1]) < 0.2

    def test_five_integers(self):
        points = [dict(zip("abcde", k, strict=True)) for k in itertools.product(range(6), repeat=5)]
        values = [failing.five_integers(p) for p in points if p["a"] + p["b"] <= 4]
        assert min(values) == HIDDEN["five_integers"].minimum
        assert min(map(failing.five_integers, points)) == 0  # where evaluations fail


@pytest.mark.filterwarnings("ignore")  # SLSQP divides by its own zeros
@pytest.mark.parametrize("name", EQUAL)
def test_minima_with_equalities(name):
    """SLSQP from many starts, with the equalities as its own constraints."""
    problem = EQUAL[name]
    space, rows = problem.space, problem.space.equalities.rows
    A = np.array([[row.coefficients.get(n, 0.0) for n in space.names] for row in rows])
    low, high = (np.array([p.decode(u) for p in space.parameters.values()]) for u in (np.zeros(1), np.ones(1)))
    equal = {"type": "eq", "fun": lambda x: A @ x - [row.value for row in rows], "jac": lambda x: A}
    best = math.inf
    for start in low + (high - low) * np.random.default_rng(0).random((20, len(low))):
        end = optimize.minimize(
            lambda x: problem.true(dict(zip(space.names, np.clip(x, low, high), strict=True))),
            start,
            method="SLSQP",
            bounds=list(zip(low, high, strict=True)),
            constraints=equal,
            options={"ftol": 1e-14, "maxiter": 300},
        )
        if np.max(np.abs(A @ np.clip(end.x, low, high) - [row.value for row in rows])) < 1e-12:
            best = min(best, end.fun)
    assert best == pytest.approx(problem.minimum, abs=1e-8)


class TestEliminationByHand:
    @pytest.mark.parametrize("name", EQUAL)
    @pytest.mark.parametrize("how", ["default", "by_hand", "first_by_hand"])
    def test_points_satisfy_the_equalities(self, name, how):
        problem, points = EQUAL[name], []
        watched = replace(problem, true=lambda p: points.append(problem.space.check(p)) or problem.true(p))
        spent(KINDS["equalities"].contender(how).run, Task(watched, 4))
        assert len(points) == 4

    def test_of_the_same_parameters_it_is_the_same_run(self):
        ours, by_hand = (
            spent(KINDS["equalities"].contender(name).run, Task(EQUAL["hs62"], 8)).curve
            for name in ("default", "by_hand")
        )
        np.testing.assert_allclose(ours, by_hand, rtol=1e-6)
