"""Where intervals stop covering: too many coefficients for the rows, and columns with too few non-zeros.

Run as ``python benchmarks/coverage_limits.py --plot FILE.png``. It switches off the limits of
`sgdone.inference.refusals`, and prints how often 95 % intervals of the exact optimum then contain the true
coefficients, with the robust and with the classical covariance:

1. logistic regression with equally frequent classes, by the number of coefficients k over the number of rows n, and
   over 4Σp(1 − p), the rows that count, for scores with standard deviations 1 and 2;
2. logistic and linear regression on sparse columns of ones, by the number m of non-zeros of a column.

Intervals are counted where the optimum is finite; the tables say how many coefficients are infinite. Errors are those
of the mean over repetitions.
"""

import argparse
import multiprocessing
import os
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any, Literal, NamedTuple, final

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy import sparse
from scipy.special import expit

from sgdone import LinearClassifier, LinearRegressor
from sgdone.inference import refusals

Array = NDArray[np.float64]
Kind = Literal["logistic", "linear"]

_CONSOLE = Console(width=130)
_COVARIANCES = ("robust", "classical")
#: The level of the intervals, and what the mean over coefficients has to reach in ``coverage.py``.
_LEVEL, _ENOUGH = 95.0, 93.5
#: Intervals of a point, and of a quick one.
_INTERVALS, _QUICK_INTERVALS = 6_000, 200
#: Rows up to a share of coefficients, so that there are a few of these, and beyond it.
_ROWS = {0.02: 2_000, 1.0: 1_000}
_RATIOS = (0.005, 0.01, 0.02, 0.05, 0.075, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35)
_NON_ZEROS = (5, 10, 15, 20, 30, 50, 100, 200)
#: Rows and columns of sparse data, and the standard deviation of their coefficients.
_SPARSE_ROWS, _SPARSE_COLUMNS, _EFFECT = 5_000, 100, 0.5
#: Lowest coverage that is drawn, and the share of infinite coefficients up to which it is, in per cent.
_LOWEST, _MOST_INFINITE = 70.0, 20.0


class Sampled(NamedTuple):
    """Rows, labels and the true coefficients, without the intercept."""

    X: Any
    y: Array
    coef: Array


@final
@dataclass(frozen=True)
class DensePoint:
    """Logistic regression with k coefficients for n rows."""

    ratio: float
    spread: float
    kind: Kind = "logistic"

    @property
    def n_rows(self) -> int:
        """The number of rows n."""
        return next(rows for most, rows in _ROWS.items() if self.ratio <= most)

    @property
    def n_columns(self) -> int:
        """One less than k: the intercept is a coefficient too."""
        return round(self.ratio * self.n_rows) - 1

    def sample(self, rng: np.random.Generator) -> Sampled:
        """Independent normal columns; the score has the standard deviation ``spread``."""
        X, coef = rng.standard_normal((self.n_rows, self.n_columns)), rng.standard_normal(self.n_columns)
        coef *= self.spread / np.linalg.norm(coef)
        return Sampled(X, (rng.random(self.n_rows) < expit(X @ coef)).astype(np.float64), coef)


@final
@dataclass(frozen=True)
class SparsePoint:
    """Sparse columns with m non-zeros each."""

    non_zeros: int
    kind: Kind

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return _SPARSE_COLUMNS

    def sample(self, rng: np.random.Generator) -> Sampled:
        """Ones at random rows."""
        rows = np.concatenate([rng.choice(_SPARSE_ROWS, self.non_zeros, replace=False) for _ in range(self.n_columns)])
        columns = np.repeat(np.arange(self.n_columns), self.non_zeros)
        values = np.ones(rows.size)
        X = sparse.csr_array((values, (rows, columns)), shape=(_SPARSE_ROWS, self.n_columns))
        coef = rng.normal(0.0, _EFFECT, self.n_columns)
        scores = np.asarray(X @ coef)
        if self.kind == "logistic":
            return Sampled(X, (rng.random(_SPARSE_ROWS) < expit(scores)).astype(np.float64), coef)
        return Sampled(X, scores + rng.standard_normal(_SPARSE_ROWS), coef)


Point = DensePoint | SparsePoint


class Counts(NamedTuple):
    """Intervals of one repetition that contain the coefficient, all intervals, and coefficients without one.

    ``per_row`` is the number of coefficients for each row that counts.
    """

    covered: int
    given: int
    infinite: int
    per_row: float


class Coverage(NamedTuple):
    """Coverage of a point in per cent, its standard error, and the share of coefficients without an interval.

    ``per_row`` is the mean number of coefficients for each row that counts.
    """

    mean: float
    error: float
    infinite: float
    per_row: float

    @classmethod
    def of(cls, found: list[Counts]) -> "Coverage":
        """Of all repetitions; the error of the ratio of two sums."""
        covered, given, infinite, per_row = np.array(found, dtype=np.float64).T
        total = given.sum()
        if not total:
            return cls(np.nan, np.nan, 100.0, np.nan)
        mean = covered.sum() / total
        error = np.sqrt(np.sum((covered - mean * given) ** 2)) / total
        share = 100 * infinite.sum() / (total + infinite.sum())
        return cls(100 * mean, 100 * float(error), share, float(per_row.mean()))


def repetition(point: Point, number: int) -> dict[str, Counts]:
    """Fit one sample, and count the intervals of its summaries."""
    refusals.MOST_PER_ROW = np.inf
    refusals.FEWEST_ROWS, refusals.FEWEST_OF_CLASS = 0, dict.fromkeys(refusals.FEWEST_OF_CLASS, 0)
    refusals.LARGEST_BIAS = np.inf
    kind_of_point = list(_all_points()).index(point)
    X, y, coef = point.sample(np.random.default_rng([kind_of_point, number]))
    estimator = LinearClassifier if point.kind == "logistic" else LinearRegressor
    model = estimator(random_state=number).fit(X, y)
    return {cov: _counts(model, X, model.summary(X, y, cov=cov), coef) for cov in _COVARIANCES}


def _counts(model: Any, X: Any, summary: Any, coef: Array) -> Counts:
    low, high = summary.low[1:], summary.high[1:]
    given = np.isfinite(low) & np.isfinite(high)
    counting = float(X.shape[0])
    if isinstance(model, LinearClassifier) and summary.predictor is not None:
        likely = model.predict_interval(X, summary).estimate
        counting = 4.0 * float(np.nansum(likely * (1.0 - likely)))
    covered = int(np.sum(given & (low <= coef) & (coef <= high)))
    return Counts(covered, int(given.sum()), int(np.sum(~given)), (coef.size + 1) / counting)


def measured(point: Point, intervals: int, pool: ProcessPoolExecutor) -> dict[str, Coverage]:
    """Coverage for each covariance, from about as many intervals."""
    times = max(2, round(intervals / point.n_columns))
    found = list(pool.map(repetition, repeat(point, times), range(times), chunksize=max(1, min(8, times // 8))))
    return {cov: Coverage.of([one[cov] for one in found]) for cov in _COVARIANCES}


def _all_points() -> Iterable[Point]:
    yield from dense_points()
    yield from sparse_points()


def dense_points() -> list[DensePoint]:
    """By the standard deviation of the score, then by k/n."""
    return [DensePoint(ratio, spread) for spread in (1.0, 2.0) for ratio in _RATIOS]


def sparse_points() -> list[SparsePoint]:
    """By the model, then by m."""
    kinds: tuple[Kind, ...] = ("logistic", "linear")
    return [SparsePoint(count, kind) for kind in kinds for count in _NON_ZEROS]


def dense_table(found: dict[DensePoint, dict[str, Coverage]]) -> Table:
    """Coverage by k/n."""
    headings = ("score sd", "rows", "k", "k/n", "k/4Σp(1 − p)")
    table = Table(
        *headings, *_COVARIANCES, "infinite", title=f"Many coefficients (limit of column 5: {refusals.MOST_PER_ROW:g})"
    )
    for point, of_point in found.items():
        sizes = (f"{point.spread:g}", f"{point.n_rows:,}", f"{point.n_columns + 1:,}", f"{point.ratio:g}")
        table.add_row(*sizes, f"{of_point['robust'].per_row:.3f}", *_cells(of_point))
    return table


def sparse_table(found: dict[SparsePoint, dict[str, Coverage]]) -> Table:
    """Coverage by the number of non-zeros."""
    of_class = refusals.FEWEST_OF_CLASS
    logistic = f"logistic {2 * of_class['robust']}, classical {2 * of_class['classical']}"
    limits = f"limits: linear robust {refusals.FEWEST_ROWS}, {logistic}"
    table = Table("model", "non-zeros", *_COVARIANCES, "infinite", title=f"Few non-zeros ({limits})")
    for point, of_point in found.items():
        table.add_row(point.kind, f"{point.non_zeros}", *_cells(of_point))
    return table


def _cells(of_point: dict[str, Coverage]) -> list[str]:
    shown = [f"{one.mean:.1f} ± {one.error:.1f} %" if np.isfinite(one.mean) else "–" for one in of_point.values()]
    return [*shown, f"{of_point['robust'].infinite:.1f} %"]


def draw(dense: dict[DensePoint, dict[str, Coverage]], few: dict[SparsePoint, dict[str, Coverage]], path: Path) -> None:
    """Two panels with the limits as vertical lines."""
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.8), sharey=True, layout="constrained")
    for spread, colour in ((1.0, "tab:blue"), (2.0, "tab:red")):
        chosen = {found["robust"].per_row: found for p, found in dense.items() if p.spread == spread}
        _curves(left, chosen, colour, f"score sd {spread:g}")
    for kind, colour in (("logistic", "tab:blue"), ("linear", "tab:green")):
        _curves(right, {p.non_zeros: found for p, found in few.items() if p.kind == kind}, colour, kind)
    left.set(xlabel="coefficients for each row that counts, k/4Σp(1 − p)", xlim=(0.0, 0.5))
    left.set(title="Many coefficients (logistic regression)")
    left.set(ylabel="coverage of 95 % intervals, %", ylim=(_LOWEST, 100.0))
    right.set(xlabel="non-zeros of the column, m", title="Few non-zeros (sparse columns)", xscale="log")
    ticks = (5, 10, 20, 30, 50, 100, 200)
    right.set_xticks(ticks, [f"{tick}" for tick in ticks])
    right.minorticks_off()
    for level, label, place in ((_LEVEL, "95 %", "bottom"), (_ENOUGH, "93.5 %", "top")):
        right.text(1.01, level, label, transform=right.get_yaxis_transform(), va=place, fontsize=9, color="0.3")
    of_class = refusals.FEWEST_OF_CLASS
    _limits(left, {"both": refusals.MOST_PER_ROW}, "above")
    rows = {
        "logistic,\nclassical": 2 * of_class["classical"],
        "logistic,\nrobust": 2 * of_class["robust"],
        "linear,\nrobust": refusals.FEWEST_ROWS,
    }
    _limits(right, rows, "below")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _curves(axis: Any, found: dict[Any, dict[str, Coverage]], colour: str, label: str) -> None:
    # Where most optima are infinite, the finite ones are not typical.
    found = {x: one for x, one in found.items() if one["robust"].infinite < _MOST_INFINITE}
    for cov, style in zip(_COVARIANCES, ("-", "--"), strict=True):
        means = np.array([one[cov].mean for one in found.values()])
        errors = np.array([one[cov].error for one in found.values()])
        mark = "o" if cov == "robust" else "s"
        fill = colour if cov == "robust" else "white"
        axis.plot(list(found), means, style, color=colour, marker=mark, mfc=fill, ms=4, label=f"{label}, {cov}")
        axis.fill_between(list(found), means - 2 * errors, means + 2 * errors, color=colour, alpha=0.12, linewidth=0)


def _limits(axis: Any, limits: dict[str, float], refused: Literal["above", "below"]) -> None:
    """The limits, and the coverage that is wanted."""
    axis.axhline(_LEVEL, color="0.3", linewidth=1.0, zorder=1)
    axis.axhline(_ENOUGH, color="0.3", linewidth=1.0, linestyle=":", zorder=1)
    for k, (name, limit) in enumerate(limits.items()):
        axis.axvline(limit, color="black", linewidth=1.2, linestyle="--" if "classical" in name else "-")
        right = refused == "above" or k == 0
        axis.annotate(
            f"{name}:\nrefused\n{refused} {limit:g}",
            (limit, _LOWEST + 1.0 + 5.0 * k),
            (6 if right else -6, 0),
            textcoords="offset points",
            ha="left" if right else "right",
            va="bottom",
            fontsize=9,
        )
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, fontsize=9, frameon=False)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a thirtieth of the repetitions")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes, each with one thread of BLAS")
    parser.add_argument("--plot", type=Path, help="where to put the picture")
    return parser.parse_args()


def main() -> None:
    arguments = _arguments()
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    intervals = _QUICK_INTERVALS if arguments.quick else _INTERVALS
    with ProcessPoolExecutor(arguments.jobs, multiprocessing.get_context("spawn")) as pool:
        dense = {point: measured(point, intervals, pool) for point in dense_points()}
        _CONSOLE.print(dense_table(dense))
        few = {point: measured(point, intervals, pool) for point in sparse_points()}
        _CONSOLE.print(sparse_table(few))
    if arguments.plot:
        draw(dense, few, arguments.plot)


if __name__ == "__main__":
    main()
