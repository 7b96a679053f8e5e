"""Weights that prove overlap, q > 0 with Bᵀq = 0: improving their accuracy and extending them to more rows.

If q > 0 on some rows and Bᵀq = 0, then B·u ≤ 0 implies 0 = qᵀB·u, a sum of non-positive terms. So B·u = 0 on those
rows, and on every row in their span (Stiemke's lemma, the easy half).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sgdone.diagnose.separability.least_squares import LeastSquares, is_sparse

Array = NDArray[np.float64]

#: Weights are corrected only if every weight keeps at least this fraction of its value.
SLACK = 0.05
_ROUNDS = 6
_BALANCED = 1e-13
#: Relative tolerance of the conjugate gradients in each round.
_EACH_ROUND = 1e-4


def refine_weights(B: Any, q: Array, solver: LeastSquares) -> tuple[Array | None, Array]:
    """Correct approximate weights to satisfy Bᵀq = 0: q(1 − B·p) does, with Q = diag(q) and BᵀQB·p = Bᵀq.

    Returns
    -------
    weights, share : arrays
        q(1 − B·p), and B·p, the relative correction of each weight. The weights are None if a correction is so large
        that they would not be positive. The correction is repeated to remove rounding errors.

    Examples
    --------
    >>> from sgdone.diagnose.separability.least_squares import Direct
    >>> refine_weights(np.array([[1.0], [-2.0], [1.0]]), np.array([1.0, 1.2, 1.0]), Direct())[0].round(3)
    array([1.059, 1.059, 1.059])
    """
    first = np.zeros(q.size)
    for attempt in range(_ROUNDS):
        if imbalance(B, q) <= _BALANCED:
            break
        root = np.sqrt(q)
        # Weighted least squares; its normal equations are those of the docstring.
        share = np.asarray(B @ solver.solve(rows_times(root, B), root, tolerance=_EACH_ROUND))
        first = share if attempt == 0 else first
        if float(share.max()) > 1.0 - SLACK:
            return None, share
        q = q * (1.0 - share)
    return q, first


def extend_weights(B: Any, q: Array, target: Array, solver: LeastSquares) -> tuple[Array, float] | None:
    """Extend weights to other rows in the span of the weighted rows.

    Parameters
    ----------
    B, q : matrix and array
        Rows with weights q > 0, Bᵀq = 0.
    target : array
        The sum of the other rows.
    solver : LeastSquares

    Returns
    -------
    q, amount : array and float
        New weights q > 0 with Bᵀq + amount·target = 0, amount > 0; None if ``target`` is not in the span.

    Examples
    --------
    >>> from sgdone.diagnose.separability.least_squares import Direct
    >>> q, amount = extend_weights(np.array([[1.0], [-1.0]]), np.ones(2), np.array([3.0]), Direct())
    >>> q.round(3), round(amount, 3)
    (array([0.5, 1.5]), 0.333)
    """
    root = np.sqrt(q)
    rows = rows_times(root, B)
    change = np.zeros(q.size)
    for _ in range(_ROUNDS):
        left = target + np.asarray(B.T @ change)
        if float(np.abs(left).max(initial=0.0)) <= 1e-12 * float(np.abs(target).max(initial=0.0)):
            break
        change = change - root * solver.combine(rows, left)
    if float(np.abs(B.T @ change + target).max(initial=0.0)) > 1e-8 * float(np.abs(target).max(initial=0.0)):
        return None
    falling = change < 0.0
    amount = 0.5 * float((q[falling] / -change[falling]).min(initial=2.0 * float(q.mean())))
    q = q + amount * change
    for _ in range(_ROUNDS):
        q = q - root * solver.combine(rows, np.asarray(B.T @ q) + amount * target)
    return (q, amount) if (q > 0.0).all() else None


def imbalance(B: Any, q: Array) -> float:
    """Largest |Σ q_i·B_ij| / Σ q_i·|B_ij| over the columns."""
    sums = np.abs(np.asarray(B.T @ q))
    sizes = np.asarray(abs(B).T @ q)
    return float(np.divide(sums, sizes, out=np.zeros(sums.size), where=sizes > 0.0).max(initial=0.0))


def rows_times(factors: Array, B: Any) -> Any:
    """Multiply each row of B, dense or sparse, by a factor."""
    return sparse.diags_array(factors).tocsr() @ B if is_sparse(B) else factors[:, None] * B
