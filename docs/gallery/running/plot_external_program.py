"""
Minimise the output of a program
================================

The objective is a program: it takes its parameters as arguments and prints a number. No Python wrapper is needed. How
do you call it, and where does its output go?
"""

import sys
import tempfile
from pathlib import Path

import dale

folder = Path(tempfile.mkdtemp())
program = folder / "antenna.py"  # any executable; here a script, to have one at hand
program.write_text("""
import math, sys

length, spacing = float(sys.argv[1]), float(sys.argv[2].removeprefix("--spacing="))
mismatch = (length - 0.47 - 0.05 * math.sin(9 * spacing)) ** 2 * 400
print("gain in dB:", 9.2 - mismatch - 30 * (spacing - 0.31) ** 2)
print("loss:", mismatch + 30 * (spacing - 0.31) ** 2)  # the last number counts
""")

# %%
# Placeholders stand for the parameters. Each argument reaches the program unchanged; no shell is involved. In a
# terminal: ``dale run --space space.toml --budget 25 -- python antenna.py {length} --spacing={spacing}``.

command = dale.Command([sys.executable, str(program), "{length}", "--spacing={spacing}"])
space = dale.Space(length=dale.Float(0.3, 0.7), spacing=dale.Float(0.1, 0.6))
result = dale.minimize(command, space, budget=25, seed=0, timeout=60, store=folder / "run.db")
print(result)

# %%
# Each evaluation has its own process, so a crash or a timeout fails one trial and not the run. What the program printed
# is kept beside the store.

print((folder / "run.logs" / "0" / "stdout.txt").read_text())

# %%
# The store is enough for plots, also in another process and during the run.

dale.plot.contour(folder / "run.db")
