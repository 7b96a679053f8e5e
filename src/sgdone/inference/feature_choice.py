"""Choice of features of encoded rows, with indicators of rows that have none of a set of features."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sgdone.inference.level_facts import level_codes
from sgdone.matrices.mixed_matrix import MixedMatrix

Numbers = NDArray[np.intp]


@final
@dataclass(frozen=True)
class FeatureChoice:
    """Features of a summary, in terms of those of the model.

    Parameters
    ----------
    kept : ndarray of int
        Features of the model, in ascending order.
    others : list of ndarray
        Sets of features: a feature for each marks the rows that have none of them. They come last.
    """

    kept: Numbers
    others: list[Numbers]

    def rows(self, X: Any) -> Any:
        """Encoded rows with these features; dense columns are not copied unless some are left out."""
        if not isinstance(X, MixedMatrix):
            all_kept = self.kept.size == X.shape[1] and not self.others
            return X if all_kept else _sparse_columns(X, self.kept, self._extra(X))
        dense = X.dense
        own = self.kept[self.kept < X.n_dense]
        if own.size < X.n_dense:
            dense = np.ascontiguousarray(dense[:, own])
        entries = _sparse_columns(X.sparse, self.kept[own.size :] - X.n_dense, self._extra(X))
        if not entries.shape[1]:
            return dense
        return MixedMatrix(dense, entries) if dense.shape[1] else entries

    def _extra(self, X: Any) -> list[NDArray[np.bool_]]:
        """Rows without any feature of each set."""
        if not self.others:
            return []
        codes = level_codes(X, self.others)
        return [own == features.size for own, features in zip(codes, self.others, strict=True)]


def _sparse_columns(X: Any, columns: Numbers, extra: Sequence[NDArray[np.bool_]]) -> Any:
    """Columns of a CSR matrix, and after them an indicator of the rows of each of ``extra``."""
    chosen = X if columns.size == X.shape[1] else X[:, columns]
    parts = [chosen, *(sparse.csr_array(rows[:, None].astype(X.dtype)) for rows in extra)]
    return sparse.csr_array(chosen if not extra else sparse.hstack(parts, format="csr"))
