"""Where to begin the search of a penalty."""

import math

import numpy as np
from scipy.linalg import eigh

from sgdone.auto.penalty_grid import FIRST, penalty
from sgdone.sums.second_order import SecondOrder

#: The search begins between these k.
_FIRST_LOWEST, _FIRST_HIGHEST = -2, 10
#: Eigenvalues below this share of the largest are rounding errors.
_FLAT = 1e-12
#: Relative difference of scores that does not matter if the degrees of freedom left are below a share of the rows.
_TIED, _FEW_ROWS = 0.003, 0.3


def best_of_least_squares(sums: SecondOrder, shape: tuple[int, ...]) -> int:
    """The k with the least generalised cross-validation score of least squares with the working responses."""
    width, columns = shape
    blocks = sums.curvature.reshape(columns, width, columns, width)[:, :-1, :, :-1]
    own = blocks[0, :, 0]
    size = max(float(np.trace(own)), np.finfo(np.float64).tiny)
    values, vectors = eigh(own, check_finite=False)
    of_scores, turn = eigh(np.einsum("ajbj->ab", blocks) / size, check_finite=False)
    spectrum = np.maximum(values[:, None] * of_scores, 0.0)
    targets = vectors.T @ sums.gradient[:-1] @ turn
    known = spectrum > _FLAT * spectrum.max(initial=0.0)
    energy, found = sums.weight * columns, dict[int, float]()
    # Differences of large numbers would be rounding errors where there are fewer rows than columns.
    squares = np.divide(targets**2, spectrum, out=np.zeros_like(targets), where=known)
    unexplained = max(energy - float(squares.sum()), 0.0)
    freedom = max(energy - columns - float(np.count_nonzero(known)), 0.0)
    for k in range(_FIRST_LOWEST, _FIRST_HIGHEST + 1):
        shares = np.where(known, penalty(k) / (spectrum + penalty(k)), 0.0)
        left = freedom + float(shares.sum())
        found[k] = (unexplained + float((squares * shares**2).sum())) / left**2 if left > 0 else math.inf
    # With few rows for each column scores hardly differ: it is easier to leave penalties that are too large.
    tied = _TIED if freedom < _FEW_ROWS * energy else 0.0
    return max((k for k, score in found.items() if score <= (1.0 + tied) * min(found.values())), default=FIRST)
