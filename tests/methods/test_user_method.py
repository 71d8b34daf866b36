"""A user's own method: a proposal that is none raises an error, and nothing is recorded."""

import numpy as np
import pytest

import dale
from dale.history.reason import Reason, Source
from dale.methods.base import Proposal
from user_method import UserMethod

REASON = Reason(Source.GLOBAL)


@pytest.mark.parametrize(
    "proposal",
    [None, np.full(2, 0.5), Proposal(np.full(1, 0.5), REASON), Proposal(np.array([0.5, np.nan]), REASON)],
    ids=["none", "a point alone", "one coordinate", "not finite"],
)
def test_an_invalid_proposal(proposal):
    class Broken(UserMethod):
        def propose(self, snapshot, rng):
            return proposal

    optimizer = dale.Optimizer([(0, 1)] * 2, seed=0, method=Broken())
    with pytest.raises(TypeError, match=r"method 'test': expected a Proposal with a finite point of shape \(2,\), got"):
        optimizer.ask()
    assert optimizer.history == ()
