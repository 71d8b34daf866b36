"""
Resume after a kill
===================

A run is killed in the middle: by the queue of a cluster, by a power cut, by ``kill -9``. What is lost, and does the
resumed run find the same as an uninterrupted one?
"""

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import dale

folder = Path(tempfile.mkdtemp())
script = folder / "fit.py"
script.write_text("""
import os, signal, sys
import dale

evaluations = 0

def simulate(x):
    global evaluations
    evaluations += 1
    if len(sys.argv) > 2 and evaluations > int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)  # no chance to clean up
    return 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2

dale.minimize(simulate, [(-2, 2), (-1, 3)], budget=28, seed=0, store=sys.argv[1])
""")


def run(store, *arguments):
    return subprocess.run([sys.executable, script, folder / store, *arguments], check=False).returncode


# %%
# The first process is killed in its 16th evaluation. Then the same command runs again, and resumes from the store.

assert run("killed.db", "15") == -signal.SIGKILL
print(len(dale.open(folder / "killed.db").history), "trials in the store, the last one pending")
assert run("killed.db") == 0
assert run("whole.db") == 0  # for comparison

# %%
# No value was lost; the evaluation that was running was repeated. All proposals are the same, bit for bit.

killed, whole = (dale.open(folder / name).result() for name in ("killed.db", "whole.db"))
print("same proposals:", np.array_equal(killed.x_iters, whole.x_iters))

fig, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
best = np.minimum.accumulate(killed.func_vals)
numbers = np.arange(1, len(best) + 1)
ax.step(numbers, np.minimum.accumulate(whole.func_vals), where="mid", color="#bbbbbb", lw=6, label="uninterrupted")
ax.step(numbers[:15], best[:15], where="mid", color="#0072B2", lw=2, label="before the kill")
ax.step(numbers[14:], best[14:], where="mid", color="#D55E00", lw=2, label="resumed")
ax.axvline(15.5, color="#333333", ls=":")
ax.annotate("kill -9", (15.5, best[0]), xytext=(6, -2), textcoords="offset points", va="top")
ax.set(yscale="log", xlabel="evaluation", ylabel="best value")
ax.legend(frameon=False, loc="lower left")
plt.show()
