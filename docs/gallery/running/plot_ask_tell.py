"""
Plan experiments by hand with ask and tell
==========================================

In a laboratory there is no function to call. dale proposes a batch of experiments, someone carries them out, and the
values come back in any order, sometimes days later. How do you run such a campaign?
"""

import tempfile
from pathlib import Path

import numpy as np

import dale

space = dale.Space(temperature=dale.Float(20, 120), ph=dale.Float(3, 9, step=0.1))
store = Path(tempfile.mkdtemp()) / "lab.db"  # every trial is on disk before ask and tell return


def laboratory(params):
    """Stands for the experiment: the yield in percent."""
    temperature, ph = (params["temperature"] - 71) / 25, (params["ph"] - 6.2) / 2.5
    return 93 * np.exp(-(temperature**2) - temperature * ph - ph**2)


# %%
# dale minimises, so it gets minus the yield. Earlier experiments replace the initial design.

with dale.Optimizer(space, seed=0, store=store) as optimizer:
    optimizer.add({"temperature": 50, "ph": 7}, -40.2)
    optimizer.add({"temperature": 90, "ph": 5}, -60.9)
    optimizer.add({"temperature": 30, "ph": 4}, -0.4)
    for trial in optimizer.ask(3):  # the batch for Monday: three different points
        print(trial.id, dict(trial.params))

# %%
# On Tuesday, perhaps in another process: two values are there, one experiment failed. The store knows the pending
# trials, so their ids are enough.

with dale.Optimizer(space, store=store) as optimizer:
    for trial_id in (5, 3):  # in any order
        optimizer.tell(trial_id, -laboratory(optimizer.history[trial_id].params))
    optimizer.fail(4, "the sample was contaminated", retry=True)  # not the fault of the point: repeat it
    print(dict(optimizer.ask().params), "again")

# %%
# And so on, here for six more days.

with dale.Optimizer(space, store=store) as optimizer:
    for _day in range(6):
        for trial in optimizer.ask(3):
            optimizer.tell(trial, -laboratory(trial.params))
    best = optimizer.best
    print(f"{-best.value:.2f} % at {dict(best.params)}")
    figure = dale.plot.contour(optimizer, objective="minus the yield in %")
figure
