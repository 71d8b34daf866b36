"""A store holds the exact problem and trials; another problem is refused with the differences."""

import copy
import dataclasses
import math
import sqlite3
from collections import namedtuple
from enum import Enum

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, NonlinearConstraint
from store_runs import BOUNDS, Uniform, same, same_runs, valley

import dale
from dale.history.reason import ClosedRegion, Source, TrustRegionStep
from dale.methods.length_scale.alpha_ratio import AlphaRatio
from dale.methods.region_identification import RegionIdentification
from dale.store import location
from dale.store.codec import OpaqueValue, dump_json, from_json, to_json
from dale.store.events import reason_from_json, reason_to_json
from dale.store.problem import differences, problem_to_json, space_from_json, space_to_json

HOSTILE = ["'; DROP TABLE trials;--", '"', "a\0b", "\ud800", "=1+1", "<script>", "ü\n\t", "", "%s{}", "../x", "NULL"]


class Colour(Enum):
    RED = 1
    BLUE = 2


def below(x):
    return x[0] + x[1] <= 2.5


def above(x):
    return x[0] + x[1] >= 0.5


class Revised(dale.methods.DefaultMethod):
    """The default method of a later version, which proposes other points."""

    revision = 99


class TestAnotherProblem:
    SPACE = dale.Space(a=dale.Float(0, 1), b=dale.Int(1, 5), c=dale.Choice(["x", "y"]))

    @pytest.mark.parametrize(
        ("settings", "said"),
        [
            ({"seed": 1}, "seed is 0 in the store and 1 here"),
            (
                {"method": dale.methods.paper()},
                "^[^;]*method is default in the store and bayesian_optimization here. The file",
            ),
            (
                {"method": dataclasses.replace(dale.methods.default(), n_initial=5)},
                "method.settings.n_initial is absent in the store and 5 here",
            ),
            ({"method": Revised()}, "^[^;]*method.revision is 11 in the store and 99 here. The file"),
            ({"noise": 0.1}, "noise is 'auto' in the store and 0.1 here"),
            ({"constraints": [lambda p: True]}, r"constraints is \[\] in the store and \[.*<lambda>\] here"),
            (
                {"space": SPACE.parameters | {"a": dale.Float(0, 2)}},
                "space.parameters.a.high is 1.0 in the store and 2",
            ),
            ({"space": SPACE.parameters | {"a": dale.Float(0, 1, log=False, step=0.5)}}, "space.parameters.a.step"),
            (
                {"space": SPACE.parameters | {"b": dale.Float(1, 5)}},
                "space.parameters.b is Int in the store and Float here",
            ),
            ({"space": SPACE.parameters | {"c": dale.Choice(["x", "z"])}}, r"c.options is \['x', 'y'\] in the store"),
            ({"space": SPACE.parameters | {"c": dale.Choice(["x", "y"], ordered=True)}}, "c.ordered is False"),
            ({"space": SPACE.parameters | {"d": dale.Float(0, 1)}}, "space.parameters.d is absent in the store"),
            ({"space": {"a": (0, 1), "b": dale.Int(1, 5)}}, "space.parameters.c is Choice"),
            ({"space": SPACE.parameters | {"a": dale.Float(0, 1).when(c="x")}}, "space.conditions.a"),
            ({"space": [(0, 1), (1, 5)]}, "space.named is True"),
            (
                {"space": {"float": dale.Choice([1, 2]), "dict": dale.Int(1, 2).when(float=2)}},
                "space.parameters.float is",
            ),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_the_error_names_the_difference(self, tmp_path, settings, said):
        path = tmp_path / "run.db"
        dale.Optimizer(self.SPACE, seed=0, store=path).close()
        before = path.read_bytes()
        with pytest.raises(dale.StoreError, match=said) as caught:
            dale.Optimizer(**{"space": self.SPACE, "seed": 0, "store": path} | settings)
        assert str(path) in str(caught.value)
        assert path.read_bytes() == before
        with pytest.raises(dale.StoreError, match="another problem"):
            dale.minimize(lambda p: 1.0, **{"space": self.SPACE, "seed": 0, "store": path, "budget": 3} | settings)

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            (below, above),
            (LinearConstraint([[1, 1]], ub=2), LinearConstraint([[1, 1]], ub=3)),
            (LinearConstraint([[1, 1]], ub=2), LinearConstraint([[1, 2]], ub=2)),
            (NonlinearConstraint(below, 0, 2), NonlinearConstraint(above, 0, 2)),
            ([below], [below, above]),
            (below, None),
        ],
    )
    def test_different_constraints_are_distinguished(self, one, other):
        space, method = dale.Space.from_pairs(BOUNDS), dale.methods.default()
        a, b = (problem_to_json(space, 0, method, None, c) for c in (one, other))
        assert list(differences(a, b))
        assert not list(differences(a, problem_to_json(space, 0, dale.methods.default(), None, one)))

    def test_parents_may_have_the_names_of_codec_keys(self):
        parent = {"float": dale.Choice([1, 1.0]), "object": dale.Choice(["a", "b"])}
        one = dale.Space(parent | {"x": dale.Float(0, 1)})
        other = dale.Space(parent | {"x": dale.Float(0, 1).when({"float": 1.0, "object": "a"})})
        assert list(differences(space_to_json(one), space_to_json(other), ("space",))) == [
            "space.conditions.x is absent in the store and [['float', [1.0]], ['object', ['a']]] here"
        ]

    def test_equivalent_problems_are_equal(self, tmp_path):
        dale.Optimizer({"a": (0, 1), "b": (np.float64(1), 2)}, seed=0, noise=0, store=tmp_path / "run.db").close()
        optimizer = dale.Optimizer(
            dale.Space(b=dale.Float(1, 2), a=dale.Float(0, 1)), noise=0.0, method=dale.methods.default(),
            store=tmp_path / "run.db",
        )  # fmt: skip
        assert optimizer.seed == 0

    def test_a_refused_problem_leaves_no_files(self, tmp_path):
        dale.Optimizer(BOUNDS, seed=0, store=tmp_path / "run.db").close()
        with pytest.raises(dale.StoreError):
            dale.Optimizer(BOUNDS, seed=1, store=tmp_path / "run.db")
        assert [p.name for p in tmp_path.iterdir()] == ["run.db"]


class TestMethods:
    def test_only_changed_settings_are_stored(self):
        def stored(method):
            return problem_to_json(dale.Space.from_pairs(BOUNDS), 0, method, None, None)["method"]

        default = dale.methods.default()
        global_model = dataclasses.replace(default.global_model, length_scale=AlphaRatio(threshold=2.0))
        changed = dataclasses.replace(default, n_initial=5, global_model=global_model)
        length_scale = {"type": "AlphaRatio", "threshold": 2.0}
        settings = {"global_model": {"type": "GlobalSettings", "length_scale": length_scale}, "n_initial": 5}
        assert stored(dale.methods.default()) == {"name": "default", "revision": 11, "settings": {}}
        assert stored(changed) == {"name": "default", "revision": 11, "settings": settings}
        assert stored(dale.methods.imgpo()) == {"name": "imgpo", "revision": 1, "settings": {}}
        length_scale = {"type": "AlphaRatio", "denominator": "stored"}
        settings = {"length_scale": length_scale, "regions": {"type": "RegionIdentification"}}
        assert stored(dale.methods.paper()) == {"name": "bayesian_optimization", "revision": 3, "settings": settings}
        regions = RegionIdentification(margin_from="surface", continue_after=("converged",))
        settings = stored(dataclasses.replace(dale.methods.paper(), regions=regions))["settings"]["regions"]
        assert settings["margin_from"] == "surface"
        assert settings["continue_after"] == {"tuple": ["converged"]}

    def test_a_new_setting_with_a_default_keeps_the_problem(self, tmp_path):
        @dataclasses.dataclass(frozen=True)
        class Extended(dale.methods.DefaultMethod):
            new: int = 1

        dale.Optimizer(BOUNDS, seed=0, store=tmp_path / "run.db").close()
        dale.Optimizer(BOUNDS, seed=0, method=Extended(), store=tmp_path / "run.db").close()
        with pytest.raises(dale.StoreError, match=r"method\.settings\.new is absent in the store and 2 here"):
            dale.Optimizer(BOUNDS, seed=0, method=Extended(new=2), store=tmp_path / "run.db")


class TestHostileNames:
    def test_names_and_options_round_trip(self, tmp_path):
        space = dale.Space({name: dale.Float(0, 1) for name in HOSTILE} | {"choice": dale.Choice(HOSTILE)})
        with dale.Optimizer(space, seed=0, method=Uniform(), store=tmp_path / "'; --.db") as optimizer:
            for name in HOSTILE:
                trial = optimizer.ask()
                optimizer.fail(trial, name)
                optimizer.add(trial.params, 1.0)
        run = dale.open(tmp_path / "'; --.db")
        assert run.space == space
        assert same_runs(run.history, optimizer.history)
        assert [t.error for t in run.history[::2]] == HOSTILE
        assert same_runs(dale.Optimizer(space, method=Uniform(), store=tmp_path / "'; --.db").history, run.history)

    def test_names_are_data_to_sqlite(self, tmp_path):
        with dale.Optimizer({HOSTILE[0]: (0, 1)}, seed=0, store=tmp_path / "run.db") as optimizer:
            optimizer.ask()
        rows = sqlite3.connect(tmp_path / "run.db").execute("SELECT kind, trial, content FROM events").fetchall()
        assert [row[:2] for row in rows] == [("open", None), ("ask", 0)]
        assert "DROP TABLE" in rows[1][2]


class TestValues:
    @pytest.mark.parametrize("value", [0.1, -0.0, 5e-324, 1.7976931348623157e308, 1 / 3, math.pi, 2**0.5, 1e22])
    def test_values_are_exact(self, tmp_path, value):
        with dale.Optimizer([(-1, 1)], seed=0, store=tmp_path / "run.db") as optimizer:
            trial = optimizer.ask(at=[math.nextafter(0.1, 1)])
            optimizer.tell(trial, value, noise=abs(value) if value < 1e300 else None)
        (again,) = dale.open(tmp_path / "run.db").history
        assert again.value.hex() == value.hex()
        assert same(again, optimizer.history[0])

    def test_any_object_may_be_an_option(self, tmp_path):
        Pair = namedtuple("Pair", "a b")
        options = [object(), object(), len, Colour.RED, Pair(1, 2), [1, [2.0]], {"k": (1,)}, np.arange(3), 1j, b"x"]
        options += [1, 1.0, True, None, math.nan, math.inf, "1", Colour, Uniform()]
        space = dale.Space(c=dale.Choice(options), x=(0, 1))
        with dale.Optimizer(space, seed=0, method=Uniform(), store=tmp_path / "run.db") as optimizer:
            for option in options:
                optimizer.add({"c": option, "x": 0.5}, 1.0)
            again = dale.Optimizer(space, seed=0, method=Uniform(), store=tmp_path / "run.db")
        assert all(t.params["c"] is option for t, option in zip(again.history, options, strict=True))
        with dale.Optimizer(
            dale.Space(c=dale.Choice([object(), object(), *options[2:-1], Uniform()]), x=(0, 1)),
            seed=0, method=Uniform(), store=tmp_path / "run.db",
        ) as fresh:  # fmt: skip
            assert len(fresh.history) == len(options)  # as the same objects of another process
        run = dale.open(tmp_path / "run.db")
        restored = [t.params["c"] for t in run.history]
        assert isinstance(restored[0], OpaqueValue)
        assert restored[0] != restored[1]
        assert str(restored[3]) == "<Colour.RED: 1>"
        assert restored[5:7] == options[5:7]
        assert dale.open(tmp_path / "run.db", space).history[2].params["c"] is len
        with pytest.raises(dale.StoreError, match="another problem"):
            dale.open(tmp_path / "run.db", {"x": (0, 1)})

    @pytest.mark.parametrize(
        "value", [None, True, 3, 10**30, "a\0", 0.1, -0.0, [], (1, [2]), {"a": 1, 2: (3,)}, {(1, 2): None}], ids=repr
    )
    def test_simple_values_are_restored(self, value):
        again = from_json(to_json(value))
        assert again == value
        assert repr(again) == repr(value)
        assert dump_json(to_json(value)).isascii()

    def test_nan_and_infinity_are_restored(self):
        assert math.isnan(from_json(to_json(math.nan)))
        assert from_json(to_json([math.inf, -math.inf])) == [math.inf, -math.inf]
        assert np.array_equal(from_json(to_json(np.array([1.5, np.inf]))), [1.5, np.inf])

    def test_reasons_are_restored(self):
        reason = dale.Reason(
            Source.LOCAL, np.float64(1 / 3), -math.inf, np.bool_(True), 1e-300, math.nan, 0.1, np.int64(2), 3,
            TrustRegionStep(np.int64(4), 0.1, 1.5, -0.0, 2, (1.0, 2 / 3)),
            (ClosedRegion(1, 0.2, True), ClosedRegion(2, 0.3)), 7, -1e-3,
        )  # fmt: skip
        again = reason_from_json(reason_to_json(reason))
        assert dump_json(reason_to_json(again)) == dump_json(reason_to_json(reason))
        assert math.isnan(again.mean)
        assert dataclasses.replace(again, mean=None) == dataclasses.replace(reason, mean=None)
        assert reason_from_json(reason_to_json(dale.Reason(Source.INITIAL_DESIGN))) == dale.Reason(
            Source.INITIAL_DESIGN
        )

    def test_spaces_are_restored(self):
        spaces = [
            dale.Space(
                a=dale.Float(1e-5, 0.1, log=True), b=dale.Float(0, 1, step=0.1), c=dale.Int(1, 100, log=True),
                d=dale.Int(0, 9, step=3), e=dale.Choice(["x", 1, 1.0]), f=dale.Choice([1, 2, 3], ordered=True),
                g=dale.Float(0, 1).when(e=["x", 1.0], d=3), h=dale.Int(1, 2).when(f=2),
            ),
            dale.Space.from_pairs([(0, 1), dale.Int(1, 4), dale.Choice(["a", "b", "c"])]),
        ]  # fmt: skip
        for space in spaces:
            assert space_from_json(space_to_json(space)) == space

    def test_a_custom_parameter_type(self, tmp_path):
        class Half(dale.Float):
            pass

        space = dale.Space(a=Half(0, 1), b=(0, 1))
        with dale.Optimizer(space, seed=0, method=Uniform(), store=tmp_path / "run.db") as optimizer:
            optimizer.ask()
        assert same_runs(dale.open(tmp_path / "run.db", space).history, optimizer.history)
        with pytest.raises(dale.StoreError, match=r"dale\.open"):
            dale.open(tmp_path / "run.db")


class TestTells:
    def test_a_repeated_value_is_ignored_and_another_one_refused(self, tmp_path):
        with dale.Optimizer(BOUNDS, seed=0, store=tmp_path / "run.db") as optimizer:
            trial = optimizer.ask()
            optimizer.tell(trial, 0.5)
            optimizer.tell(trial, 0.5)
            with pytest.raises(dale.TrialError, match="already has"):
                optimizer.tell(trial, 0.6)
            with pytest.raises(dale.TrialError, match="cannot fail"):
                optimizer.fail(trial, "no")
            late = optimizer.ask()
            optimizer.fail(late, "too slow")
            optimizer.tell(late, 0.7)  # a late value is accepted
        run = dale.open(tmp_path / "run.db")
        assert [str(e.kind) for e in run.events] == ["open", "ask", "tell", "ask", "fail", "tell"]
        assert [t.value for t in run.history] == [0.5, 0.7]

    def test_a_value_is_in_the_file_when_tell_returns(self, tmp_path):
        with dale.Optimizer(BOUNDS, seed=0, store=tmp_path / "run.db") as optimizer:
            optimizer.tell(optimizer.ask(), 0.5)
            assert dale.open(tmp_path / "run.db").history[0].value == 0.5

    def test_a_table_is_recorded_completely_or_not_at_all(self, tmp_path):
        with dale.Optimizer(BOUNDS, seed=0, store=tmp_path / "run.db") as optimizer:
            with pytest.raises(dale.SpaceError):
                optimizer.add_all([{"x0": 0, "x1": 0, "value": 1}, {"x0": 99, "x1": 0, "value": 1}])
            assert optimizer.history == ()
            optimizer.add_all([{"x0": 0, "x1": 0, "value": 1}, {"x0": 1, "x1": 0, "value": None}])
        assert same_runs(dale.open(tmp_path / "run.db").history, optimizer.history)

    def test_a_transaction_is_atomic(self, tmp_path):
        with dale.Optimizer(BOUNDS, seed=0, store=tmp_path / "run.db") as optimizer:
            optimizer.add([0, 0], 1.0)

            def both():
                with optimizer.transaction():
                    optimizer.add([0.1, 0], 1.0)
                    optimizer.tell(optimizer.ask(), 1 / 0)

            with pytest.raises(ZeroDivisionError):
                both()
            assert len(optimizer.history) == 1
            assert len(dale.open(tmp_path / "run.db").history) == 1
            reference = dale.Optimizer(BOUNDS, seed=0)
            reference.add([0, 0], 1.0)
            assert same(optimizer.ask(), reference.ask())  # no trace of it remains

    def test_a_closed_optimizer_is_refused(self, tmp_path):
        optimizer = dale.Optimizer(BOUNDS, seed=0, store=tmp_path / "run.db")
        optimizer.close()
        optimizer.close()
        with pytest.raises(dale.StoreError, match="closed"):
            optimizer.ask()
        assert optimizer.store == str(tmp_path / "run.db")

    def test_copies_are_refused(self, tmp_path):
        with pytest.raises(TypeError, match="cannot be copied or pickled"):
            copy.deepcopy(dale.Optimizer(BOUNDS, store=tmp_path / "run.db"))

    def test_events_record_process_time_and_versions(self, tmp_path):
        dale.minimize(lambda x: 1 / 0 if x[0] > 0.5 else valley(x), BOUNDS, budget=4, seed=0, store=tmp_path / "run.db")
        run = dale.open(tmp_path / "run.db")
        first = run.events[0].content
        assert set(first) - {"cpu"} == {"host", "pid", "versions"}  # not every BLAS tells the kind of CPU
        assert first["versions"]["numpy"] == np.__version__
        assert all(e.time.endswith("+00:00") for e in run.events)
        assert [e.time for e in run.events] == sorted(e.time for e in run.events)
        failed = [t for t in run.history if t.error]
        assert failed
        assert "ZeroDivisionError" in failed[0].error
        assert "Traceback" in failed[0].error


class TestFileSystems:
    MOUNTS = (
        "/dev/sda1 / ext4 rw 0 0\nserver:/home /home nfs4 rw 0 0\n/dev/sdb /home/local xfs rw 0 0\n"
        "host: /mnt/my\\040disk fuse.sshfs rw 0 0\n//server/x /share cifs rw 0 0\nbroken\n"
    )

    @pytest.mark.parametrize(
        ("path", "kind"),
        [("/tmp/x", "ext4"), ("/home/me/x", "nfs4"), ("/home/local/x", "xfs"), ("/mnt/my disk/x", "fuse.sshfs"),
         ("/homes/x", "ext4"), ("/share/a/b", "cifs")],
    )  # fmt: skip
    def test_the_innermost_mount_counts(self, path, kind):
        assert location.mount_type(location.Path(path), self.MOUNTS) == kind

    def test_a_network_file_system_gives_a_warning(self, tmp_path, monkeypatch):
        table = tmp_path / "mounts"
        table.write_text(f"/dev/sda1 / ext4 rw 0 0\nserver:/x {tmp_path} nfs rw 0 0\n")
        monkeypatch.setattr(location, "MOUNT_TABLE", table)
        with pytest.warns(dale.StoreWarning, match="nfs") as caught:
            dale.Optimizer(BOUNDS, store=tmp_path / "run.db").close()
        assert len(caught) == 1

    def test_a_local_disk_gives_no_warning(self, tmp_path, monkeypatch):
        monkeypatch.setattr(location, "MOUNT_TABLE", tmp_path / "missing")
        dale.Optimizer(BOUNDS, store=tmp_path / "run.db").close()
