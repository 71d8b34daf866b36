"""Runs of every kind, small and fast, that each plot is tested on."""

import functools

import numpy as np

import dale

FLOAT = dale.Space(gain=dale.Float(0.01, 100, log=True), delay=(0.0, 3.0), offset=(-1.0, 1.0))
MIXED = dale.Space(
    rate=dale.Float(1e-4, 1.0, log=True), depth=dale.Int(1, 9), kind=dale.Choice(["tree", "line", "wave"])
)
CONDITIONAL = dale.Space(
    kernel=dale.Choice(["poly", "rbf", "linear"]),
    degree=dale.Int(2, 5).when(kernel="poly"),
    gamma=dale.Float(0.01, 10, log=True).when(kernel=["poly", "rbf"]),
    penalty=(0.0, 1.0),
)
PLANE = dale.Space(a=(-2.0, 2.0), b=(0.0, 10.0))


def smooth(p):
    return np.log10(p["gain"]) ** 2 + (p["delay"] - 1) ** 2 + 0.5 * p["offset"] * (p["delay"] - 1) + p["offset"] ** 2


def mixed(p):
    return (
        (np.log10(p["rate"]) + 2) ** 2 + 0.3 * abs(p["depth"] - 4) + {"tree": 0.0, "line": 1.0, "wave": 2.5}[p["kind"]]
    )


def conditional(p):
    value = (p["penalty"] - 0.3) ** 2 + {"poly": 0.0, "rbf": 0.4, "linear": 1.0}[p["kernel"]]
    return value + 0.2 * abs(p.get("degree", 3) - 3) + 0.1 * np.log10(p.get("gamma", 1.0)) ** 2


def constrained(p):
    value = (p["a"] - 1) ** 2 + 0.05 * (p["b"] - 5) ** 2
    return dale.Evaluation(value, constraints=[p["a"] + 0.1 * p["b"] - 1.0, -p["b"]])


def input_constrained(p):
    return (p["a"] - 1) ** 2 + 0.05 * (p["b"] - 5) ** 2


def in_disc(p):
    return p["a"] ** 2 + (p["b"] / 5 - 1) ** 2 <= 1.5


def failing(p):
    if p["a"] > 1.2:
        raise ValueError("diverged: <b>step</b> too long")
    return p["a"] ** 2 + 0.05 * (p["b"] - 5) ** 2


def with_outlier(p):
    return 1e12 if p["b"] > 9.5 else p["a"] ** 2 + 0.05 * (p["b"] - 5) ** 2


def noisy():
    rng = np.random.default_rng(0)
    return lambda p: float(p["a"] ** 2 + 0.05 * (p["b"] - 5) ** 2 + 0.1 * rng.standard_normal())


SPACES = {
    "float": FLOAT,
    "mixed": MIXED,
    "conditional": CONDITIONAL,
    "constrained": PLANE,
    "input constraints": PLANE,
    "noisy": PLANE,
    "failed": PLANE,
}
OPTIONS = {
    "float": {"budget": 24, "method": dale.methods.paper()},
    "mixed": {"budget": 24},
    "conditional": {"budget": 28},
    "constrained": {"budget": 20},
    "input constraints": {"budget": 18, "constraints": [in_disc]},
    "noisy": {"budget": 24, "noise": 0.1},
    "failed": {"budget": 22, "x0": [{"a": 1.9, "b": 1.0}]},
}
FUNCTIONS = {
    "float": lambda: smooth,
    "mixed": lambda: mixed,
    "conditional": lambda: conditional,
    "constrained": lambda: constrained,
    "input constraints": lambda: input_constrained,
    "noisy": noisy,
    "failed": lambda: failing,
}
KINDS = tuple(SPACES)


@functools.cache
def detected_noise():
    """A run whose noise is detected; the level of its replicates is not that of the model at the best point."""
    rng = np.random.default_rng(7)
    return dale.minimize(
        lambda x: float((x[0] - 0.3) ** 2 + (x[1] - 0.6) ** 2 + 0.05 * rng.standard_normal()),
        [(0, 1)] * 2,
        budget=40,
        seed=3,
    )


@functools.cache
def run(kind):
    """The result of a run of this kind, made once."""
    return dale.minimize(FUNCTIONS[kind](), SPACES[kind], seed=0, progress=False, **OPTIONS[kind])
