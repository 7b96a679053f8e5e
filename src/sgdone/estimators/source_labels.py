"""Labels of rows that are read in parts."""

from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.estimators.sample_weights import with_class_weight
from sgdone.message_text import RowError
from sgdone.readers.table import Table, reads_as_number, shortened

Array = NDArray[np.float64]

#: Classes up to which labels are compared with each.
_FEW_CLASSES = 32


class NewClassError(ValueError):
    """Raised for a label that none of the first rows has."""


@final
class ClassNumbers:
    """Labels of known classes as the loops need them: −1 and 1, or class numbers."""

    def __init__(self, classes: NDArray[Any], class_weight: Any) -> None:
        self.classes, self._class_weight = classes, class_weight

    def __call__(self, table: Table, first: int) -> tuple[Array, Array | None]:
        """Labels and weights of the rows of a table, which begins at row ``first``."""
        labels = labels_of(table, first)
        numbers = self._numbers(labels, table, first)
        weights = with_class_weight(self._class_weight, table.weights, self.classes, numbers)
        if self.classes.size == 2:
            return np.where(numbers == 1, 1.0, -1.0), weights
        return numbers.astype(np.float64), weights

    def _numbers(self, labels: NDArray[Any], table: Table, first: int) -> NDArray[np.intp]:
        if self.classes.size <= _FEW_CLASSES:
            numbers = np.full(labels.size, -1, dtype=np.intp)
            for k, label in enumerate(self.classes):
                numbers[labels == label] = k
            unknown = numbers < 0
        else:
            numbers = np.minimum(np.searchsorted(self.classes, labels), self.classes.size - 1)
            unknown = self.classes[numbers] != labels
        if unknown.any():
            row = int(np.argmax(unknown))
            place = f"row {first + row:,}" if table.place is None else table.place(row)
            raise NewClassError(
                f"{place} has the label {labels[row].item()!r}, which none of the first rows has: they "
                f"have {', '.join(map(repr, self.classes.tolist()[:10]))}"
            )
        return numbers


def targets(table: Table, first: int) -> tuple[Array, Array | None]:
    """Targets and weights of the rows of a table."""
    labels = labels_of(table, first)
    try:
        found = labels.astype(np.float64)  # numbers are text if a later label is
    except ValueError:
        texts = labels.tolist()
        row = next((row for row, text in enumerate(texts) if not reads_as_number(str(text))), 0)
        raise RowError("the label of ", row, f" is {shortened(repr(texts[row]))}: a regression needs numbers") from None
    if not np.all(np.isfinite(found)):
        row = int(np.argmin(np.isfinite(found)))
        raise RowError("the label of ", row, f" is {found[row]}: drop the row")
    return found, table.weights


def labels_of(table: Table, first: int) -> NDArray[Any]:
    """The labels, which must be there."""
    if table.y is None:
        raise ValueError(f"rows from {first:,} on have no labels: name their column with label=")
    return table.y
