"""Source for arrays in memory."""

from collections.abc import Iterator, Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sgdone.matrices.masked_arrays import refuse_masked
from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.rows.bad_rows import label_fault
from sgdone.rows.row_order import in_order, shuffled
from sgdone.rows.rows import Rows, Scaling, frozen
from sgdone.rows.source import Block, Source

#: The largest sample weight must lie between the inverse of this and this: weights are multiplied by squares of values.
_LARGEST_WEIGHT = 1e150


@final
class ArraySource(Source):
    """Source for a matrix, its labels and optional sample weights.

    Parameters
    ----------
    X : ndarray, CSR matrix or MixedMatrix of float32 or float64
        C-contiguous if dense. It is neither copied nor modified.
    labels : array of float64
        −1 or 1 for classification, targets for regression.
    sample_weight : array of float64, optional
        Non-negative. Rows of weight 0 are skipped.
    shuffle : bool
        Whether to shuffle the rows before each pass.
    scaling : Scaling, optional
        Scaling applied to the rows.
    part_of_stream : bool
        Whether more rows may follow in later calls. The total number of rows is then unknown.
    frequency : float
        How many rows a row of weight 1 stands for.
    feature_names : sequence of str, optional
        Names of the columns, for messages.
    roles : array of int32, optional
        What each column is part of, as in `sgdone.rows.column_roles`.

    Examples
    --------
    >>> source = ArraySource(np.eye(3), np.array([1.0, -1.0, 1.0]), shuffle=False)
    >>> [block.order.tolist() for block in source.blocks(np.random.default_rng(0))]
    [[0, 1, 2]]
    """

    def __init__(
        self,
        X: Any,
        labels: NDArray[np.float64],
        sample_weight: NDArray[np.float64] | None = None,
        *,
        shuffle: bool = True,
        scaling: Scaling | None = None,
        part_of_stream: bool = False,
        frequency: float = 1.0,
        feature_names: Sequence[str] | None = None,
        roles: NDArray[np.int32] | None = None,
    ) -> None:
        _check(X, labels, sample_weight)
        self.in_memory = True
        self.rows = Rows.of(X, scaling, feature_names, roles)
        self.is_mixed = self.rows.storage == "mixed"
        self.labels = frozen(labels)
        self.sample_weight = frozen(np.ones(1) if sample_weight is None else sample_weight)
        self.shuffle = shuffle
        self.scaling = scaling
        self.part_of_stream = part_of_stream
        self.frequency = frequency
        self.feature_names = feature_names

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.rows.n_features

    @property
    def n_rows(self) -> int | None:
        """Number of rows; None if the matrix is part of a stream."""
        return None if self.part_of_stream else self.rows.n_rows

    def blocks(self, rng: np.random.Generator) -> Iterator[Block]:
        """Yield the blocks of one pass over the rows."""
        n_rows = self.rows.n_rows
        orders = shuffled(n_rows, rng) if self.shuffle else in_order(n_rows)
        for order in orders:
            yield Block(self.rows, self.labels, self.sample_weight, order.rows, order.upcoming)


def _check(X: Any, labels: NDArray[np.float64], sample_weight: NDArray[np.float64] | None) -> None:
    """Raise for arrays the compiled loops cannot read; the loops do not check dtypes or shapes."""
    for name, values in (("X", X), ("labels", labels), ("sample_weight", sample_weight)):
        refuse_masked(name, values)
    fits = sparse.issparse(X) or isinstance(X, MixedMatrix) or X.flags.c_contiguous
    if X.dtype not in (np.float64, np.float32) or X.ndim != 2 or not fits:
        raise ValueError("X must be a CSR matrix, a C-contiguous array or a MixedMatrix of float32 or float64")
    for name, array, sizes in (("labels", labels, {X.shape[0]}), ("sample_weight", sample_weight, {X.shape[0], 1})):
        if array is not None and (array.shape[0] not in sizes or array.ndim != 1 or array.dtype != np.float64):
            raise ValueError(
                f"{name} must be a float64 array of shape ({X.shape[0]},): found {array.dtype} of shape {array.shape}"
            )
    if X.shape[0] == 0:
        raise ValueError("X has no rows")
    if sample_weight is not None:
        _check_weights(sample_weight)
    # Not every loss notices: the slope of the hinge at a label of NaN is 0.
    bad = ~np.isfinite(labels)
    if sample_weight is not None:
        bad &= sample_weight != 0
    if bad.any():
        raise label_fault(labels, int(np.argmax(bad)))


def _check_weights(sample_weight: NDArray[np.float64]) -> None:
    """Raise for weights that are not finite or negative, and for weights whose products with rows leave the floats."""
    bad = np.flatnonzero(~((sample_weight >= 0) & (sample_weight < np.inf)))
    if bad.size:
        raise ValueError(f"sample_weight[{bad[0]}] is {sample_weight[bad[0]]:g}: weights must be finite and 0 or more")
    largest = float(sample_weight.max())
    if largest > _LARGEST_WEIGHT or 0 < largest < 1.0 / _LARGEST_WEIGHT:
        extreme = "large" if largest > 1 else "small"
        raise ValueError(
            f"the sample weights are too {extreme} for floating-point arithmetic: the largest is {largest:.3g}. "
            "Divide all of them by a common factor, for example the largest"
        )
