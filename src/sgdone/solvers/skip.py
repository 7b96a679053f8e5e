"""How often the methods that shrink the weights now and then do so."""

from numbers import Integral
from typing import Any

from sgdone.rows.rows import Rows
from sgdone.steps.step_size import PRELIMINARY_ROWS

#: Bordes et al. (2009): a pass over all features then costs a sixteenth of what the rows between two of them cost.
_FACTOR = 16.0


def check_skip(skip: Any) -> None:
    """Raise a ValueError unless it is "auto" or a positive whole number."""
    if skip != "auto" and (isinstance(skip, bool) or not isinstance(skip, Integral) or int(skip) < 1):
        raise ValueError(f'skip={skip!r}: give the samples between two shrinkages, 1 or more, or "auto"')


def skip_of(rows: Rows) -> int:
    """16 times features over entries of a row; of so few rows that it would be longer, a pass (or 1000 samples).

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> skip_of(Rows.of(np.ones((4, 4)))), skip_of(Rows.of(sparse.csr_array(np.eye(4))))
    (16, 64)
    """
    size = rows.n_rows * rows.n_features
    entries = size if rows.is_dense else rows.arrays[0].size
    return max(1, min(int(_FACTOR * size / max(1, entries)), max(rows.n_rows, PRELIMINARY_ROWS)))
