"""Kinds of labels: which are missing, and which cannot be compared with each other."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgdone.message_text import RowError
from sgdone.readers.table import shortened


def is_missing(label: Any) -> bool:
    """Whether a label is None, NaN, NaT or ``pandas.NA``.

    Examples
    --------
    >>> [is_missing(label) for label in (None, float("nan"), np.datetime64("NaT"), 0, "")]
    [True, True, True, False, False]
    """
    if label is None or type(label).__name__ == "NAType":
        return True
    try:
        return bool(label != label)
    except (TypeError, ValueError):  # an array
        return False


def check_labels(y: Any, name: str = "y") -> None:
    """Raise a ValueError for labels that are missing, or of kinds that cannot be compared; it names the rows.

    Labels of more dimensions than one are left for others to refuse.
    """
    if isinstance(y, (list, tuple)):
        labels: Sequence[Any] = y
        if any(isinstance(label, (list, tuple, np.ndarray)) for label in labels):
            return
    else:
        array = np.asarray(y)
        check_finite_labels(array, name)
        if array.dtype != object or array.ndim != 1:
            return
        labels = array.tolist()
    kinds: dict[str, int] = {}
    # The usual case takes little time: all labels have the same type.
    if set(map(type, labels)) not in ({str}, {int}, {bool}):
        for row, label in enumerate(labels):
            if is_missing(label):
                raise RowError(f"Input {name} contains NaN: the label of ", row, f" is {label}, drop the row")
            kinds.setdefault(_kind(label), row)
    for kind, row in kinds.items():
        if kind not in ("text", "number"):
            label = shortened(repr(labels[row]))
            raise RowError("the label of ", row, f" of {name} is {label} ({kind}): use text or numbers")
    if len(kinds) > 1:
        found = " and ".join(f"{shortened(repr(labels[row]))} in row {row}" for row in kinds.values())
        raise ValueError(f"{name} holds labels of different types, {found}: convert all of them to text or to numbers")
    _check_integers(labels, name)


def as_classes(y: NDArray[Any]) -> NDArray[Any]:
    """Convert class labels that are integer-valued floats, as in svmlight files, to integers.

    Examples
    --------
    >>> as_classes(np.array([1.0, -1.0])), as_classes(np.array([0.5]))
    (array([ 1, -1]), array([0.5]))
    """
    if y.dtype.kind == "f" and np.all(y == np.rint(y)) and np.all(np.abs(y) < 2**53):
        return y.astype(np.int64)
    return y


def check_finite_labels(y: NDArray[Any], name: str = "y") -> None:
    """Raise a ValueError that names the first label which is NaN or infinite."""
    if y.dtype.kind == "f" and y.ndim == 1 and not np.all(np.isfinite(y)):
        row = int(np.argmin(np.isfinite(y)))
        found = "NaN" if np.isnan(y[row]) else "infinity"
        after = f" is {y[row]}, correct or drop the row"
        raise RowError(f"Input {name} contains {found}: the label of ", row, after)


def _kind(label: Any) -> str:
    """``text``, ``number`` or the name of another type."""
    if isinstance(label, str):
        return "text"
    return "number" if isinstance(label, (int, float, np.number, np.bool_)) else type(label).__name__


def _check_integers(labels: Sequence[Any], name: str) -> None:
    """Raise for integers that arrays cannot hold, or that become floats which are not the same."""
    large = [row for row, label in enumerate(labels) if isinstance(label, int) and not -(2**53) <= label <= 2**53]
    if not large:
        return
    integers = all(isinstance(label, (int, np.integer)) for label in labels)
    if integers and any(low <= min(labels) and max(labels) < high for low, high in ((-(2**63), 2**63), (0, 2**64))):
        return
    for row in large:
        if integers or abs(labels[row]) >= 2**1023 or int(float(labels[row])) != labels[row]:
            raise ValueError(f"the integer that is the label of row {row} of {name} has too many digits: use text")
