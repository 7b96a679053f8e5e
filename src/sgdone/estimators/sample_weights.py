"""The weights of rows, checked and combined."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgdone.losses.loss import real_or_nan
from sgdone.rows.cells import refuse_masked
from sgdone.rows.source import LEAST_ROWS, MOST_ROWS


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
    """Sample weights of a fit in which a weight of 2 is the same as the row twice.

    Parameters
    ----------
    weights : ndarray or None
        Divided by their mean over the rows of positive weight; None if all are equal to 1.
    mean : float
        That mean: what a weight of 1 stands for.
    note : str
        What the verdict says about them; empty if there is nothing to say.
    """

    weights: NDArray[np.float64] | None
    mean: float = 1.0
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
