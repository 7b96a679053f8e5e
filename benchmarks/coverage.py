"""How often 95 % intervals of ``model.summary`` contain the true coefficients, on simulated data.

Run as ``python benchmarks/coverage.py --out FILE.json``. Each cell is a kind of data (``coverage_cells.py``). In each
of 400 repetitions a sample is drawn, ``LinearClassifier()`` or ``LinearRegressor()`` is fitted, and its summary has an
interval for the intercept and for each coefficient, in the units of the data, with the robust covariance. Where the
errors have unequal variances the classical covariance stands beside it, for comparison: it is expected to fail.

Dense rows are drawn again in each repetition; sparse rows are the same in all of them, with new labels. Samples depend
on the cell and the repetition only, not on the number of processes.

The criteria: the mean coverage over the coefficients is 93.5–96.5 %; with at most 100 columns the worst coefficient has
at least 91 %; of sparse columns at most 0.2 % of the coefficients are below 91 %. Only coefficients that were given an
interval in every repetition are counted. What is refused is what the documented rules refuse: nothing of dense data,
and of sparse data the columns that vary in few rows, and coefficients with a large bias.

With ``--out`` the counts are kept, and a later run continues from them.
"""

if __name__ == "coverage":
    # Numba looks for the package of this name, and in this folder finds the script.
    raise ImportError("benchmarks/coverage.py is not the package that measures how much code tests run")

import argparse
import json
import multiprocessing
import os
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from itertools import repeat
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy import stats

from coverage_cells import CELLS, Cell
from sgdone import LinearClassifier, LinearRegressor
from sgdone.machine.atomic import write_atomically

_CONSOLE = Console(width=150)
#: What the mean over coefficients has to be within, and what the worst coefficient has to reach.
_MEAN, _WORST = (0.935, 0.965), 0.91
#: Largest share of sparse columns below the worst coverage allowed.
_MOST_BELOW = 0.002
#: Repetitions after which the counts are kept.
_STRETCH = 40


@final
@dataclass
class Counts:
    """What the repetitions of a cell have found, added up.

    Attributes
    ----------
    repetitions : int
        Their number.
    covered, given : list of int
        For each coefficient the intervals that contain it, and all intervals; the intercept first.
    refused : int
        Refused coefficients.
    as_documented : int
        Repetitions in which they are those that the documented rules refuse.
    fit_seconds, summary_seconds : float
        Seconds, added up.
    """

    repetitions: int = 0
    covered: list[int] = field(default_factory=list)
    given: list[int] = field(default_factory=list)
    refused: int = 0
    as_documented: int = 0
    fit_seconds: float = 0.0
    summary_seconds: float = 0.0

    def merge(self, other: "Counts") -> "Counts":
        """The counts of both."""
        if not self.repetitions:
            return other
        return Counts(
            self.repetitions + other.repetitions,
            [a + b for a, b in zip(self.covered, other.covered, strict=True)],
            [a + b for a, b in zip(self.given, other.given, strict=True)],
            self.refused + other.refused,
            self.as_documented + other.as_documented,
            self.fit_seconds + other.fit_seconds,
            self.summary_seconds + other.summary_seconds,
        )

    @property
    def coverage(self) -> NDArray[np.float64]:
        """Of each coefficient that was given an interval in every repetition."""
        always = np.array(self.given) == self.repetitions
        return np.asarray(np.array(self.covered)[always] / self.repetitions)

    @property
    def share_below(self) -> float:
        """Share of these coefficients whose coverage is below 91 %."""
        return float(np.mean(self.coverage < _WORST))

    def passes(self, cell: Cell) -> bool:
        """Whether the criteria hold."""
        coverage = self.coverage
        if not coverage.size or self.as_documented < self.repetitions:
            return False
        enough = self.share_below <= _MOST_BELOW if cell.design == "sparse" else coverage.min() >= _WORST
        return bool(_MEAN[0] <= coverage.mean() <= _MEAN[1] and enough)


def repetition(name: str, number: int) -> dict[str, Counts]:
    """One repetition of a cell: counts for each covariance."""
    cell = CELLS[name]
    X, y = cell.sample(number)
    begin = time.perf_counter()
    estimator = LinearClassifier if cell.kind == "logistic" else LinearRegressor
    model = estimator(random_state=number).fit(X, y)
    fit_seconds = time.perf_counter() - begin
    return {cov: _counts(cell, model, X, y, cov, fit_seconds) for cov in cell.covariances}


def _counts(cell: Cell, model: Any, X: Any, y: NDArray[np.float64], cov: str, fit_seconds: float) -> Counts:
    truth = cell.truth().coefficients
    begin = time.perf_counter()
    summary = model.summary(X, y, cov=cov)
    seconds = time.perf_counter() - begin
    given = np.isfinite(summary.low) & np.isfinite(summary.high)
    covered = given & (summary.low <= truth) & (truth <= summary.high)
    refused = set(summary.refused)
    biased = {k for k, refusal in summary.refused.items() if refusal.kind == "biased"}
    same = refused - biased == cell.refused(y) - biased and refused == set(np.flatnonzero(~given).tolist())
    same = same and (cell.design == "sparse" or not refused)
    return Counts(
        1, covered.astype(int).tolist(), given.astype(int).tolist(), len(refused), int(same), fit_seconds, seconds
    )


def measured(
    cell: Cell, first: int, last: int, pool: ProcessPoolExecutor, found: dict[str, Counts]
) -> Iterator[dict[str, Counts]]:
    """The counts of a cell after each stretch of repetitions."""
    for begin in range(first, last, _STRETCH):
        numbers = range(begin, min(begin + _STRETCH, last))
        for one in pool.map(repetition, repeat(cell.name), numbers):
            found = {cov: found.get(cov, Counts()).merge(counts) for cov, counts in one.items()}
        yield found


def estimated_seconds(cells: dict[Cell, int], pool: ProcessPoolExecutor, jobs: int) -> float:
    """Seconds that the repetitions still to run will take, from one repetition of each cell."""
    total = 0.0
    for cell, left in cells.items():
        repetition_seconds = min(_timed(pool, cell) for _ in range(2 if cell.design != "sparse" else 1))
        _CONSOLE.print(f"  {cell.name}: {repetition_seconds:.2f} s a repetition, {left} to run", highlight=False)
        total += repetition_seconds * left / jobs
    return total


def _timed(pool: ProcessPoolExecutor, cell: Cell) -> float:
    return pool.submit(_repetition_seconds, cell.name).result()


def _repetition_seconds(name: str) -> float:
    begin = time.perf_counter()
    repetition(name, 0)
    return time.perf_counter() - begin


def load(path: Path | None) -> dict[str, dict[str, Counts]]:
    """Counts by cell and covariance, from an earlier run."""
    if path is None or not path.exists():
        return {}
    kept = json.loads(path.read_text(encoding="utf-8"))
    return {name: {cov: Counts(**counts) for cov, counts in found.items()} for name, found in kept.items()}


def keep(path: Path | None, found: dict[str, dict[str, Counts]]) -> None:
    """Write the counts of all cells."""
    if path is None:
        return
    plain = {name: {cov: asdict(counts) for cov, counts in of_cell.items()} for name, of_cell in found.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    with write_atomically(path) as temporary:
        temporary.write_text(json.dumps(plain), encoding="utf-8")


def table(cells: list[Cell], found: dict[str, dict[str, Counts]]) -> Table:
    """A row for each cell and covariance."""
    headings = ("mean %", "worst %", "< 91 %", "counted", "refused", "by rule", "fit, s", "summary, s")
    shown = Table("cell", "cov", "times", *headings, "criteria", title="Coverage of 95 % intervals")
    shown.columns[0].no_wrap = True
    for cell in cells:
        for cov, counts in found.get(cell.name, {}).items():
            shown.add_row(cell.name, cov, f"{counts.repetitions}", *_row(counts), _judged(cell, cov, counts))
    return shown


def by_chance(cells: list[Cell], found: dict[str, dict[str, Counts]]) -> str:
    """How many coefficients of the cells to judge are below 91 %, and how many would be if all covered 95 %."""
    judged = [found[cell.name][cell.covariances[0]] for cell in cells if cell.name in found]
    below = sum(int(np.sum(counts.coverage < _WORST)) for counts in judged)
    total = sum(counts.coverage.size for counts in judged)
    # One less than the least number of intervals that is enough.
    most = [np.ceil(_WORST * counts.repetitions) - 1 for counts in judged]
    chances = [stats.binom.cdf(few, counts.repetitions, 0.95) for few, counts in zip(most, judged, strict=True)]
    expected = sum(float(chance) * counts.coverage.size for chance, counts in zip(chances, judged, strict=True))
    return f"{below:,} of {total:,} are below 91 %; if all intervals covered exactly 95 %, {expected:.2g} would be."


def _row(counts: Counts) -> list[str]:
    coverage, times = counts.coverage, counts.repetitions
    return [
        f"{100 * coverage.mean():.2f}",
        f"{100 * coverage.min():.2f}",
        f"{100 * counts.share_below:.2f} %",
        f"{coverage.size:,}",
        f"{counts.refused / times:,.6g}",
        "always" if counts.as_documented == times else f"{counts.as_documented} of {times}",
        f"{counts.fit_seconds / times:.3f}",
        f"{counts.summary_seconds / times:.3f}",
    ]


def _judged(cell: Cell, cov: str, counts: Counts) -> str:
    if cov != cell.covariances[0]:
        return "for comparison"
    return "hold" if counts.passes(cell) else "FAIL"


def _line(cell: Cell, found: dict[str, Counts]) -> str:
    parts = []
    for cov, counts in found.items():
        mean, worst, below, _, refused, documented, fit, summary = _row(counts)
        parts.append(
            f"{cov}: mean {mean} %, worst {worst} %, {below} below 91 %, refused {refused} (by rule: {documented}), "
            f"fit {fit} s, summary {summary} s: {_judged(cell, cov, counts)}"
        )
    return f"{cell.name}, {next(iter(found.values())).repetitions} repetitions. " + "; ".join(parts)


def _chosen(text: str) -> list[Cell]:
    """Cells by name or pattern."""
    patterns = [pattern for pattern in text.split(",") if pattern]
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in CELLS):
            raise argparse.ArgumentTypeError(f"no cell is called {pattern}: choose from {', '.join(CELLS)}")
    return [cell for name, cell in CELLS.items() if any(fnmatchcase(name, pattern) for pattern in patterns)]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=400)
    parser.add_argument(
        "--cells", type=_chosen, default=list(CELLS.values()), help=f"names or patterns of {', '.join(CELLS)}"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes, each with one thread of BLAS")
    parser.add_argument("--out", type=Path, help="a JSON file of counts, read and added to")
    return parser.parse_args()


def main() -> None:
    arguments = _arguments()
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    found = load(arguments.out)
    done = {
        cell: min((c.repetitions for c in found.get(cell.name, {}).values()), default=0) for cell in arguments.cells
    }
    left = {cell: arguments.repetitions - count for cell, count in done.items() if count < arguments.repetitions}
    with ProcessPoolExecutor(arguments.jobs, multiprocessing.get_context("spawn")) as pool:
        if left:
            _CONSOLE.print("One repetition of each cell:")
            seconds = estimated_seconds(left, pool, arguments.jobs)
            _CONSOLE.print(f"About {seconds / 60:.0f} minutes in all.", highlight=False)
        for cell in left:
            for counts in measured(cell, done[cell], arguments.repetitions, pool, found.get(cell.name, {})):
                found[cell.name] = counts
                keep(arguments.out, found)
            _CONSOLE.print(_line(cell, found[cell.name]), highlight=False, soft_wrap=True)
    _CONSOLE.print(table(arguments.cells, found))
    for kind, is_sparse in (("dense", False), ("sparse", True)):
        cells = [cell for cell in arguments.cells if (cell.design == "sparse") == is_sparse]
        if cells:
            _CONSOLE.print(f"Coefficients of {kind} cells: {by_chance(cells, found)}", highlight=False)


if __name__ == "__main__":
    main()
