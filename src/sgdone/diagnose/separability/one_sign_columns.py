"""Separation of rows by single columns whose entries all have one sign."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[np.float64]

_MOST_ROUNDS = 50


def separate_by_one_sign_columns(B: Any) -> tuple[Array, NDArray[np.bool_]]:
    """Separate rows by columns whose entries in the remaining rows all have one sign; repeat until there are none.

    An example is a rare word that occurs in one class only. Each round is one pass over the remaining entries.

    Returns
    -------
    direction, separated : array and mask
        u with B·u < 0 on the separated rows and B·u = 0 on the others.

    Examples
    --------
    >>> B = sparse.csr_array([[1.0, -1.0, 0.0], [-1.0, 0.0, 2.0], [1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]])
    >>> u, rows = separate_by_one_sign_columns(B)
    >>> u, rows
    (array([ 0.,  1., -1.]), array([ True,  True, False, False]))
    """
    n, width = B.shape
    direction, separated = np.zeros(width), np.zeros(n, dtype=bool)
    rounds: list[tuple[Array, NDArray[np.intp]]] = []
    rows, left = np.arange(n), sparse.csr_array(B)
    for _ in range(_MOST_ROUNDS):
        up = np.bincount(left.indices, weights=left.data > 0.0, minlength=width)
        down = np.bincount(left.indices, weights=left.data < 0.0, minlength=width)
        step = np.where((up > 0) & (down == 0), -1.0, np.where((down > 0) & (up == 0), 1.0, 0.0))
        moved = np.asarray(left @ step) < 0.0
        if not moved.any():
            break
        rounds.append((step, rows[moved]))
        separated[rows[moved]] = True
        rows, left = rows[~moved], left[np.flatnonzero(~moved)]
    # A column of a later round may have the wrong sign on rows of an earlier one: the earlier step must dominate.
    for step, own in reversed(rounds):
        part = sparse.csr_array(B)[own]
        wrong = float((np.asarray(part @ direction) / -np.asarray(part @ step)).max(initial=0.0))
        direction = direction + (1.0 + 2.0 * wrong) * step
    return direction, separated
