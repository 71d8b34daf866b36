"""dale minimises or maximises functions that are expensive to evaluate, in as few evaluations as possible.

user's params --space--> unit cube --history--> snapshot: everything derived from the trials, computed once
                                         |
                   global model          |          local models (trust regions)
                                         v
                                    acquisition  (value and gradient from mean, std and the best value)
                                         |
                                       optim     (a function and a box; knows no model)
                                         |
                              proposal + its reason --space--> user's params --> evaluation --> history, store
"""

import logging
from importlib import import_module
from typing import Any

from dale import methods
from dale.errors import (
    EvaluationError,
    EvaluationWarning,
    ForkWarning,
    ReportWarning,
    Retry,
    SpaceError,
    SpaceExhausted,
    StoreError,
    StoreWarning,
    TrialError,
)
from dale.evaluate.command import Command
from dale.fork import fork
from dale.history.evaluation import Evaluation
from dale.history.local_minimum import LocalMinimum
from dale.history.reason import Reason
from dale.history.result import Result
from dale.history.stopping import Status
from dale.history.trial import Trial
from dale.minimize import maximize, minimize
from dale.optimizer import Optimizer
from dale.space.choice import Choice
from dale.space.float import Float
from dale.space.int import Int
from dale.space.space import Space
from dale.store.run import Run
from dale.store.run import open_run as open  # noqa: A004 (always called dale.open)

__version__ = "0.1.0"

__all__ = [
    "Choice",
    "Command",
    "Evaluation",
    "EvaluationError",
    "EvaluationWarning",
    "Float",
    "ForkWarning",
    "Int",
    "LocalMinimum",
    "Optimizer",
    "Reason",
    "ReportWarning",
    "Result",
    "Retry",
    "Run",
    "Space",
    "SpaceError",
    "SpaceExhausted",
    "Status",
    "StoreError",
    "StoreWarning",
    "Trial",
    "TrialError",
    "__version__",
    "fork",
    "maximize",
    "methods",
    "minimize",
    "open",
    "plot",
    "report",
    "scipy_method",
    "why",
]

logging.getLogger("dale").addHandler(logging.NullHandler())  # a program that sets up no logging sees no messages


def __getattr__(name: str) -> Any:
    """Import some names on first use: most programs need none of them."""
    if name == "plot":
        from dale.view import plot

        return plot
    if name == "view":
        return import_module("dale.view")
    if name == "report":
        from dale.view.report.page import report

        return report
    if name == "scipy_method":
        from dale.integrations.scipy import scipy_method

        return scipy_method
    if name == "why":
        from dale.view.why import why

        return why
    raise AttributeError(f"module 'dale' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
