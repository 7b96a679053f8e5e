"""Labels of any kind as numbers, and the weights of rows and classes."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from sgdone.losses.loss import real_or_nan
from sgdone.message_text import RowError, shortened
from sgdone.readers.table import Table, reads_as_number
from sgdone.readers.table import shortened as shortened_text
from sgdone.rows.faults import check_labels, refuse_masked
from sgdone.rows.source import LEAST_ROWS, MOST_ROWS
from sgdone.tables.string_cells import numpy_of


def check_sample_weight(sample_weight: ArrayLike | None, n_rows: int) -> NDArray[np.float64] | None:
    """One finite, non-negative weight a row, not all of them zero; a single number stands for all rows."""
    if sample_weight is None:
        return None
    refuse_masked("sample_weight", sample_weight)
    try:
        weight = np.array(sample_weight, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"sample_weight cannot be read as numbers: {error}") from error
    if weight.ndim == 0:
        weight = np.full(n_rows, float(weight))
    if weight.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar: sample_weight has shape {weight.shape}")
    if weight.size != n_rows:
        raise ValueError(
            f"sample_weight has {weight.size} entries for {n_rows} rows of X (sample_weight.shape == {weight.shape}, "
            f"expected {(n_rows,)}!)"
        )
    bad = np.flatnonzero(~(weight >= 0) | np.isinf(weight))
    if bad.size:
        found = weight[bad[0]]
        what = "negative" if found < 0 else "not finite"
        raise ValueError(f"sample_weight[{bad[0]}] is {found:g}, which is {what}: weights must be 0 or more")
    if not weight.any():
        raise ValueError("all sample weights are zero: there is nothing to fit; give some row a positive weight")
    return weight


def refuse_balanced(class_weight: Any) -> None:
    """Raise a ValueError for weights that are not known before the last row of a stream."""
    if isinstance(class_weight, str) and class_weight == "balanced":
        raise ValueError(
            "class_weight='balanced' needs all labels at once: compute the weights with "
            "sklearn.utils.class_weight.compute_class_weight and pass them as a dict"
        )


def with_class_weight(
    class_weight: Any,
    weight: NDArray[np.float64] | None,
    classes: NDArray[Any],
    numbers: NDArray[np.integer[Any]],
) -> NDArray[np.float64] | None:
    """Sample weights times the weights of the rows' classes."""
    if class_weight is None:
        return weight
    if isinstance(class_weight, str) and class_weight == "balanced":
        per_class = _balanced(weight, classes.size, numbers)
    else:
        per_class = _given(class_weight, classes.tolist())
    rows = per_class[numbers]
    with np.errstate(over="ignore"):
        combined: NDArray[np.float64] = rows if weight is None else rows * weight
    large = np.flatnonzero(np.isinf(combined))
    if large.size:
        raise ValueError(
            f"the weight of row {large[0]} times that of its class is too large for a float: divide all weights by a "
            "common factor"
        )
    return check_sample_weight(combined, numbers.size)


def class_weight_values(class_weight: Any, classes: NDArray[Any], sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """The weight of each class, from the sums of sample weights of the classes.

    Examples
    --------
    >>> class_weight_values("balanced", np.array(["a", "b"]), np.array([30.0, 10.0]))
    array([0.66666667, 2.        ])
    """
    if isinstance(class_weight, str) and class_weight == "balanced":
        return np.asarray(sums.sum() / (sums.size * sums))
    return _given(class_weight, classes.tolist())


@final
@dataclass(frozen=True)
class Frequencies:
    """Sample weights of a fit in which a weight of 2 is the same as the row twice."""

    #: Divided by their mean over the rows of positive weight; None if all are equal to 1.
    weights: NDArray[np.float64] | None
    #: That mean: what a weight of 1 stands for.
    mean: float = 1.0
    #: What the verdict says about them; empty if there is nothing to say.
    note: str = ""

    @classmethod
    def of(cls, weight: NDArray[np.float64] | None) -> "Frequencies":
        """Weights whose sum is not between 1 and 1e15 cannot be numbers of rows: only their ratios are used.

        A weight too small beside the largest for any float becomes 0: its row has no influence.

        Examples
        --------
        >>> Frequencies.of(np.array([1.0, 3.0, 0.0]))
        Frequencies(weights=array([0.5, 1.5, 0. ]), mean=2.0, note='')
        >>> Frequencies.of(np.array([1e-310, 3e-310, 0.0])).mean
        1.0
        """
        if weight is None:
            return cls(None)
        # By a power of two first, which is exact: the sum of large weights would overflow.
        power = int(np.frexp(weight.max())[1])
        scaled = np.ldexp(weight, -power)
        mean, total = float(scaled[scaled > 0].mean()), float(scaled.sum())
        with np.errstate(over="ignore", under="ignore"):
            total, unit = float(np.ldexp(total, power)), float(np.ldexp(mean, power))
        if LEAST_ROWS <= total <= MOST_ROWS:
            return cls(scaled / mean, unit)
        note = f"the sample weights, which sum to {total:.3g}, are no numbers of rows and were divided by their mean"
        return cls(scaled / mean, 1.0, note)


def _given(class_weight: Any, classes: list[Any]) -> NDArray[np.float64]:
    """The weights of the classes from a dict, 1 if not named.

    A label that does not occur is taken for a mistake, unless all that do are named: it may be in other data.
    """
    if not isinstance(class_weight, dict):
        raise ValueError(f'class_weight={class_weight!r}: give a dict of class weights, "balanced" or None')
    unknown = [label for label in class_weight if label not in classes]
    if unknown and not all(label in class_weight for label in classes):
        raise ValueError(f"class_weight names {unknown[0]!r}, which is not one of the classes {classes}")
    for label, value in class_weight.items():
        if not 0 <= real_or_nan(value) < float("inf"):
            raise ValueError(f"class_weight[{label!r}] is {value!r}: give a number, 0 or more")
    return np.array([class_weight.get(label, 1.0) for label in classes], dtype=np.float64)


def _balanced(
    weight: NDArray[np.float64] | None, n_classes: int, numbers: NDArray[np.integer[Any]]
) -> NDArray[np.float64]:
    """Weights that make the classes equally heavy; a class without rows of positive weight is not counted."""
    from sklearn.utils.class_weight import compute_class_weight  # most fits do not wait for scikit-learn

    used = slice(None) if weight is None else weight > 0
    present = np.unique(numbers[used])
    per_class = np.zeros(n_classes)
    per_class[present] = compute_class_weight(
        "balanced", classes=present, y=numbers[used], sample_weight=None if weight is None else weight[used]
    )
    return per_class


def count_positive(weight: NDArray[np.float64] | None, n_rows: int) -> int:
    """Rows of positive weight."""
    return n_rows if weight is None else int(np.count_nonzero(weight))


_PEEK = 1000


def encode(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.integer[Any]]]:
    """The classes, sorted, and the number of each label's class.

    Two classes of numbers that both occur among the first rows, and strings, are settled without sorting the labels.
    """
    y = plain_labels(y)
    found = _encode_strings(y) if y.dtype == object else None
    if found is not None:
        return found
    if y.dtype.kind in "biuf":
        few = np.unique(y[:_PEEK])
        if few.size == 2 and _whole(few):
            second = y == few[1]
            if np.count_nonzero(second) + np.count_nonzero(y == few[0]) == y.size:
                return few, second.view(np.int8)
    whole_or_text = y.dtype.kind in "biuU"
    if not whole_or_text:
        _check_targets(y)
    classes, numbers = np.unique(y, return_inverse=True)
    if whole_or_text and 2 * classes.size > y.size:
        _check_targets(y)
    return classes, numbers.reshape(-1)


def _check_targets(y: NDArray[Any]) -> None:
    """Raise for labels that are no classes, and warn of nearly as many classes as rows, as scikit-learn does."""
    from sklearn.utils.multiclass import check_classification_targets

    with np.errstate(invalid="ignore"):  # scikit-learn converts numbers of any size to integers and compares
        check_classification_targets(y)


def _encode_strings(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.integer[Any]]] | None:
    """The same for objects that are all strings; None for others."""
    if y.ndim != 1 or set(map(type, y.tolist())) != {str}:
        return None
    try:
        coded = pa.array(y, pa.large_string()).dictionary_encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return None
    classes = np.array(coded.dictionary.to_pylist(), dtype=object)
    order = np.argsort(classes)
    places = np.empty(order.size, dtype=np.intp)
    places[order] = np.arange(order.size)
    return classes[order], places[numpy_of(coded.indices)]


def known_classes(classes: ArrayLike | None, first: NDArray[Any] | None) -> NDArray[Any]:
    """The classes of a stream, sorted: those of the first call, which later calls may repeat but not change."""
    if classes is not None:
        check_labels(classes, "classes")
        if np.ndim(classes) != 1:
            raise ValueError(f"classes must be a list or 1-dimensional array of labels; got {shortened(classes)}")
    known = first if classes is None else np.unique(np.asarray(classes))
    if known is None:
        raise ValueError("classes must be passed on the first call to partial_fit: all labels that will come")
    if first is not None and not np.array_equal(known, first):
        raise ValueError(f"classes={np.asarray(classes).tolist()} differs from the first call's {first.tolist()}")
    return known if first is None else first


def encode_known(y: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.integer[Any]]:
    """The number of each label's class among known classes."""
    y = plain_labels(y)
    try:
        unknown = np.setdiff1d(np.unique(y), classes).tolist()
    except TypeError as error:
        raise ValueError(f"the labels in y are of kinds that cannot be compared with the classes ({error})") from error
    if unknown:
        shown = ", ".join(repr(label) for label in classes.tolist())
        raise ValueError(f"y holds the label {shortened(unknown[0])}, which is not one of the classes ({shown})")
    return np.searchsorted(classes, y)


def signs(numbers: NDArray[np.integer[Any]], positive: int) -> NDArray[np.float64]:
    """1 for one class, −1 for the rest."""
    return np.where(numbers == positive, 1.0, -1.0)


def check_classes(classes: NDArray[Any], numbers: NDArray[np.integer[Any]], weight: NDArray[np.float64] | None) -> None:
    """Raise a ValueError for a single class in the labels or among the rows of positive weight."""
    if classes.size < 2:
        raise ValueError(
            f"y holds one class only ({shortened(classes.tolist()[0])}): a classifier needs rows of two classes or more"
        )
    if weight is not None:
        present = np.bincount(numbers, weights=weight > 0, minlength=classes.size) > 0
        if present.sum() < 2:
            raise ValueError(
                f"only the class {classes[present].tolist()[0]!r} has rows of positive weight: "
                "a classifier needs two classes or more"
            )


def plain_labels(y: NDArray[Any]) -> NDArray[Any]:
    """Numbers that came as objects, in a column of a data frame say, as numbers."""
    if y.dtype == object and not any(isinstance(label, str) for label in y[:1]):
        plain = np.array(y.tolist())
        return plain if plain.ndim == 1 and plain.dtype.kind in "biuf" else y
    return y


def _whole(values: NDArray[Any]) -> bool:
    return values.dtype.kind != "f" or bool(np.all(np.isfinite(values)) and np.all(values == np.rint(values)))


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
        raise RowError(
            "the label of ", row, f" is {shortened_text(repr(texts[row]))}: a regression needs numbers"
        ) from None
    if not np.all(np.isfinite(found)):
        row = int(np.argmin(np.isfinite(found)))
        raise RowError("the label of ", row, f" is {found[row]}: drop the row")
    return found, table.weights


def labels_of(table: Table, first: int) -> NDArray[Any]:
    """The labels, which must be there."""
    if table.y is None:
        raise ValueError(f"rows from {first:,} on have no labels: name their column with label=")
    return table.y
