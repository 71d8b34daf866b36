"""Optuna distributions and ConfigSpace hyperparameters, with the libraries if installed and with fakes."""

import subprocess
import sys
from collections.abc import Mapping
from types import ModuleType, SimpleNamespace

import pytest

from dale import Choice, Float, Int, Space, SpaceError
from dale.space.space import as_space


def fake_kind(module, name):
    return type(name, (SimpleNamespace,), {"__module__": module})


@pytest.fixture(params=["real", "fake"])
def optuna(request, monkeypatch):
    """``optuna.distributions``, or a fake with the classes that dale uses."""
    if request.param == "real":
        return pytest.importorskip("optuna.distributions")
    module = ModuleType("optuna.distributions")
    kinds = [fake_kind("optuna.distributions", f"{name}Distribution") for name in ("Float", "Int", "Categorical")]
    module.FloatDistribution = lambda low, high, log=False, step=None: kinds[0](low=low, high=high, log=log, step=step)
    module.IntDistribution = lambda low, high, log=False, step=1: kinds[1](low=low, high=high, log=log, step=step)
    module.CategoricalDistribution = lambda choices: kinds[2](choices=tuple(choices))
    made = SimpleNamespace(**vars(module))
    for kind in kinds:
        setattr(module, kind.__name__, kind)
    monkeypatch.setitem(sys.modules, "optuna.distributions", module)
    return made


class TestOptuna:
    def test_distributions_are_parameters(self, optuna):
        written = {
            "rate": optuna.FloatDistribution(1e-5, 1e-1, log=True),
            "drop": optuna.FloatDistribution(0.0, 0.5, step=0.1),
            "shift": optuna.FloatDistribution(-1.0, 1.0),
            "depth": optuna.IntDistribution(1, 12),
            "width": optuna.IntDistribution(16, 1024, log=True),
            "batch": optuna.IntDistribution(32, 128, step=32),
            "act": optuna.CategoricalDistribution(["relu", None, 3]),
            "fixed": optuna.IntDistribution(5, 5),
            "ours": Int(1, 3),
            "pair": (0, 1),
        }
        assert as_space(written) == Space(
            rate=Float(1e-5, 1e-1, log=True),
            drop=Float(0.0, 0.5, step=0.1),
            shift=Float(-1.0, 1.0),
            depth=Int(1, 12),
            width=Int(16, 1024, log=True),
            batch=Int(32, 128, step=32),
            act=Choice(["relu", None, 3]),
            fixed=Int(5, 5),
            ours=Int(1, 3),
            pair=Float(0, 1),
        )

    def test_errors_name_the_parameter(self, optuna):
        with pytest.raises(SpaceError, match=r"parameter 'n': high must be between -2\*\*53 and 2\*\*53"):
            Space(n=optuna.IntDistribution(1, 2**60))

    def test_other_classes_of_optuna_are_refused(self, optuna):
        other = fake_kind("optuna.trial", "FixedTrial")(number=3)
        with pytest.raises(
            TypeError, match=r"parameter 'n': expected one of .*optuna\.distributions\.FloatDistribution, .*got"
        ):
            Space(n=other)


class FakeConfigurationSpace(Mapping):
    def __init__(self, hyperparameters):
        self._all = {h.name: h for h in hyperparameters}
        self.conditions, self.forbidden_clauses = [], []

    def add(self, *conditions):
        self.conditions += conditions

    def __getitem__(self, name):
        return self._all[name]

    def __iter__(self):
        return iter(self._all)

    def __len__(self):
        return len(self._all)


def fake_config_space():
    module = ModuleType("ConfigSpace")
    fields = {
        "UniformFloatHyperparameter": ("name", "lower", "upper", "log"),
        "UniformIntegerHyperparameter": ("name", "lower", "upper", "log"),
        "CategoricalHyperparameter": ("name", "choices"),
        "OrdinalHyperparameter": ("name", "sequence"),
        "Constant": ("name", "value"),
        "NormalFloatHyperparameter": ("name", "mu", "sigma", "lower", "upper"),
    }
    made = SimpleNamespace()

    def maker(kind, names):
        return lambda *values, log=False: kind(**{"log": log, **dict(zip(names, values, strict=False))})

    for name, names in fields.items():
        kind = fake_kind("ConfigSpace.hyperparameters", name)
        setattr(module, name, kind)
        setattr(made, name, maker(kind, names))
    module.ConfigurationSpace = FakeConfigurationSpace
    return module, made


def fake_conditions():
    made = SimpleNamespace()
    for name in ("EqualsCondition", "GreaterThanCondition"):
        kind = fake_kind("ConfigSpace.conditions", name)
        setattr(made, name, lambda child, parent, value, kind=kind: kind(child=child, parent=parent, value=value))
    several, both = (fake_kind("ConfigSpace.conditions", name) for name in ("InCondition", "AndConjunction"))
    made.InCondition = lambda child, parent, values: several(child=child, parent=parent, values=values)
    made.AndConjunction = lambda *components: both(child=components[0].child, components=components)
    return made


@pytest.fixture(params=["real", "fake"])
def config_space(request, monkeypatch):
    """A function that makes a ``ConfigurationSpace``, and the module with the hyperparameter classes."""
    if request.param == "real":
        library = pytest.importorskip("ConfigSpace")

        def real(*hyperparameters):
            space = library.ConfigurationSpace()
            space.add(*hyperparameters)
            return space

        return real, library
    module, made = fake_config_space()
    monkeypatch.setitem(sys.modules, "ConfigSpace", module)
    return lambda *hyperparameters: FakeConfigurationSpace(hyperparameters), made


class TestConfigSpace:
    def test_a_configuration_space_is_a_space(self, config_space):
        make, lib = config_space
        written = make(
            lib.UniformFloatHyperparameter("rate", 1e-5, 1e-1, log=True),
            lib.UniformIntegerHyperparameter("depth", 1, 12),
            lib.CategoricalHyperparameter("act", ["relu", "gelu"]),
            lib.OrdinalHyperparameter("size", ["s", "m", "l"]),
            lib.Constant("version", 2),
        )
        assert as_space(written) == Space(
            rate=Float(1e-5, 1e-1, log=True),
            depth=Int(1, 12),
            act=Choice(["relu", "gelu"]),
            size=Choice(["s", "m", "l"], ordered=True),
            version=Choice([2]),
        )

    def test_single_hyperparameters_are_parameters(self, config_space):
        _, lib = config_space
        assert Space(a=lib.UniformIntegerHyperparameter("x", 1, 5), b=(0, 1)) == Space(a=Int(1, 5), b=(0, 1))

    def test_hyperparameters_with_a_prior_are_refused(self, config_space):
        _, lib = config_space
        with pytest.raises(
            TypeError, match=r"parameter 'a': expected one of .*ConfigSpace\.UniformFloatHyperparameter, .*got"
        ):
            Space(a=lib.NormalFloatHyperparameter("a", 0.0, 1.0, -5.0, 5.0))

    def test_forbidden_clauses_are_refused(self, monkeypatch):
        module, made = fake_config_space()
        monkeypatch.setitem(sys.modules, "ConfigSpace", module)
        space = FakeConfigurationSpace([made.UniformIntegerHyperparameter("x", 1, 5)])
        space.forbidden_clauses = ["x == 3"]
        with pytest.raises(SpaceError, match=r"has forbidden clauses, \['x == 3'\], which dale does not support"):
            as_space(space)

    @pytest.fixture
    def conditional(self, config_space):
        """A space whose hyperparameters may be parents, and the module with the condition classes."""
        make, lib = config_space
        space = make(
            lib.CategoricalHyperparameter("kernel", ["linear", "rbf", "poly"]),
            lib.UniformFloatHyperparameter("gamma", 1e-4, 10.0, log=True),
            lib.UniformIntegerHyperparameter("degree", 2, 6),
            lib.UniformFloatHyperparameter("shift", 0.0, 1.0),
        )
        if isinstance(space, FakeConfigurationSpace):
            return space, fake_conditions()
        return space, lib

    def test_conditions(self, conditional):
        space, lib = conditional
        kernel, degree = space["kernel"], space["degree"]
        conditions = [
            lib.InCondition(space["gamma"], kernel, ["rbf", "poly"]),
            lib.EqualsCondition(degree, kernel, "poly"),
            lib.AndConjunction(
                lib.EqualsCondition(space["shift"], kernel, "poly"), lib.InCondition(space["shift"], degree, [3, 5])
            ),
        ]
        space.add(*conditions)
        assert as_space(space) == Space(
            kernel=Choice(["linear", "rbf", "poly"]),
            gamma=Float(1e-4, 10.0, log=True).when(kernel=["rbf", "poly"]),
            degree=Int(2, 6).when(kernel="poly"),
            shift=Float(0.0, 1.0).when(kernel="poly", degree=[3, 5]),
        )

    def test_other_conditions_are_refused(self, conditional):
        space, lib = conditional
        space.add(lib.GreaterThanCondition(space["shift"], space["degree"], 3))
        with pytest.raises(
            SpaceError, match=r"expected an EqualsCondition, an InCondition, or an AndConjunction .*, got"
        ):
            as_space(space)

    def test_two_conditions_on_one_parameter_are_refused(self, conditional):
        space, lib = conditional
        shift, degree = space["shift"], space["degree"]
        space.add(lib.AndConjunction(lib.InCondition(shift, degree, [3, 5]), lib.EqualsCondition(shift, degree, 5)))
        with pytest.raises(SpaceError, match="on different parameters"):
            as_space(space)


def test_neither_library_is_imported():
    code = "import sys, dale; dale.Space(a=(0, 1)); print('optuna' in sys.modules, 'ConfigSpace' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.split() == ["False", "False"]
