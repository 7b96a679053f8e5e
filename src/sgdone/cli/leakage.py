"""Columns that predict the label almost alone: they may be known only after it is.

Each column is judged by itself, on a sample of the rows:

- two classes: the area under the ROC curve, of the values of a number or date, or of the share of the second class
  among the rows with the same level or, if there are few, the same number;
- more classes: how many rows are guessed right by the level's most frequent class, or by the row whose number is next;
- regression: the squared correlation of values, or of ranks if it is nearly 1, or R² of the means of the levels.

Shares, means and neighbours come from the other half of the rows, so that levels of a single row predict nothing.
Missing values are a level, or a number below all others. Texts are not judged: predicting from them is the task.

A column is named if its AUC is 0.999 or more, if it avoids 99.8 % of the errors of guessing the most frequent class, or
if its R² is 0.998 or more. In a regression a column with an R² of 0.9 or more is also named if the model is exact (R²
of 0.9999 or more): labels that are measured are never quite predictable, but sums are, from their parts.
"""

import shlex
from dataclasses import asdict, dataclass
from typing import Any, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sgdone.cli.console import printable
from sgdone.cli.scores import area_under_roc, average_ranks
from sgdone.fit.fitted_model import FittedModel
from sgdone.losses.learning_task import Task
from sgdone.readers.table import Table
from sgdone.tables.cell_values import LevelValues
from sgdone.tables.date_values import DateValues
from sgdone.tables.string_cells import arrow_of

#: Above these a column predicts almost without error.
LEAST_AUC, LEAST_AVOIDED, LEAST_R2 = 0.999, 0.998, 0.998
#: A column of this R² is named beside a model of that R².
PART_R2, EXACT_R2 = 0.9, 0.9999
#: Rows and values that are examined at most: what is nearly perfect is so in a sample.
MOST_ROWS, MOST_VALUES = 20_000, 4_000_000
#: Columns that are examined at most, the first ones of the table: each takes up to half a millisecond.
MOST_COLUMNS = 4_000
#: Fewest rows that are not of the most frequent class; of fewer, many a column tells them apart by chance.
FEWEST_OTHERS = 20
#: Numbers of at most this many different values are judged as levels too.
FEW_VALUES = 100
#: Cells of a table of levels and classes at most.
_MOST_CELLS = 10_000_000

Floats = NDArray[np.float64]


@final
@dataclass(frozen=True)
class Leak:
    """A column, what it predicts, and how well."""

    column: str
    label: str
    measure: str
    value: float

    def sentence(self) -> str:
        """Warning in words: the column, its measure, and advice."""
        column, label = printable(self.column), printable(self.label)
        if self.measure == "R²" and self.value < LEAST_R2:
            what = f"alone explains {self.value:.0%} of {label}, and all columns together explain it exactly"
        else:
            what = f"alone predicts {label} almost without error ({self.measure} {self.value:.4f})"
        drop = f"--drop {shlex.quote(self.column)}"
        return f"{column} {what}: if it is not known before {label} is, drop it with {drop}"

    def as_json(self) -> dict[str, Any]:
        """The column, label, measure, value and sentence as a dict."""
        return asdict(self) | {"sentence": self.sentence()}


def possible_leaks(model: FittedModel, rows: Table, task: Task, seed: int, r2: float = 0.0) -> list[Leak]:
    """Columns of a table that predict the label almost alone; ``r2`` is that of the whole model."""
    encoder = model.encoder_
    if encoder is None or not isinstance(rows.X, pa.Table) or len(encoder.plans_) < 2:
        return []
    plans = encoder.plans_[:MOST_COLUMNS]
    n_rows = min(rows.n_rows, MOST_ROWS, max(2_000, MOST_VALUES // len(plans)))
    sample = np.sort(np.random.default_rng(seed).choice(rows.n_rows, n_rows, replace=False))
    judge = _Judge.of(rows.labels[sample], task, seed)
    if judge is None:
        return []
    table = rows.X.select([plan.encoder.name for plan in plans]).take(arrow_of(sample))
    found = []
    for plan in plans:
        name = plan.encoder.name
        value = judge.value(plan.read(table.column(name)).values)
        if value >= judge.threshold(r2):
            found.append(Leak(name, rows.label_name or "the label", judge.measure, value))
    return found


@final
@dataclass(frozen=True)
class _Judge:
    """Measures how well a column alone predicts the labels."""

    #: Numbers of classes, or the labels of a regression, which has 0 classes.
    target: Floats
    n_classes: int
    #: The rows of one half.
    half: NDArray[np.bool_]

    @classmethod
    def of(cls, labels: NDArray[Any], task: Task, seed: int) -> "_Judge | None":
        """None if the labels are too few, or nearly constant."""
        half = np.random.default_rng([seed, 1]).random(labels.size) < 0.5
        if task == "regression":
            target, n_classes = labels.astype(np.float64), 0
            others = np.count_nonzero(target != np.median(target))
        else:
            classes, numbers = np.unique(labels, return_inverse=True)
            target, n_classes = numbers.astype(np.float64), classes.size
            others = labels.size - np.bincount(numbers).max()
        return cls(target, n_classes, half) if others >= FEWEST_OTHERS else None

    @property
    def measure(self) -> str:
        """Name of the measure."""
        return {0: "R²", 2: "AUC"}.get(self.n_classes, "accuracy")

    def threshold(self, r2: float) -> float:
        """The value from which on a column is named, if the model's own R² is ``r2``."""
        if self.n_classes == 0:
            return PART_R2 if r2 >= EXACT_R2 else LEAST_R2
        if self.n_classes == 2:
            return LEAST_AUC
        most = np.bincount(self.target.astype(np.int64)).max() / self.target.size
        return float(1.0 - (1.0 - LEAST_AVOIDED) * (1.0 - most))

    def value(self, values: Any) -> float:
        """AUC, accuracy or R² of a column as its encoder reads it; 0 for texts."""
        if isinstance(values, LevelValues):
            return self._of_levels(values.codes + 1)
        if isinstance(values, DateValues):
            return self._of_numbers(values.days())
        return self._of_numbers(values) if isinstance(values, np.ndarray) else 0.0

    def _of_numbers(self, values: Floats) -> float:
        missing = np.isnan(values)
        low, high = (0.0, 0.0) if missing.all() else (float(np.nanmin(values)), float(np.nanmax(values)))
        numbers = np.where(missing, low - (high - low) - 1.0, values)
        distinct, codes = np.unique(numbers, return_inverse=True)
        of_levels = self._of_levels(codes) if distinct.size <= FEW_VALUES else 0.0
        if self.n_classes > 2:
            return max(of_levels, float(np.mean(self._next_to(numbers) == self.target)))
        if self.n_classes == 2:
            alone = area_under_roc(self.target == 1, numbers)
            return max(of_levels, alone, 1.0 - alone)
        of_ranks = _squared_correlation(average_ranks(numbers), average_ranks(self.target))
        return max(of_levels, _squared_correlation(numbers, self.target), of_ranks if of_ranks >= LEAST_R2 else 0.0)

    def _of_levels(self, codes: NDArray[np.integer]) -> float:
        if self.n_classes > 2:
            if (int(codes.max()) + 1) * self.n_classes > _MOST_CELLS:
                return 0.0
            return float(np.mean(self._class_of_level(codes) == self.target))
        means = np.empty(self.target.size)
        for rows in (self.half, ~self.half):
            count = np.bincount(codes[~rows], minlength=codes.max() + 1)
            total = np.bincount(codes[~rows], weights=self.target[~rows], minlength=codes.max() + 1)
            # An unseen level has the mean of all; one row of that weight hardly matters to others.
            means[rows] = ((total + self.target.mean()) / (count + 1))[codes[rows]]
        if self.n_classes == 2:
            return area_under_roc(self.target == 1, means)
        spread = np.sum((self.target - self.target.mean()) ** 2)
        return float(1.0 - np.sum((self.target - means) ** 2) / spread)

    def _class_of_level(self, codes: NDArray[np.integer]) -> Floats:
        """The most frequent class of the level in the other half."""
        guesses = np.empty(self.target.size)
        for rows in (self.half, ~self.half):
            counts = np.zeros((int(codes.max()) + 1, self.n_classes))
            np.add.at(counts, (codes[~rows], self.target[~rows].astype(np.int64)), 1)
            guesses[rows] = np.where(counts.any(axis=1), counts.argmax(axis=1), -1)[codes[rows]]
        return guesses

    def _next_to(self, numbers: Floats) -> Floats:
        """The class of the row of the other half whose number is next."""
        guesses = np.empty(self.target.size)
        for rows in (self.half, ~self.half):
            order = np.argsort(numbers[~rows], kind="stable")
            known, classes = numbers[~rows][order], self.target[~rows][order]
            if not known.size:
                return np.full(self.target.size, -1.0)
            after = np.minimum(np.searchsorted(known, numbers[rows]), known.size - 1)
            before = np.maximum(after - 1, 0)
            nearer = numbers[rows] - known[before] < known[after] - numbers[rows]
            guesses[rows] = classes[np.where(nearer, before, after)]
        return guesses


def _squared_correlation(first: Floats, second: Floats) -> float:
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        first, second = first - first.mean(), second - second.mean()
        found = (first @ second) ** 2 / ((first @ first) * (second @ second))
    return float(found) if np.isfinite(found) else 0.0
