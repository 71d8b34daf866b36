"""What runs say: medians, errors, envelopes, ranks, tests and the paper's claims, on made-up runs of known answers."""

import numpy as np
import pytest

from dale_bench import tables
from dale_bench.comparison import Comparison, bootstrap_error
from dale_bench.functions import get
from dale_bench.ours import OURS, optimal_hyperparameters
from dale_bench.paper.plan import CLAIMS, FIG_3, Claim, judge

RNG = np.random.default_rng(0)


def runs(level, n=16, budget=20, std=0.1):
    """Regrets that fall by a decade every five evaluations from 10^level, with a little noise between runs."""
    start = level + std * RNG.standard_normal((n, 1))
    return 10.0 ** (start - np.arange(budget) / 5)


CURVES = {
    "f": {"ours": runs(0), "peer": runs(1), "other": runs(2)},
    "g": {"ours": runs(1), "peer": runs(0), "other": runs(2)},
    "h": {"ours": runs(0), "peer": runs(1)},
}
COMPARISON = Comparison(CURVES, envelope_of=("peer", "other"))


def test_cells_are_medians_at_checkpoints():
    cell = COMPARISON.cell("f", "ours", 0.5)
    regrets = np.log10(CURVES["f"]["ours"][:, 9])
    assert cell.median == pytest.approx(np.median(regrets))
    assert cell.worst == pytest.approx(regrets.max())
    assert cell.runs == 16
    assert 0 < cell.error < 0.1


def test_bootstrap_error_is_that_of_the_median():
    sample = np.random.default_rng(1).standard_normal(400)
    assert bootstrap_error(sample) == pytest.approx(1.2533 / 20, rel=0.3)  # sqrt(pi / 2) / sqrt(n)


def test_regrets_of_zero_are_clipped():
    exact = Comparison({"f": {"a": np.zeros((3, 4))}})
    assert exact.cell("f", "a", 1.0).median == -14


def test_the_envelope_is_the_best_peer():
    value, who = COMPARISON.envelope("f", 1.0, "ours")
    assert who == "peer"
    assert value == pytest.approx(COMPARISON.median("f", "peer", 1.0))
    assert COMPARISON.wins("ours") == (8, 12)
    assert COMPARISON.wins("peer") == (8, 8)  # against the other peers, if there are any
    assert COMPARISON.envelope("f", 1.0, "peer")[1] == "other"
    assert COMPARISON.envelope("h", 1.0, "peer") is None


def test_of_peers_with_the_same_median_the_envelope_is_the_one_with_the_best_worst_run():
    tied = {"f": {"b": np.array([[1.0], [2.0], [9.0]]), "a": np.array([[1.0], [2.0], [8.0]])}}
    for order in (("a", "b"), ("b", "a")):
        assert Comparison(tied, envelope_of=order).envelope("f", 1.0, "ours")[1] == "a"


def constant(*levels, falls=0.0):
    """Runs (n, 4) at 10^level; the last quarter lower by so many decades."""
    return 10.0 ** (np.array(levels)[:, None] - np.array([0, 0, 0, falls]))


def test_cells_behind_the_envelope_and_worst_runs():
    curves = {
        "level": {"ours": constant(0, 1, 2), "peer": constant(0, 1, 2), "other": constant(3, 3, 3)},
        "late": {"ours": constant(0, 0, 0, falls=0.4), "peer": constant(0, 0, 0.3, falls=1)},
        "ahead": {"ours": constant(-1, -1, 5), "peer": constant(0, 0, 4), "other": constant(1, 1, 1)},
        "alone": {"ours": constant(0, 0, 0)},
        "unfair": {"ours": constant(0, 0, 0), "peer": constant(-9, -9, -9)},
    }
    comparison = Comparison(curves, envelope_of=("peer", "other"), unfair=frozenset({("unfair", "peer")}))
    gaps = comparison.gaps("ours")
    assert {f for f, _ in gaps} == {"level", "late", "ahead"}
    assert [gaps["late", c] for c in (0.25, 0.5, 0.75, 1.0)] == pytest.approx([0, 0, 0, 0.6])
    assert comparison.wins("ours") == (11, 12)
    assert comparison.far_behind("ours") == [("late", 1.0)]
    # level: equal; late: -0.4 against -0.7; ahead: 5 against the 4 of the peer with the best median
    assert comparison.worst_runs_held("ours") == (1, 3)
    assert tables.envelope_remarks(comparison, "ours") == [
        "at or below the envelope in 11 of 12 cells; more than 0.5 decades behind in 1: late@100%",
        "worst run at 100 %: no worse than the best peer's worst run on 1 of 3 functions",
    ]
    assert tables.envelope_remarks(comparison, "peer")[0].endswith("behind in 0")


def test_unfair_pairs_are_excluded():
    unfair = Comparison(CURVES, envelope_of=("peer", "other"), unfair=frozenset({("f", "peer")}))
    assert unfair.envelope("f", 1.0, "ours")[1] == "other"
    assert unfair.common(["peer"]) == ("g", "h")


def test_ranks():
    ranks = COMPARISON.average_ranks(1.0, ["ours", "peer", "other"])
    assert ranks == {"ours": 1.5, "peer": 1.5, "other": 3.0}
    assert COMPARISON.average_ranks(1.0, ["ours", "nobody"]) == {}


def test_paired_and_rank_tests():
    many = {f"f{i}": {"a": runs(0), "b": runs(1)} for i in range(10)}
    difference, p, n = Comparison(many).paired_test("a", "b", 1.0)
    assert difference == pytest.approx(-1, abs=0.1)
    assert p < 0.01
    assert n == 10
    assert Comparison(many).paired_error("a", "b", 1.0) < 0.05
    assert Comparison(many).rank_test("f0", "a", "b", 1.0) < 1e-4
    assert Comparison(many).better_and_worse("a", "b", 1.0, 1e-4) == (10, 0)
    assert Comparison(many).better_and_worse("b", "a", 1.0) == (0, 10)
    assert Comparison({"f": {"a": CURVES["f"]["ours"], "b": CURVES["f"]["ours"]}}).paired_test("a", "b", 1.0)[1] == 1.0


def test_functions_where_both_are_equal_take_no_part_in_the_paired_test():
    same = {f"g{i}": {"a": constant(0), "b": constant(0)} for i in range(3)}
    differ = {f"f{i}": {"a": constant(0), "b": constant(i)} for i in range(1, 6)}
    difference, p, n = Comparison(same | differ).paired_test("a", "b", 1.0)
    assert (difference, n) == (-15 / 8, 8)
    assert p == pytest.approx(2 / 2**5)
    assert Comparison(same | differ).better_and_worse("a", "b", 1.0) == (5, 0)


def test_a_deterministic_method_has_made_one_run():
    same = np.repeat(runs(1, n=1), 32, axis=0)
    curves = {"f": {"a": runs(0, n=6), "b": same, "c": same.copy()}}
    assert Comparison(curves).rank_test("f", "a", "b", 1.0) == pytest.approx(2 / 2**6)
    assert Comparison(curves).rank_test("f", "b", "a", 1.0) == pytest.approx(2 / 2**6)
    assert Comparison(curves).rank_test("f", "b", "c", 1.0) == 1.0


def test_runs_without_a_feasible_point():
    nothing = np.full((6, 20), np.inf)
    some = np.where(np.arange(20) < 3, np.inf, runs(0, n=6))
    assert Comparison({"f": {"a": some, "b": nothing}}).rank_test("f", "a", "b", 1.0) == pytest.approx(2 / 2**6)


def test_targets_reached():
    fractions = np.array([0.0, 0.5, 1.0])
    ours = COMPARISON.targets_reached("ours", ["f"], fractions)
    peer = COMPARISON.targets_reached("peer", ["f"], fractions)
    assert ours[0] == 0
    assert ours[1] < ours[2]
    assert np.all(ours[1:] > peer[1:])


def test_tables_in_three_formats():
    for table in (
        tables.cells_table(COMPARISON, COMPARISON.methods),
        tables.summary_table(COMPARISON, ["ours", "peer"]),
        tables.envelope_table(COMPARISON, "ours"),
        tables.significance_table(COMPARISON, "ours", ["peer", "other"]),
    ):
        header, rows = table
        assert rows
        assert all(len(row) == len(header) for row in rows)
        assert len(tables.as_text(table).splitlines()) == len(rows) + 1
        assert len(tables.as_markdown(table).splitlines()) == len(rows) + 2
        assert len(tables.as_csv(table).splitlines()) == len(rows) + 1


class TestClaims:
    def verdict(self, a, b, kind="better"):
        claim = Claim("Fig. 0", "a beats b", "f", "paper", ("ar",), kind)
        return judge(claim, Comparison({"f": {"paper": a, "ar": b}})).outcome

    def test_better(self):
        assert self.verdict(runs(0), runs(1)) == "confirmed"
        assert self.verdict(runs(1), runs(0)) == "contradicted"
        same = runs(0)
        assert self.verdict(same, same) == "not confirmed"

    def test_equal(self):
        same = runs(0)
        assert self.verdict(same, same, "equal") == "confirmed"
        assert self.verdict(runs(1), runs(0), "equal") == "contradicted"

    def test_steadier(self):
        assert self.verdict(runs(0, std=0.1), runs(0, std=1), "steadier") == "confirmed"
        assert self.verdict(runs(0, std=1), runs(0, std=0.1), "steadier") == "contradicted"
        assert self.verdict(runs(0), runs(0), "steadier") == "not confirmed"

    def test_without_runs(self):
        assert judge(CLAIMS[0], Comparison({})).outcome == "not tested"
        assert self.verdict(runs(0), runs(1, n=3)) == "not tested"

    def test_every_claim_names_functions_and_methods_that_exist(self):
        from dale_bench.contenders import contender

        for claim in CLAIMS:
            get(claim.function)
            for method in (claim.method, *claim.rivals):
                contender(method)
        assert len(FIG_3) == 6


def test_optimal_hyperparameters_recover_a_length_scale():
    length_scale, prior = optimal_hyperparameters("gp_l01", 0, samples=300)
    assert 0.08 < length_scale < 0.13
    assert 0.2 < prior.variance < 5


def test_every_method_of_ours_runs():
    from dale_bench.runner import Job, run

    for contender in OURS:
        if not contender.name.startswith("ei_optimal"):  # a thousand samples: covered by its parts
            row = run(Job("quad2", contender.name, 0, 6))
            assert row.error is None, row.error
            assert len(row.regret) == 6
