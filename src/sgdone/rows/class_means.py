"""Class means and within-class variance, estimated from the first rows: Baghal et al. (2021), section 5."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgdone.rows.rows import Block

#: Default number of rows used for the estimates. They are used for training too.
SAMPLES = 100
#: Relative variance below which equal values differ only by rounding of their mean.
_ROUNDING = (8 * np.finfo(np.float64).eps) ** 2


def centre_of_classes(block: Block) -> NDArray[np.float64]:
    """Midpoint of the two class means."""
    with np.errstate(over="ignore", invalid="ignore"):
        return sum((_mean(X) for X in _by_class(block, SAMPLES)), np.zeros(block.rows.n_features)) / 2.0


def scale_of_classes(block: Block, samples: int = SAMPLES) -> float:
    """σ̃²: mean of ‖x − μ̃‖² over a class with mean μ̃, averaged over the two classes."""
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.mean([_spread(X) for X in _by_class(block, samples)]))


def _by_class(block: Block, samples: int) -> list[Any]:
    """First rows of a block, split by label; more than ``samples`` if one class appears later."""
    used = block.used(0, block.order.size)
    labels = block.labels[used]
    if not np.all(np.abs(labels) == 1.0):
        raise ValueError("this step size and center=True need classification with two classes")
    firsts = [np.flatnonzero(labels == sign)[:1] for sign in (-1.0, 1.0)]
    if not all(first.size for first in firsts):
        raise ValueError(
            f"the first {used.size:,} rows contain only one class, but the means of both classes are needed. "
            "Shuffle the rows, or use center=False and another step size"
        )
    count = max(samples, *(int(first[0]) + 1 for first in firsts))
    labels = labels[:count]
    return [_scaled(block, used[:count][labels == sign]) for sign in (-1.0, 1.0)]


def _scaled(block: Block, rows: NDArray[np.uint64]) -> Any:
    """Rows of a block as float64, divided by the scale. The shift cancels in differences, so it is not applied."""
    X, scaling = block.rows.matrix(rows).astype(np.float64), block.rows.scaling
    if scaling is None:
        return X
    factors = (1.0 / scaling.scale)[None, :]
    return X * factors if isinstance(X, np.ndarray) else X.multiply(factors).tocsr()


def _mean(X: Any) -> NDArray[np.float64]:
    mean: NDArray[np.float64] = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
    return mean


def _spread(X: Any) -> float:
    """Mean of ‖x − mean‖²; for sparse rows, stored entries and implicit zeros are summed separately. 0 if rounding."""
    mean = _mean(X)
    if isinstance(X, np.ndarray):
        spread = float(np.mean(np.sum((X - mean) ** 2, axis=1)))
    else:
        zeros = 1.0 - np.bincount(X.indices, minlength=mean.size) / X.shape[0]
        spread = float(np.sum((X.data - mean[X.indices]) ** 2) / X.shape[0] + mean**2 @ zeros)
    return 0.0 if spread <= _ROUNDING * float(mean @ mean) else spread
