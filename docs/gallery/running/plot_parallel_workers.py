"""
How many workers are worth it?
==============================

Each evaluation of this simulation takes about a tenth of a second, which stands for an hour. Several can run at once,
but each proposal then knows less. How much time do four or eight workers save?
"""

import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import rosen

import dale
from dale.view import timeline_data

folder = Path(tempfile.mkdtemp())


def simulate(x):
    time.sleep(0.05 + 0.05 * abs(x[0]))  # stands for the simulation
    return rosen(x)


# %%
# As soon as one evaluation ends, the next is proposed, so no worker waits for the slowest of a batch. Threads suit an
# objective that waits for something else; ``n_parallel=4`` would start a process for each evaluation.

results = {}
for n in (1, 4, 8):
    with ThreadPoolExecutor(n) as executor:
        results[n] = dale.minimize(
            simulate, [(-2, 2), (-1, 3)], budget=32, seed=0, executor=executor, store=folder / f"{n}.db"
        )
    print(f"{n} at once: best value {results[n].fun:.1e}")

# %%
# The timeline of the stored run shows that the workers are busy.

dale.plot.timeline(folder / "8.db")

# %%
# More workers need more evaluations for the same value, but less time.

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained", sharey=True)
for (n, result), colour in zip(results.items(), ["#333333", "#0072B2", "#D55E00"], strict=True):
    seconds = timeline_data(folder / f"{n}.db").end
    order = np.argsort(seconds)  # in which the values came
    values = np.minimum.accumulate(result.func_vals[order])
    left.step(range(1, len(values) + 1), values, where="post", color=colour, label=f"{n} at once")
    right.step(seconds[order], values, where="post", color=colour)
left.set(yscale="log", xlabel="evaluations", ylabel="best value")
right.set(xlabel="seconds")
left.legend(frameon=False)
plt.show()
