"""Anonymous memory of a fit to a CSV file that is larger and larger: it should stay the same.

Run as ``python benchmarks/file_memory.py``; 16 GB of CSV need 35 GB of disk, and are deleted after their fit.
``--sizes 0.1 0.4`` is a quick run. Each fit is ``LinearClassifier().fit(files(path))``, in a process of its own, whose
``RssAnon`` is sampled every 50 ms. Pages of files that the system may drop do not count. The file has ten columns of
numbers and two of categories, one of them with 2,000 levels.

``--floor`` prints instead what a process of a fit to a tiny file takes, step by step: imports, then the fit itself.

The last fit has a limit on its memory: 2 GB in a control group, page cache included, if one can be made, otherwise 4 GB
of addresses.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import final

from rich.console import Console
from rich.table import Table

from file_memory_data import write_csv
from file_memory_limit import limited
from files_process import machine, watched

GIGABYTE = 1e9
#: File and cache over the size of the file.
DISK = 2.2
#: Largest peak in bytes, and largest over smallest peak.
MOST, FLAT = 1.5 * GIGABYTE, 1.1
MEMORY_LIMIT, ADDRESS_LIMIT = 2 * 10**9, 4 * 10**9
#: Gigabytes, and bytes of memory, of the fit that compiles.
SMALL, LITTLE_MEMORY = 0.02, 1 << 23
#: Rows of the file whose fit shows the floor.
TINY = 1000
CONSOLE = Console(width=130, highlight=False)

FIT = """
import json, sys, time
from sgdone import LinearClassifier, files
began = time.perf_counter()
options = {} if sys.argv[2] == "default" else {"max_memory": int(sys.argv[2])}
model = LinearClassifier(random_state=0).fit(files(sys.argv[1], label="y", **options))
print(json.dumps([time.perf_counter() - began, model.verdict_.passes, str(model.verdict_)]))
"""


#: Prints anonymous memory and pages of files, in MB, after each step; the argument is a small file.
FLOOR = """
import sys
def show(what):
    lines = dict(line.split(":", 1) for line in open("/proc/self/status"))
    print(what, *(int(lines[name].split()[0]) * 1024 / 1e6 for name in ("RssAnon", "RssFile")), sep=chr(9))
show("Python")
import numpy
show("NumPy")
import scipy.sparse
show("SciPy")
import numba
show("Numba, with LLVM")
import pyarrow.compute, pyarrow.csv, pyarrow.parquet
show("pyarrow")
try:
    import pandas
    show("pandas, which pyarrow imports if it is installed")
except ImportError:
    pass
import sklearn.base, sklearn.utils.validation
show("scikit-learn (not in the command)")
from sgdone import LinearClassifier, files
show("sgdone")
LinearClassifier(random_state=0).fit(files(sys.argv[1], label="y"))
show("the first fit: compiled loops, more of LLVM and of the libraries")
LinearClassifier(random_state=0).fit(files(sys.argv[1], label="y"))
show("a second fit")
"""


@final
@dataclass(frozen=True)
class Fit:
    """One fit; ``limit`` says what it was limited to, and ``error`` why there is no model."""

    n_bytes: int
    n_rows: int
    peak: int
    seconds: float = float("nan")
    passes: float = float("nan")
    verdict: str = ""
    limit: str = ""
    error: str = ""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", type=float, nargs="+", default=[1, 4, 16], help="gigabytes of CSV")
    parser.add_argument(
        "--limited-size", type=float, help="of the fit with a limit; the second of the sizes by default"
    )
    parser.add_argument("--max-memory", type=int, help="of files(); for quick runs on small files")
    parser.add_argument("--folder", type=Path, help="for the files, on a disk; a temporary one by default")
    parser.add_argument("--json", type=Path, help="all numbers")
    parser.add_argument("--floor", action="store_true", help="what a fit to a tiny file takes, step by step")
    arguments = parser.parse_args()
    CONSOLE.print(machine())
    if arguments.floor:
        with tempfile.TemporaryDirectory() as folder:
            CONSOLE.print(_floor(Path(folder)))
        return
    last = arguments.limited_size or sorted(arguments.sizes)[:2][-1]
    fits = list[Fit]()
    with tempfile.TemporaryDirectory(prefix="file-memory-", dir=arguments.folder) as folder:
        _check_space(Path(folder), max(*arguments.sizes, last))
        CONSOLE.print("A small fit comes first, so that no other compiles:")
        _fit(Path(folder), SMALL, LITTLE_MEMORY)
        for size in arguments.sizes:
            fits.append(_fit(Path(folder), size, arguments.max_memory))
        with limited(MEMORY_LIMIT, ADDRESS_LIMIT) as limit:
            fits.append(_fit(Path(folder), last, arguments.max_memory, limit.name, limit.enter))
    CONSOLE.print(_table(fits))
    _aims(fits)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps([asdict(fit) for fit in fits], indent=1))


def _fit(
    folder: Path, size: float, max_memory: int | None, limit: str = "", before: Callable[[], None] | None = None
) -> Fit:
    """Make a file, fit, and delete it."""
    path = folder / "rows.csv"
    began = time.perf_counter()
    n_rows = write_csv(path, size * GIGABYTE)
    n_bytes = path.stat().st_size
    CONSOLE.print(f"{n_bytes / GIGABYTE:.2f} GB, {n_rows:,} rows: made in {time.perf_counter() - began:.0f} s")
    # The cache of the rows goes where the file is.
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder)}
    command = [sys.executable, "-c", FIT, str(path), "default" if max_memory is None else str(max_memory)]
    done = watched(command, environment, before)
    path.unlink()
    if done.status != 0:
        error = done.errors.strip().splitlines()[-1] if done.errors.strip() else ""
        CONSOLE.print(f"  no model: status {done.status}: {error}", soft_wrap=True)
        return Fit(n_bytes, n_rows, done.peak, limit=limit, error=f"status {done.status}: {error}")
    seconds, passes, verdict = json.loads(done.lines[0])
    CONSOLE.print(f"  {seconds:.1f} s, {done.peak / 1e6:,.0f} MB. {verdict}", soft_wrap=True)
    return Fit(n_bytes, n_rows, done.peak, seconds, passes, verdict, limit)


def _floor(folder: Path) -> Table:
    """Memory of a fit to a tiny file after each step; the first of two processes compiles."""
    write_csv(folder / "all.csv", 1e5)  # a piece of rows
    rows = (folder / "all.csv").read_text().splitlines(keepends=True)
    (folder / "rows.csv").write_text("".join(rows[: 1 + TINY]))
    command = [sys.executable, "-c", FLOOR, str(folder / "rows.csv")]
    lines = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(2)][1]
    table = Table(title="Memory of a fit to a tiny file, MB: added by each step, and in all")
    for heading in ("step", "anonymous", "files", "anonymous in all", "files in all"):
        table.add_column(heading, justify="left" if heading == "step" else "right")
    before = (0.0, 0.0)
    for line in lines.splitlines():
        what, *sizes = line.split("\t")
        now = float(sizes[0]), float(sizes[1])
        added = (f"{now[k] - before[k]:.0f}" for k in range(2))
        table.add_row(what, *added, *(f"{size:.0f}" for size in now))
        before = now
    return table


def _check_space(folder: Path, size: float) -> None:
    free = shutil.disk_usage(folder).free
    if DISK * size * GIGABYTE > 0.95 * free:
        raise SystemExit(
            f"{size:g} GB of CSV need {DISK * size:.1f} GB in {folder}, where {free / GIGABYTE:.1f} GB are free: give "
            "another --folder, or smaller --sizes"
        )


def _table(fits: list[Fit]) -> Table:
    table = Table(title="Fits to CSV files of several sizes: largest anonymous memory")
    for heading in ("GB", "rows", "seconds", "MB/s", "passes", "memory, MB", "limit"):
        table.add_column(heading, justify="left" if heading == "limit" else "right")
    for fit in fits:
        cells = f"{fit.seconds:.1f}", f"{fit.n_bytes / fit.seconds / 1e6:,.0f}", f"{fit.passes:.3g}"
        table.add_row(f"{fit.n_bytes / GIGABYTE:.2f}", f"{fit.n_rows:,}", *cells, f"{fit.peak / 1e6:,.0f}", fit.limit)
    return table


def _aims(fits: list[Fit]) -> None:
    """Print whether memory is flat and small, and whether the limited fit has come to its end."""
    for fit in fits:
        if fit.error:
            CONSOLE.print(f"{fit.n_bytes / GIGABYTE:.2f} GB {fit.limit}: no model: {fit.error}", soft_wrap=True)
    free = [fit.peak for fit in fits if not fit.limit]
    ratio = max(free) / min(free)
    CONSOLE.print(f"largest / smallest peak: {ratio:.2f} {_mark(ratio <= FLAT)} (aim: at most {FLAT})")
    CONSOLE.print(
        f"largest peak: {max(free) / 1e6:,.0f} MB {_mark(max(free) <= MOST)} (aim: at most {MOST / 1e6:,.0f})"
    )
    CONSOLE.print(f"within the limit: {_mark(not any(fit.error for fit in fits if fit.limit))}")


def _mark(met: bool) -> str:
    return "pass" if met else "FAIL"


if __name__ == "__main__":
    main()
