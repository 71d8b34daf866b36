"""``Optimizer.converged``: nothing left promises more than the tolerance."""

import dale
from dale.history.reason import Source
from told_runs import BOX, bowl, points, told


class TestConverged:
    def until(self, tolerance):
        optimizer = dale.Optimizer(BOX, seed=0)
        while not optimizer.converged(tolerance):
            trial = optimizer.ask()
            optimizer.tell(trial, bowl(trial.x))
            assert trial.id < 60
        return optimizer

    def test_asking_whether_changes_nothing(self):
        optimizer = self.until(2.0)
        assert points(optimizer) == points(told(len(optimizer.history)))
        assert optimizer.ask().unit_x.tolist() == told(len(optimizer.history) - 1).ask().unit_x.tolist()

    def test_the_last_proposals_promised_little(self):
        *_, last = [t for t in self.until(2.0).history if (t.reason.expected_improvement or 9) >= 2.0]
        after = self.until(2.0).history[last.id + 1 :]
        assert sum(t.reason.source is Source.GLOBAL for t in after) >= 6

    def test_trials_that_are_out_or_failed_are_no_evidence(self):
        """However many are asked: what nobody has told proves nothing."""
        optimizer = told(8)
        trials = optimizer.ask(30)
        assert not optimizer.converged(1e6)
        for trial in trials:
            optimizer.fail(trial, "lost")
        assert not optimizer.converged(1e6)

    def test_a_gain_is_a_reason_to_go_on(self):
        """What promised little and gave much."""
        optimizer = self.until(2.0)
        trial = optimizer.ask()
        assert trial.reason.expected_improvement < 2.0
        optimizer.tell(trial, -100.0)
        assert not optimizer.converged(2.0)

    def test_not_before_what_the_machine_failed_is_told(self):
        optimizer = self.until(2.0)
        optimizer.fail(optimizer.ask(), "the node died", retry=True)
        assert not optimizer.converged(2.0)

    def test_an_exhausted_space(self):
        optimizer = dale.Optimizer([dale.Int(0, 3)], seed=0)
        trials = optimizer.ask(4)
        assert not optimizer.converged(1e-9)
        for trial in trials:
            optimizer.tell(trial, float(trial.x[0]))
        assert optimizer.converged(1e-9)

    def test_before_the_first_ask(self):
        assert not dale.Optimizer(BOX).converged(1.0)
