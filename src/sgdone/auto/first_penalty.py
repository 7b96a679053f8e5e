"""Where to begin the search of a penalty."""

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
    energy, ks = sums.weight * columns, np.arange(_FIRST_LOWEST, _FIRST_HIGHEST + 1)
    # Differences of large numbers would be rounding errors where there are fewer rows than columns.
    spectrum, targets = spectrum[known], targets[known]
    squares = targets**2 / spectrum
    unexplained = max(energy - float(squares.sum()), 0.0)
    freedom = max(energy - columns - spectrum.size, 0.0)
    strengths = np.array([penalty(k) for k in ks.tolist()])
    shares = strengths / (spectrum[:, None] + strengths)
    left = np.maximum(freedom + shares.sum(axis=0), np.finfo(np.float64).tiny)
    found = (unexplained + squares @ shares**2) / left**2
    # With few rows for each column scores hardly differ: it is easier to leave penalties that are too large.
    tied = _TIED if freedom < _FEW_ROWS * energy else 0.0
    return int(ks[found <= (1.0 + tied) * found.min()].max(initial=_FIRST_LOWEST)) if spectrum.size else FIRST
