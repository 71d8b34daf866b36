"""Helpers for tests of external programs."""

from evaluators import Random

import dale

LINE = {"a": (0.0, 1.0)}


def minimise(args, space=LINE, **more):
    command = dale.Command(args, **{k: more.pop(k) for k in ("result", "key", "logs", "cwd") if k in more})
    return dale.minimize(command, space, **{"budget": 2, "seed": 0, "method": Random(), **more})


def errors(result):
    return [t.error.splitlines()[-1] for t in result.history if t.error]
