"""Types as a user's program sees them: it passes mypy --strict, and runs."""

import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).parent / "user_program.py"


def test_a_program_of_a_user_passes_mypy_strict(tmp_path):
    """Without the project's settings, as in a project of the user's."""
    (tmp_path / "mypy.ini").write_text("[mypy]\nstrict = true\n")
    options = ["--config-file", str(tmp_path / "mypy.ini"), "--cache-dir", str(tmp_path / "cache")]
    done = subprocess.run([sys.executable, "-m", "mypy", *options, str(PROGRAM)], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "Success: no issues found in 1 source file"), done.stdout


def test_it_runs():
    done = subprocess.run([sys.executable, PROGRAM], capture_output=True, text=True, check=True)
    assert float(done.stdout) > 0
    assert "INFO:dale:trial 0 at (" in done.stderr  # logging
