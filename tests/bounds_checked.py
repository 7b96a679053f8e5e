"""Results of a program with the bounds of arrays checked in compiled loops, and with these as plain Python."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np


def results_of(program, folder):
    """What a program writes to the file that it is given, as plain Python and with bounds checked."""
    found = []
    for number, environment in enumerate(({"NUMBA_DISABLE_JIT": "1"}, {"NUMBA_BOUNDSCHECK": "1", "NUMBA_OPT": "0"})):
        file = folder / f"{number}.npy"
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", program, str(file)],
            env={**os.environ, "NUMBA_CACHE_DIR": str(folder / f"cache-{number}"), **environment},
            cwd=Path(__file__).parent,
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        found.append(np.load(file))
    return found
