"""Seconds from the start to the end of whole processes: the command on small files, beside imports of others.

Run as ``python benchmarks/startup.py``. The files have 200 rows and 3 features. Each process runs once before it is
timed, so that compiled loops and bytecode are cached; the least of ``--repeats`` times is printed.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

COMMAND = [sys.executable, "-c", "from sgdone.cli import main; main()"]


def write_files(folder: Path) -> None:
    """The same rows as svmlight and as CSV."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3)).round(3)
    y = (X @ [1.0, -1.0, 0.5] + rng.logistic(size=200) > 0).astype(int)
    pairs = [" ".join(f"{j + 1}:{x}" for j, x in enumerate(row)) for row in X]
    (folder / "tiny.svm").write_text("".join(f"{label} {row}\n" for label, row in zip(y, pairs, strict=True)))
    rows = [f"{label},{','.join(map(str, row))}\n" for label, row in zip(y, X, strict=True)]
    (folder / "tiny.csv").write_text("y,a,b,c\n" + "".join(rows))


def processes() -> dict[str, list[str]]:
    """The command line of each process; those of ``predict`` use the models of ``fit``."""
    found = {
        "import numpy": [sys.executable, "-c", "import numpy"],
        "import sklearn.linear_model": [sys.executable, "-c", "import sklearn.linear_model"],
        "sgdone --help": [*COMMAND, "--help"],
        "sgdone fit, svmlight": [*COMMAND, "fit", "tiny.svm", "--model", "svm.model", "--json"],
        "sgdone fit, CSV": [*COMMAND, "fit", "tiny.csv", "--label", "y", "--model", "csv.model"],
        "sgdone predict, svmlight": [*COMMAND, "predict", "svm.model", "tiny.svm"],
        "sgdone predict, CSV": [*COMMAND, "predict", "csv.model", "tiny.csv"],
    }
    vowpal = shutil.which("vw")
    return found | ({} if vowpal is None else {"vw --version": [vowpal, "--version"]})


def seconds(command: list[str], folder: Path) -> float:
    """Time of one process."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=True)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder)
        for what, command in processes().items():
            seconds(command, folder)
            print(f"{what:28} {min(seconds(command, folder) for _ in range(repeats)):6.2f} s")


if __name__ == "__main__":
    main()
