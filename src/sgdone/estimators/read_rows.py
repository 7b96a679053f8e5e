"""Rows and labels as the readers of files return them, checked without scikit-learn."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sgdone.tables.string_cells import numpy_of


class ReadRows:
    """Checks of rows and labels that were read from files or named data sets; not for users.

    They are arrays, sparse matrices and Arrow tables of numbers. The public estimators take whatever scikit-learn does,
    and replace these methods by its own checks.
    """

    #: The name of the estimator in messages and files.
    public_name: ClassVar[str]
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def _check_numbers(self, X: Any, *y: Any, types: Sequence[Any], reset: bool, numeric: bool = False) -> Any:
        """Rows as a C-contiguous array or a CSR matrix of the first of ``types``, or the one they have; and labels."""
        refuse_empty(X.shape)
        self._check_features(X, reset=reset)
        is_known = not isinstance(X, pa.Table) and X.dtype in types
        if hasattr(X, "tocsr"):
            rows = X.tocsr() if is_known else X.tocsr().astype(types[0])
        elif isinstance(X, pa.Table):
            rows = np.column_stack([numpy_of(column).astype(types[0], copy=False) for column in X.columns])
        else:
            rows = np.asarray(X, dtype=None if is_known else types[0], order="C")
        return (rows, *(self._check_labels(own, X.shape[0], numeric=numeric) for own in y)) if y else rows

    def _check_features(self, X: Any, *, reset: bool) -> None:
        """Keep the number of columns, and their names, or compare them with those of the fit."""
        names = np.array(X.column_names, dtype=object) if isinstance(X, pa.Table) else None
        if reset:
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)
            if names is not None:
                self.feature_names_in_ = names
            return
        if X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but {self.public_name} is expecting {self.n_features_in_} features as "
                "input"
            )
        known = getattr(self, "feature_names_in_", None)
        if names is not None and known is not None and not np.array_equal(names, known):
            raise ValueError("the columns of X have other names, or another order, than those of the fit")

    def _check_labels(self, y: Any, n_rows: int, *, numeric: bool = False) -> NDArray[Any]:
        """One label for each row."""
        labels = np.asarray(y)
        check_lengths(n_rows, labels.size)
        return labels.astype(np.float64) if numeric and labels.dtype == object else labels


def refuse_empty(shape: tuple[int, int]) -> None:
    """Raise for rows or columns that are not there."""
    if not shape[0]:
        raise ValueError(f"X has no rows (shape={shape}): give one or more")
    if not shape[1]:  # in the words that scikit-learn checks
        raise ValueError(f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required.")


def check_lengths(n_rows: int, n_labels: int) -> None:
    """Raise unless there is a label for each row, in scikit-learn's words."""
    if n_rows != n_labels:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: {[n_rows, n_labels]}")
