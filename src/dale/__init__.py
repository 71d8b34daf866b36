"""dale minimises functions that are expensive to evaluate, in as few evaluations as possible.

user's params --space--> unit cube --history--> (X, y)
                                       |
        length-scale policy ---+       |       +--- regions
                               v       v       v
                             model: global GP + local quadratics
                                       |
                                  acquisition  (value and slope from mean, spread, best)
                                       |
                                    search     (a function and a box; knows no GP)
                                       |
                             proposal + its reason --space--> user's params --> evaluation --> history, store
"""

from dale import methods
from dale.errors import Retry, SpaceError, SpaceExhausted, StoreError, StoreWarning, TrialError
from dale.evaluate import Command
from dale.minimize import minimize
from dale.optimizer import Optimizer
from dale.run import Run
from dale.run import open_run as open  # noqa: A004 (always called dale.open)
from dale.space import Choice, Float, Int, Space
from dale.trial import Evaluation, LocalMinimum, Reason, Result, Trial

__version__ = "0.1.0"

__all__ = [
    "Choice",
    "Command",
    "Evaluation",
    "Float",
    "Int",
    "LocalMinimum",
    "Optimizer",
    "Reason",
    "Result",
    "Retry",
    "Run",
    "Space",
    "SpaceError",
    "SpaceExhausted",
    "StoreError",
    "StoreWarning",
    "Trial",
    "TrialError",
    "__version__",
    "methods",
    "minimize",
    "open",
]
