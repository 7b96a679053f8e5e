"""Generated problems of kinds on which fits are known to go wrong."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from sgdone import batches, files

Array = NDArray[np.float64]
#: Features (dense, sparse or a frame) and labels.
Sampler = Callable[[int, np.random.Generator], tuple[Any, Array]]

N_FEATURES = 10

#: Rows of a part of a file, and the memory that is allowed where rows are read in parts.
_PART, _MEMORY = 2500, 1_500_000


@dataclass(frozen=True)
class Problem:
    """Rows to fit, a sampler of fresh rows, and options of the fit.

    A ``named`` method is compared with a constant prediction, the default fit with the exact optimum. The rows are read
    in ``parts`` from a file, which can be read again, or from batches, which cannot.
    """

    X: Any
    y: Array
    fresh: Sampler
    regression: bool = False
    options: dict[str, Any] = field(default_factory=dict)
    start: Array | None = None
    named: bool = False
    n_fresh: int = 20_000
    parts: Literal["", "file", "batches"] = ""

    def rows(self, folder: Path) -> tuple[Any, ...]:
        """X and y of a fit, or the rows to read in parts, too many for the memory allowed."""
        if not self.parts:
            return self.X, self.y
        frame = self.X.assign(label=self.y)
        if self.parts == "file":
            frame.to_parquet(folder / "rows.parquet", row_group_size=_PART)
            return (files(folder / "rows.parquet", "label", max_memory=_MEMORY),)
        tables = (frame.iloc[first : first + _PART] for first in range(0, len(frame), _PART))
        return (batches(tables, "label", max_memory=_MEMORY),)


def two_classes(scores: Array, rng: np.random.Generator) -> Array:
    """Labels with the log odds ``scores``."""
    return (rng.random(scores.size) < expit(scores)).astype(float)


def _labels(scores: Array, rng: np.random.Generator, regression: bool) -> Array:
    return scores + rng.standard_normal(scores.size) if regression else two_classes(scores, rng)


def _linear(
    rng: np.random.Generator, features: Sampler, coef: Array, n_rows: int, *, shift: float = 0.0, regression: bool
) -> Problem:
    """Rows whose labels depend on ``coef`` times the second array that ``features`` returns."""

    def fresh(count: int, rng: np.random.Generator) -> tuple[Array, Array]:
        X, latent = features(count, rng)
        return X, _labels(latent @ coef + shift, rng, regression)

    return Problem(*fresh(n_rows, rng), fresh, regression)


def _coef(rng: np.random.Generator, size: float = 2.0) -> Array:
    found = rng.standard_normal(N_FEATURES)
    return np.asarray(size * found / np.linalg.norm(found))


def ill_conditioned(rng: np.random.Generator, number: int) -> Problem:
    """Directions whose spreads differ by up to 10⁴, with labels that depend on all of them alike."""
    turn = np.linalg.qr(rng.standard_normal((N_FEATURES, N_FEATURES)))[0]
    spreads = np.logspace(0.0, -1.0 - number % 4, N_FEATURES)

    def features(count: int, rng: np.random.Generator) -> tuple[Array, Array]:
        latent = rng.standard_normal((count, N_FEATURES))
        return latent * spreads @ turn, latent

    return _linear(rng, features, _coef(rng), 3000, regression=number % 3 == 2)


def collinear(rng: np.random.Generator, number: int) -> Problem:
    """Pairs of columns that differ by a hundredth or less, with labels that depend on the differences too."""
    spread = 10.0 ** -(1.0 + number % 3)

    def features(count: int, rng: np.random.Generator) -> tuple[Array, Array]:
        latent = rng.standard_normal((count, N_FEATURES))
        half = N_FEATURES // 2
        return np.hstack([latent[:, :half], latent[:, :half] + spread * latent[:, half:]]), latent

    return _linear(rng, features, _coef(rng), 2000, regression=number % 3 == 2)


def powers(rng: np.random.Generator, number: int) -> Problem:
    """The powers of one variable up to the eighth, and labels that depend on a wave of it."""
    high = 1.0 + number % 3

    def fresh(count: int, rng: np.random.Generator) -> tuple[Array, Array]:
        x = rng.uniform(0.0 if number % 2 else -high, high, count)
        return x[:, None] ** np.arange(1, 9), _labels(3.0 * np.sin(2.5 * x), rng, number % 3 == 2)

    return Problem(*fresh(2000, rng), fresh, number % 3 == 2)


def heavy_tails(rng: np.random.Generator, number: int) -> Problem:
    """Features with a t distribution of 1.5 to 3 degrees of freedom."""
    freedom = 1.5 + 0.5 * (number % 4)

    def features(count: int, rng: np.random.Generator) -> tuple[Array, Array]:
        latent = rng.standard_t(freedom, (count, N_FEATURES))
        return latent, latent

    return _linear(rng, features, _coef(rng, 1.0), 3000, regression=number % 3 == 2)


def outlier_rows(rng: np.random.Generator, number: int) -> Problem:
    """One row in a hundred is a hundred times as large, with a label that depends on nothing."""

    def fresh(count: int, rng: np.random.Generator) -> tuple[Array, Array]:
        X = rng.standard_normal((count, N_FEATURES))
        y = two_classes(X @ coef, rng)
        far = rng.random(count) < 0.01
        X[far] *= 100.0
        y[far] = rng.integers(0, 2, int(far.sum()))
        return X, y

    coef = _coef(rng)
    return Problem(*fresh(1000 * (1 + number % 4), rng), fresh)


def rare_positives(rng: np.random.Generator, number: int) -> Problem:
    """About one row in a hundred is positive."""

    def features(count: int, rng: np.random.Generator) -> tuple[Array, Array]:
        latent = rng.standard_normal((count, N_FEATURES))
        return latent, latent

    return _linear(rng, features, _coef(rng, 1.5), 2000 * (1 + number % 4), shift=-5.5, regression=False)


def far_starts(rng: np.random.Generator, number: int) -> Problem:
    """A fit that starts from coefficients that are too large, have the wrong sign, or are random."""

    def features(count: int, rng: np.random.Generator) -> tuple[Array, Array]:
        latent = rng.standard_normal((count, N_FEATURES))
        return latent, latent

    coef = _coef(rng)
    starts = (1e6 * coef, 1e3 * coef, 30.0 * coef, 5.0 * coef, 3.0 * coef, -coef, 3.0 * rng.standard_normal(10))
    problem = _linear(rng, features, coef, 3000, regression=number % 3 == 2)
    return Problem(problem.X, problem.y, problem.fresh, problem.regression, start=starts[number % len(starts)])


def odd_units(rng: np.random.Generator, number: int) -> Problem:
    """Columns of sizes from 10⁻⁹ to 10⁹, some far from 0."""
    units, origins = 10.0 ** rng.uniform(-9.0, 9.0, N_FEATURES), rng.choice([0.0, 1.0, 1e4], N_FEATURES)

    def features(count: int, rng: np.random.Generator) -> tuple[Array, Array]:
        latent = rng.standard_normal((count, N_FEATURES))
        return units * (latent + origins), latent

    return _linear(rng, features, _coef(rng), 1000 * (1 + number % 4), regression=number % 3 == 2)


def few_rows(rng: np.random.Generator, number: int) -> Problem:
    """30 rows of ten columns."""

    def features(count: int, rng: np.random.Generator) -> tuple[Array, Array]:
        latent = rng.standard_normal((count, N_FEATURES))
        return latent, latent

    return _linear(rng, features, _coef(rng), 30, regression=number % 3 == 2)


def many_classes(rng: np.random.Generator, number: int) -> Problem:
    """Twenty or thirty classes."""
    coef = 1.5 * rng.standard_normal((N_FEATURES, 20 + 10 * (number % 2)))

    def fresh(count: int, rng: np.random.Generator) -> tuple[Array, Array]:
        X = rng.standard_normal((count, N_FEATURES))
        return X, (X @ coef + rng.gumbel(size=(count, coef.shape[1]))).argmax(axis=1).astype(float)

    return Problem(*fresh(2000 * (1 + number % 2), rng), fresh)


def sorted_rows(rng: np.random.Generator, number: int) -> Problem:
    """Rows sorted by label or by a column, shuffled by the fit or not."""

    def features(count: int, rng: np.random.Generator) -> tuple[Array, Array]:
        latent = rng.standard_normal((count, N_FEATURES))
        return latent, latent

    problem = _linear(rng, features, _coef(rng), 3000, regression=number % 3 == 2)
    order = np.argsort(problem.X[:, 0] if number % 4 == 3 else problem.y, kind="stable")
    options = {"shuffle": number % 2 == 0}
    return Problem(problem.X[order], problem.y[order], problem.fresh, problem.regression, options)


def repeated_rows(rng: np.random.Generator, number: int) -> Problem:
    """100 to 400 different rows, each ten to forty times."""

    def features(count: int, rng: np.random.Generator) -> tuple[Array, Array]:
        latent = rng.standard_normal((count, N_FEATURES))
        return latent, latent

    copies = 10 * (1 + number % 4)
    problem = _linear(rng, features, _coef(rng), 4000 // copies, regression=number % 3 == 2)
    return Problem(
        np.repeat(problem.X, copies, axis=0), np.repeat(problem.y, copies), problem.fresh, problem.regression
    )


def few_rows_of_many_columns(rng: np.random.Generator, number: int) -> Problem:
    """1,000 rows of 2,000 columns, of which few or all matter."""
    count, size = 2000, (4.0, 2.0, 1.0)[number % 3]
    coef = np.zeros(count)
    used = (count, count // 10)[number // 3 % 2]
    coef[:used] = size * rng.standard_normal(used) / np.sqrt(used)

    def features(count: int, rng: np.random.Generator) -> tuple[Array, Array]:
        latent = rng.standard_normal((count, coef.size))
        return latent, latent

    problem = _linear(rng, features, coef, 1000, regression=number % 4 == 3)
    return replace(problem, n_fresh=4000)


def sparse_columns(rng: np.random.Generator, number: int) -> Problem:
    """10,000 to 100,000 columns with ten entries a row: words, of which most are rare."""
    n_columns, size = (100_000, 30_000, 10_000)[number % 3], (4.0, 1.0, 2.0)[number % 3]
    shares = np.cumsum(np.arange(1.0, n_columns + 1) ** -0.7)
    coef, entries = size * rng.standard_normal(n_columns) / np.sqrt(10.0), 10
    numbers, regression = number // 3 % 2 == 1, number % 4 == 3

    def fresh(count: int, rng: np.random.Generator) -> tuple[Any, Array]:
        columns = np.searchsorted(shares, shares[-1] * rng.random(count * entries))
        values = rng.uniform(0.5, 2.0, columns.size) if numbers else np.ones(columns.size)
        X = sparse.csr_matrix((values, columns, np.arange(0, columns.size + 1, entries)), (count, n_columns))
        X.sum_duplicates()
        return X, _labels(X @ coef, rng, regression)

    return Problem(*fresh(1000 * (1 + number % 5), rng), fresh, regression)


#: Levels of the categories of a table, from few to many.
_LEVELS = (10, 300, 5000)


def _table_of_levels(rng: np.random.Generator, n_rows: int, regression: bool) -> Problem:
    """Categories whose levels have frequencies like 1/k and an effect each, and two numbers."""
    shares = [np.cumsum(1.0 / np.arange(1.0, count + 1)) for count in _LEVELS]
    effects = [0.7 * rng.standard_normal(count) for count in _LEVELS]

    def fresh(count: int, rng: np.random.Generator) -> tuple[Any, Array]:
        numbers = rng.standard_normal((count, 2))
        levels = [np.searchsorted(share, share[-1] * rng.random(count)) for share in shares]
        scores = 0.5 * numbers.sum(axis=1) + sum(own[k] for own, k in zip(effects, levels, strict=True))
        frame = pd.DataFrame(numbers, columns=["first", "second"])
        for size, k in zip(_LEVELS, levels, strict=True):
            frame[f"of {size}"] = pd.Categorical.from_codes(k, [f"level {j}" for j in range(size)])
        return frame, _labels(scores, rng, regression)

    return Problem(*fresh(n_rows, rng), fresh, regression)


def many_levels(rng: np.random.Generator, number: int) -> Problem:
    """A table with categories of 10, 300 and 5,000 levels, most of them rare."""
    return _table_of_levels(rng, (3000, 15_000, 60_000)[number % 3], regression=number % 4 == 3)


def sorted_files(rng: np.random.Generator, number: int) -> Problem:
    """Rows that are read in parts, in the order of the labels, a number, a level or a drift, or in none."""
    by, regression = ("label", "number", "level", "drift", "none")[number % 5], number % 3 == 2
    parts: Any = ("file", "batches")[number // 5 % 2]
    n_rows = 30_000 if parts == "file" else 150_000  # batches may be endless: a fit may end before it has read them
    if by == "level":
        problem = _table_of_levels(rng, n_rows, regression)
    else:
        bend = 2.5 if by == "number" else 0.0  # each part of the rows has another best line

        def features(count: int, rng: np.random.Generator) -> tuple[Any, Array]:
            X = rng.standard_normal((count, N_FEATURES))
            frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(N_FEATURES)])
            return frame, np.column_stack([X, bend * np.abs(X[:, 0])])

        problem = _linear(rng, features, np.append(_coef(rng, 1.0), 1.0), n_rows, regression=regression)
    X, y, noise = problem.X, problem.y, rng.standard_normal(len(problem.y))
    keys: dict[str, Callable[[], Any]] = {
        # Rows that are read once must show all classes at first.
        "label": lambda: y + (0.5 * noise if parts == "batches" else 0.0),
        "number": lambda: X["x0"],
        "level": lambda: X["of 300"].cat.codes,
        "drift": lambda: X.sum(axis=1) / np.sqrt(N_FEATURES) + 2.0 * noise,
        "none": lambda: np.zeros(y.size),
    }
    order = np.argsort(keys[by](), kind="stable")
    return replace(problem, X=X.iloc[order].reset_index(drop=True), y=y[order], parts=parts)


def raw_units(rng: np.random.Generator, number: int) -> Problem:
    """A named method on columns as they are, one of them hundreds of times as large as the others, with a long tail."""
    positive, factor = 0.38 + 0.07 * rng.random(), (20.0, 40.0, 60.0)[number % 3]

    def fresh(count: int, rng: np.random.Generator) -> tuple[Any, Array]:
        y = (rng.random(count) < positive).astype(float)
        X = rng.exponential(size=(count, N_FEATURES)) * np.where(y[:, None] == np.arange(N_FEATURES) % 2, 2.0, 1.0)
        X[:, -1] = factor * np.exp(1.5 * rng.standard_normal(count) + y)
        return X, X[:, 0] if number % 4 == 3 else y

    regression = number % 4 == 3
    options: dict[str, Any] = {} if regression else ({}, {"stop": "margin"}, {"solver": "isgd"})[number // 3 % 3]
    return Problem(*fresh(1000, rng), fresh, regression, options, named=True)


KINDS: dict[str, Callable[[np.random.Generator, int], Problem]] = {
    "ill-conditioned": ill_conditioned,
    "collinear": collinear,
    "powers of one variable": powers,
    "heavy tails": heavy_tails,
    "outlier rows": outlier_rows,
    "1 % positives": rare_positives,
    "far starts": far_starts,
    "tiny and huge units": odd_units,
    "30 rows, 10 columns": few_rows,
    "many classes": many_classes,
    "sorted rows": sorted_rows,
    "repeated rows": repeated_rows,
    "fewer rows than columns": few_rows_of_many_columns,
    "10⁴ to 10⁵ columns": sparse_columns,
    "named method, raw units": raw_units,
    "table with many levels": many_levels,
    "sorted file": sorted_files,
}


def problem_of(kind: str, number: int) -> Problem:
    """The problem of a kind with a number: always the same one."""
    return KINDS[kind](np.random.default_rng([list(KINDS).index(kind), number]), number)
