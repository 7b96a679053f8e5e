"""Labels of any kind as class numbers."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from sgdone.message_text import shortened
from sgdone.rows.labels import check_labels
from sgdone.tables.arrow_arrays import numpy_of

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
