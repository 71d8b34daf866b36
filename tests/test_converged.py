"""``Optimizer.converged``: the expected improvement is below the tolerance."""

import dale
from dale.history.reason import Source
from evaluated_runs import BOX, bowl, evaluated, points


class TestConverged:
    def until_converged(self, tolerance):
        optimizer = dale.Optimizer(BOX, seed=0)
        while not optimizer.converged(tolerance):
            trial = optimizer.ask()
            optimizer.tell(trial, bowl(trial.x))
            assert trial.id < 60
        return optimizer

    def test_the_query_changes_no_proposal(self):
        optimizer = self.until_converged(2.0)
        assert points(optimizer) == points(evaluated(len(optimizer.history)))
        assert optimizer.ask().unit_x.tolist() == evaluated(len(optimizer.history) - 1).ask().unit_x.tolist()

    def test_the_last_proposals_have_a_small_expected_improvement(self):
        *_, last = [t for t in self.until_converged(2.0).history if (t.reason.expected_improvement or 9) >= 2.0]
        after = self.until_converged(2.0).history[last.id + 1 :]
        assert sum(t.reason.source is Source.GLOBAL for t in after) >= 6

    def test_pending_and_failed_trials_are_no_evidence(self):
        """However many there are: only values count."""
        optimizer = evaluated(8)
        trials = optimizer.ask(30)
        assert not optimizer.converged(1e6)
        for trial in trials:
            optimizer.fail(trial, "lost")
        assert not optimizer.converged(1e6)

    def test_not_converged_after_an_unexpected_improvement(self):
        """A proposal with a small expected improvement, and a large actual one."""
        optimizer = self.until_converged(2.0)
        trial = optimizer.ask()
        assert trial.reason.expected_improvement < 2.0
        optimizer.tell(trial, -100.0)
        assert not optimizer.converged(2.0)

    def test_not_converged_before_a_retry(self):
        optimizer = self.until_converged(2.0)
        optimizer.fail(optimizer.ask(), "the node died", retry=True)
        assert not optimizer.converged(2.0)

    def test_an_exhausted_space(self):
        optimizer = dale.Optimizer([dale.Int(0, 3)], seed=0)
        trials = optimizer.ask(4)
        assert not optimizer.converged(1e-9)
        for trial in trials:
            optimizer.tell(trial, float(trial.x[0]))
        assert not optimizer.converged(1e-9)  # the values may be noisy
        replicate = optimizer.ask()
        assert replicate.x == 0
        optimizer.tell(replicate, 0.0)
        assert optimizer.converged(1e-9)

    def test_before_the_first_ask(self):
        assert not dale.Optimizer(BOX).converged(1.0)
