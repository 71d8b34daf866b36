"""The file format: a file of format 2 stays readable, and keys that this version does not know are ignored.

``format2.db`` was written once, by ``python tests/store/test_format.py``, and must not be written again: the tests show
that every later version of dale opens and resumes it. ``format2.json`` holds its trials as they were exported then.
"""

import json
import math
import shutil
import sqlite3
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest
from store_runs import same_runs

import dale
from dale.history.reason import ClosedRegion, Reason, Source, TrustRegionStep
from dale.history.trial import TrialState
from dale.methods.base import Capabilities, Proposal
from dale.store.codec import OpaqueValue, dump_json
from dale.store.sqlite import row_checksum
from user_method import UserMethod

FILE = Path(__file__).with_name("format2.db")
SPACE = dale.Space(
    rate=dale.Float(1e-4, 1.0, log=True),
    momentum=dale.Float(0.0, 1.0, step=0.25),
    layers=dale.Int(1, 6),
    kind=dale.Choice(["a", 1, 1.0, None, (1, 2), len]),
    size=dale.Choice(["small", "medium", "large"], ordered=True),
    extra=dale.Float(0, 1).when(kind=["a", len]),
)
REASONS = (
    Reason(Source.INITIAL_DESIGN),
    Reason(Source.GLOBAL, 0.35, -math.inf, True, 1e-300, math.inf, 0.1, None, 2),
    Reason(
        Source.LOCAL, 0.25, 0.5, False, 0.01, -1.5, 1 / 3, 1, 3, TrustRegionStep(0, 0.1, 1.5, 0.25, 2, (1.0, 2 / 3)),
        (ClosedRegion(1, 0.2, True), ClosedRegion(0, 0.3)),
    ),
    Reason(Source.REPLICATE),
    Reason(Source.SPACE_FILLING),
)  # fmt: skip


class Scripted(UserMethod):
    """A method that gives every kind of reason, one after the other."""

    name = "scripted"
    capabilities = Capabilities(input_constraints=True, outcome_constraints=True)

    def changed_settings(self):
        return {"steps": (1, 2.5), "nested": {"type": "Nested", "limit": math.inf}}

    def propose(self, snapshot, rng):
        n = len(snapshot.history.trials)
        point = np.random.default_rng([rng.seed, n]).random(snapshot.history.dimension)
        return Proposal(point, REASONS[n % len(REASONS)])


def optimizer(path):
    return dale.Optimizer(
        SPACE,
        seed=7,
        noise=0.5,
        method=Scripted(),
        constraints=[allowed],
        objective={"args": ["sim", "{rate}"], "key": None},
        store=path,
    )


def allowed(params):
    return params["layers"] <= 6


def objective(params):
    return abs(math.log(params["rate"])) + params["layers"] + params.get("extra", 0.5) / 3


def write(path):
    """A run of two sessions with events of every kind; the last trial is pending."""
    with optimizer(path) as first:
        first.add({"rate": 0.1, "momentum": 0.5, "layers": 2, "kind": len, "size": "large", "extra": 1 / 3}, 0.1)
        for _ in range(5):
            trial = first.ask()
            first.tell(trial, objective(trial.params), noise=0.25)
        first.fail(first.ask(), "it broke\nhere: caf\udce9")
        first.ask()
    with optimizer(path) as second:
        second.fail(second.ask(), "the node died", retry=True)  # the trial that the first session left
        second.ask()


@pytest.fixture
def path(tmp_path):
    return Path(shutil.copy(FILE, tmp_path / "run.db"))


def exported(run, path):
    run.to_json(path)
    return json.loads(path.read_text())


def test_a_file_of_format_2_shows_its_trials(path, tmp_path):
    run = dale.open(path)
    assert run.space.names == SPACE.names
    assert isinstance(run.space.parameters["kind"].options[-1], OpaqueValue)
    assert dale.open(path, SPACE).space == SPACE
    assert (run.seed, run.noise, run.problem["method"]["name"]) == (7, 0.5, "scripted")
    assert [str(event.kind) for event in run.events] == [
        *("open", "add", *["ask", "tell"] * 5, "ask", "fail", "ask"),
        *("open", "reassign", "fail", "ask"),
    ]
    stored = json.loads(FILE.with_suffix(".json").read_text())
    trials = exported(run, tmp_path / "run.json")["trials"]
    assert len(trials) == len(stored) == 9
    for trial, before in zip(trials, stored, strict=True):
        assert {key: trial[key] for key in before} == before
    for trial, reason in zip(run.history[1:6], (*REASONS[1:], REASONS[0]), strict=True):
        assert repr(trial.reason) == repr(reason)
    assert run.history[8].reason.retry_of == 7


def test_a_file_of_format_2_is_resumed(path):
    before = dale.open(path, SPACE).history
    with optimizer(path) as resumed:
        assert same_runs(resumed.history, before)
        trial = resumed.ask()
        assert (trial.id, trial.reason.retry_of) == (8, 7)  # the pending trial of a process that has ended
        resumed.tell(trial, objective(trial.params))
        assert resumed.ask().id == 9
    assert [t.state for t in dale.open(path).history[8:]] == [TrialState.COMPLETE, TrialState.PENDING]


def test_a_run_of_today_is_written_as_the_file_was(path, tmp_path):
    """So that a change of the format does not go unnoticed: the same run, written again, has the same content."""
    write(tmp_path / "again.db")
    old, new = dale.open(path), dale.open(tmp_path / "again.db")
    assert new.problem == old.problem
    for a, b in zip(new.events, old.events, strict=True):
        assert (a.kind, a.trial, a.session) == (b.kind, b.trial, b.session)
        assert a.content.keys() - {"cpu"} == b.content.keys()  # the kind of CPU was added later
        assert a.content.get("reason") == b.content.get("reason")


def with_unknown_keys(data):
    """Data of a problem or an event, with a key more in each mapping of the format."""
    data = data | {"unknown": {"text": "abc"}}
    for key in ("space", "method", "reason", "step"):
        if key in data:
            data[key] = with_unknown_keys(data[key])
    if "closed_regions" in data:
        data["closed_regions"] = [with_unknown_keys(region) for region in data["closed_regions"]]
    if "parameters" in data:
        data["parameters"] = {name: p | {"unknown": "abc"} for name, p in data["parameters"].items()}
    return data


def test_unknown_keys_are_ignored(path):
    """A later version may have written them."""
    before = dale.open(path, SPACE).history
    connection = sqlite3.connect(path, isolation_level=None)
    text = dump_json(with_unknown_keys(json.loads(connection.execute("SELECT problem FROM run").fetchone()[0])))
    checksum = crc32(text.encode())
    for *row, content, _ in connection.execute("SELECT * FROM events ORDER BY number").fetchall():
        content = dump_json(with_unknown_keys(json.loads(content)))
        checksum = row_checksum((*row, content), checksum)
        connection.execute("UPDATE events SET content = ?, checksum = ? WHERE number = ?", (content, checksum, row[0]))
    connection.execute("UPDATE run SET problem = ?, checksum = ?", (text, checksum))
    connection.close()
    assert "unknown" in dale.open(path).problem
    assert same_runs(dale.open(path, SPACE).history, before)
    assert len(dale.open(path).history) == len(before)
    with optimizer(path) as resumed:
        assert same_runs(resumed.history, before)
        resumed.tell(resumed.ask(), 1.0)


def test_a_setting_that_only_the_store_has_is_another_problem(path):
    """The keys of settings are not those of the format: one that is missing here was changed there."""

    class Unchanged(Scripted):
        def changed_settings(self):
            return {"steps": (1, 2.5)}

    problem = {"seed": 7, "noise": 0.5, "constraints": [allowed], "store": path}
    with pytest.raises(dale.StoreError, match=r"method\.settings\.nested is .* in the store and absent here"):
        dale.Optimizer(SPACE, method=Unchanged(), **problem)


if __name__ == "__main__":
    dale.store.store.worker = lambda: {"host": "host", "pid": 1}
    write(FILE)
    everything = exported(dale.open(FILE), FILE.with_suffix(".json"))
    FILE.with_suffix(".json").write_text(json.dumps(everything["trials"], indent=1) + "\n")
