"""
How many workers are worth it?
==============================

Several evaluations can run at once, but each proposal then knows less. How are workers kept busy, and how much time do
four or eight of them save?
"""

import heapq
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import dale

BOUNDS = [(-2, 2), (-2, 2)]


def cost(x):
    return (x[0] - 0.7) ** 2 + 2 * (x[1] + 0.4) ** 2 + 0.3 * np.cos(3 * x[0]) * np.sin(2 * x[1])


def hours(x):
    """How long an evaluation at x takes."""
    return 1 + 0.5 * abs(x[0])


# %%
# **A run with four workers.** As soon as one evaluation ends, the next is proposed, so no worker waits for the slowest
# of a batch. Threads suit an objective that waits for something else, here for a tenth of a second instead of an hour.
# ``n_parallel=4`` would start a process for each evaluation.


def simulate(x):
    time.sleep(hours(x) / 10)
    return cost(x)


store = Path(tempfile.mkdtemp()) / "run.db"
with ThreadPoolExecutor(4) as executor:
    result = dale.minimize(simulate, BOUNDS, budget=24, seed=0, executor=executor, store=store)

# %%
# The timeline of the stored run shows each evaluation. In the gaps, a worker waits for its proposal.

dale.plot.timeline(store)

# %%
# **How much time do more workers save?** For a fair answer we need many workers and hours, so we simulate them with ask
# and tell: a queue of evaluations, sorted by the time at which they end.


def campaign(n_workers, budget=48):
    """Return when the values came, in hours, and the best value so far."""
    optimizer, now, queue, ends, values = dale.Optimizer(BOUNDS, seed=0), 0.0, [], [], []
    while len(values) < budget:
        while len(queue) < n_workers:
            trial = optimizer.ask()
            heapq.heappush(queue, (now + hours(trial.x), trial.id))
        now, trial_id = heapq.heappop(queue)
        values.append(cost(optimizer.history[trial_id].x))
        optimizer.tell(trial_id, values[-1])
        ends.append(now)
    return np.array(ends), np.minimum.accumulate(values)


campaigns = {n: campaign(n) for n in (1, 2, 4, 8)}
lowest = min(best[-1] for _, best in campaigns.values())

# %%
# More workers need more evaluations for the same value. They save time up to a point: a proposal that does not know the
# last values is worth less.

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained", sharey=True)
for (n, (ends, best)), colour in zip(campaigns.items(), ["#333333", "#56B4E9", "#0072B2", "#D55E00"], strict=True):
    above = np.maximum(best - lowest, 1e-12)
    left.step(range(1, len(best) + 1), above, where="post", color=colour, label=f"{n} at once")
    right.step(ends, above, where="post", color=colour)
    reached = int(np.argmax(above < 1e-3))
    print(f"{n} at once: within 0.001 of the minimum after {reached + 1} evaluations and {ends[reached]:.0f} hours")
left.set(yscale="log", xlabel="evaluations", ylabel="above the lowest value")
right.set(xlabel="hours", xlim=(0, 60))
left.legend(frameon=False)
plt.show()
