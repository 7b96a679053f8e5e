"""Fits from files beside Vowpal Wabbit, scikit-learn, LightGBM and XGBoost: time, memory and loss of test rows.

Run as ``python benchmarks/files.py --json FILE.json`` on an idle machine, after ``pip install '.[bench,pandas]'``.
``--sizes 20 --rows 200000 --repeats 1`` takes about five minutes; the full sizes need 20 GB of disk.

Sparse text is like RCV1 (about 72 of 47,236 features a row, powers as frequencies) in svmlight's and Vowpal Wabbit's
format, with the same rows. Both make one pass with 20 bits, ours also as many as it wants. Tables of 40 columns of
numbers are read from CSV and Parquet. scikit-learn does the same work there; LightGBM and XGBoost fit 50 trees, which
are other models, shown for orientation.

Each fit has a process of its own. Start-up ends with a fit on few rows, which imports and loads what the other needs.
Files are in the page cache, and compiled code is on disk; what compiling costs is printed first. Fits alternate, and
the slowest over the fastest of one contender is the noise. Memory is anonymous memory, sampled every 50 ms until the
end of the fit.
"""

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from rich.console import Console

from files_data import (
    CSV_ROW_BYTES,
    PARQUET_ROW_BYTES,
    TEST_PIECES,
    Made,
    check_space,
    kept,
    read_whole,
    sparse_files,
    table_files,
)
from files_job import LITTLE_MEMORY, Job, MissingError
from files_process import machine
from files_report import Outcome, aims, fits_table, missing_lines
from files_worker import measure

#: Contenders and their formats, in the order of a turn: those that write a cache come before those that read it.
SPARSE = {
    "VW, text": "vw",
    "sgdone, svmlight": "svmlight",
    "sgdone, VW's text": "vw",
    "VW, text, writing its cache": "vw",
    "sgdone, svmlight, writing its cache": "svmlight",
    "VW, its cache": "vw",
    "sgdone, its cache": "svmlight",
    "sgdone, reading svmlight": "svmlight",
    "sgdone, reading VW's text": "vw",
    "sgdone, svmlight, default": "svmlight",
}
TABLES = {
    "pandas + scikit-learn, CSV": "csv",
    "sgdone, CSV": "csv",
    "sgdone, reading CSV": "csv",
    "sgdone, CSV, default": "csv",
    "pyarrow + scikit-learn, Parquet": "parquet",
    "sgdone, Parquet": "parquet",
    "sgdone, reading Parquet": "parquet",
    "sgdone, Parquet, default": "parquet",
    "LightGBM, CSV": "csv",
    "XGBoost, Parquet": "parquet",
}
#: Other models, shown for orientation.
ONCE = frozenset({"LightGBM, CSV", "XGBoost, Parquet"})
MAX_MEMORY = 1_000_000_000
SMALL_ROWS, SMALL_TABLE_ROWS = 2_000, 20_000
#: Text and cache files over the size of the svmlight text.
SPARSE_DISK = 3.5
TEST_ROWS, TABLE_TEST_ROWS = 20_000, 100_000
CONSOLE = Console(width=200, highlight=False)


def main() -> None:
    arguments = _arguments()
    CONSOLE.print(machine())
    outcomes = list[Outcome]()
    with _folder(arguments) as folder:
        for megabytes in arguments.sizes:
            outcomes.append(_sparse(folder, megabytes, arguments))
            _print(outcomes, arguments)
        if arguments.rows:
            outcomes.append(_table(folder, arguments))
            _print(outcomes, arguments)
    for line in missing_lines(outcomes):
        CONSOLE.print(line)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folder", type=Path, help="for the files, on a disk; a temporary one by default")
    parser.add_argument("--keep", action="store_true", help="keep the files in --folder, and use those that are there")
    parser.add_argument("--sizes", type=float, nargs="*", default=[171, 1700], help="megabytes of sparse text")
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows of the tables; 0 for none")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--contenders", nargs="+", choices=[*SPARSE, *TABLES], default=[*SPARSE, *TABLES])
    parser.add_argument("--json", type=Path, help="all numbers")
    arguments = parser.parse_args()
    if arguments.keep and arguments.folder is None:
        parser.error("--keep needs --folder")
    return arguments


@contextmanager
def _folder(arguments: argparse.Namespace) -> Iterator[Path]:
    """The folder for the files, which are deleted at the end."""
    if arguments.folder is not None:
        arguments.folder.mkdir(parents=True, exist_ok=True)
    if arguments.keep:
        yield arguments.folder
        return
    with tempfile.TemporaryDirectory(prefix="files-", dir=arguments.folder) as folder:
        yield Path(folder)


def _sparse(folder: Path, megabytes: float, arguments: argparse.Namespace) -> Outcome:
    check_space(folder, SPARSE_DISK * 1e6 * megabytes + 1e8)
    began = time.perf_counter()
    name = f"sparse-{megabytes:g}"
    test = kept(folder, "sparse-test", lambda: sparse_files(folder, "sparse-test", n_rows=TEST_ROWS, first=TEST_PIECES))
    few = TEST_PIECES + 1_000
    small = kept(folder, "sparse-small", lambda: sparse_files(folder, "sparse-small", n_rows=SMALL_ROWS, first=few))
    train = kept(folder, name, lambda: sparse_files(folder, name, n_bytes=1e6 * megabytes))
    CONSOLE.print(f"{megabytes:,.0f} MB of sparse text: made in {time.perf_counter() - began:.0f} s")
    outcome = Outcome(f"{megabytes:,.0f} MB of sparse text", train.n_rows, test.true_loss, "VW, text")
    _compare(outcome, SPARSE, train, test, small, folder, int(min(MAX_MEMORY, 1e6 * megabytes)), arguments)
    return outcome


def _table(folder: Path, arguments: argparse.Namespace) -> Outcome:
    check_space(folder, arguments.rows * (2 * CSV_ROW_BYTES + 2 * PARQUET_ROW_BYTES))
    began = time.perf_counter()
    name = f"table-{arguments.rows}"
    test = kept(folder, "table-test", lambda: table_files(folder, "table-test", TABLE_TEST_ROWS, first=TEST_PIECES))
    few = TEST_PIECES + 1_000
    small = kept(folder, "table-small", lambda: table_files(folder, "table-small", SMALL_TABLE_ROWS, first=few))
    train = kept(folder, name, lambda: table_files(folder, name, arguments.rows))
    CONSOLE.print(f"{arguments.rows:,} rows of tables: made in {time.perf_counter() - began:.0f} s")
    outcome = Outcome("tables of 40 numbers", train.n_rows, test.true_loss, "pandas + scikit-learn, CSV")
    _compare(outcome, TABLES, train, test, small, folder, MAX_MEMORY, arguments)
    return outcome


def _compare(
    outcome: Outcome,
    formats: dict[str, str],
    train: Made,
    test: Made,
    small: Made,
    folder: Path,
    cache_memory: int,
    arguments: argparse.Namespace,
) -> None:
    """Fit in turn; fits that compile what is needed come first."""
    chosen = [contender for contender in formats if contender in arguments.contenders]
    caches = folder / "caches"
    caches.mkdir(exist_ok=True)
    jobs = dict[str, Job]()
    for contender in chosen:
        kind = formats[contender]
        memory = cache_memory if "cache" in contender else MAX_MEMORY
        paths = str(train.paths[kind]), str(test.paths[kind]), str(test.labels), str(small.paths[kind])
        jobs[contender] = Job(contender, *paths, str(caches), memory)
        outcome.n_bytes[contender] = train.paths[kind].stat().st_size
    _warm_up(jobs)
    for kind in {formats[contender] for contender in chosen}:
        read_whole(train.paths[kind])
    for turn in range(arguments.repeats):
        for contender, job in jobs.items():
            if contender in outcome.missing or (turn and contender in ONCE):
                continue
            try:
                found = measure(job)
            except (MissingError, RuntimeError) as error:
                outcome.missing[contender] = str(error)
                continue
            outcome.fits.setdefault(contender, []).append(found)
            CONSOLE.print(
                f"  turn {turn + 1}: {contender}: {found.fit:.2f} s after {found.start_up:.2f} s of start-up, "
                f"{found.peak / 1e6:,.0f} MB, loss {found.loss:.4f}, {found.note}"
            )
    shutil.rmtree(caches)
    if not arguments.keep:
        for path in train.paths.values():
            path.unlink()


def _warm_up(jobs: dict[str, Job]) -> None:
    """Fill the disk cache of compiled loops by small fits in memory and block by block; print what compiling costs."""
    fits = [replace(job, train=job.test) for name, job in jobs.items() if name.startswith("sgdone")]
    fits = [job for job in fits if "cache" not in job.contender and "reading" not in job.contender]
    for job in fits:
        for memory in (MAX_MEMORY, LITTLE_MEMORY):
            measure(replace(job, max_memory=memory))
    for job in fits[:1]:
        job = replace(job, max_memory=LITTLE_MEMORY)
        with tempfile.TemporaryDirectory(prefix="numba-") as compiled:
            cold, warm = (measure(job, {"NUMBA_CACHE_DIR": compiled}) for _ in range(2))
        CONSOLE.print(
            f"  compiling: start-up of {job.contender}: {cold.start_up:.1f} s the first time ever, "
            f"{warm.start_up:.1f} s in later processes"
        )


def _print(outcomes: list[Outcome], arguments: argparse.Namespace) -> None:
    """The last outcome as a table, and all as JSON."""
    CONSOLE.print(fits_table(outcomes[-1]))
    for line in aims(outcomes[-1]):
        CONSOLE.print(line)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps([asdict(one) for one in outcomes], indent=1))


if __name__ == "__main__":
    main()
