"""Whatever an objective raises or returns fails its trial only, wherever it runs: each evaluator passes each test."""

import pytest
from broken_objectives import RAISED, RETURNED, broken
from evaluators import EVALUATORS, FORK_WARNING, arguments

import dale
from dale.history.trial import TrialState
from dale.space.point import short_repr

pytestmark = pytest.mark.filterwarnings(FORK_WARNING)


CASES = [*RAISED, *RETURNED]


def each_case(x):
    """The case that the coordinate chooses; a value beyond the last one."""
    i = round(x[0])
    if i >= len(CASES):
        return float(i)
    if CASES[i] in RAISED:
        raise RAISED[CASES[i]][0]()
    return RETURNED[CASES[i]]()


@pytest.mark.parametrize("kind", EVALUATORS)
def test_each_case_is_a_failed_trial(kind):
    n = len(CASES)
    with arguments(kind) as more:
        points = [[n], *([i] for i in range(n)), [n + 1]]
        result = dale.minimize(each_case, [(0, n + 1)], budget=n + 2, seed=0, x0=points, **more)
    by_case = {round(t.x[0]): t for t in result.history}
    assert {i for i, t in by_case.items() if t.state is TrialState.COMPLETE} == {n, n + 1}
    assert (result.status, result.nfev, result.fun) == (dale.Status.BUDGET_SPENT, n + 2, float(n))
    for i, case in enumerate(CASES):
        error = by_case[i].error
        assert not by_case[i].retry, case
        if case in RAISED:
            assert "in each_case" in error or case == "group", (case, error)
            assert RAISED[case][1] in error, (case, error)
        else:
            assert error.startswith(("Traceback", "the objective returned ")), (case, error)


@pytest.mark.parametrize("kind", [list, tuple])
def test_only_the_head_of_a_long_value_is_formatted(kind):
    """The repr of a value of hundreds of megabytes would take gigabytes, and longer than many a timeout."""
    text = short_repr(kind([0] * 5000 + [broken("__repr__")]))
    assert text.startswith(("[0, 0", "(0, 0"))
    assert text.endswith("...")
    assert short_repr("x" * 5000) == "'" + "x" * 999 + "..."
