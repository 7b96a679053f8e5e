"""The separable rows by one linear program."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

from sgdone.diagnose.separability.least_squares import is_sparse
from sgdone.diagnose.separability.undecided import Undecided

Array = NDArray[np.float64]

#: Entries of a matrix that the program is given at most, and seconds it may take.
MOST_ENTRIES = 3_000_000
SECONDS = 120.0


def separate_by_program(B: Any) -> tuple[Array, Array]:
    """Maximise Σ s_i with B·u + s ≤ 0, 0 ≤ s ≤ 1, by HiGHS: the most rows that one direction separates.

    As u may be as long as it likes, each s_i is 0 or 1 at the maximum, and 1 for every row that any direction can
    separate. The multipliers of B·u + s ≤ 0 are weights q ≥ 0 with Bᵀq = 0 and q_i ≥ 1 where s_i = 0.

    Returns
    -------
    direction, weights : arrays
        B·u ≤ 0, with −1 or less on separable rows; q, zero on separable rows.

    Examples
    --------
    >>> u, q = separate_by_program(np.array([[1.0, 0.0], [-1.0, 0.0], [3.0, -1.0]]))
    >>> u[1] >= 1.0, q.round(6).tolist()
    (np.True_, [1.0, 1.0, 0.0])
    """
    n, width = B.shape
    entries = B.nnz if is_sparse(B) else n * width
    if entries > MOST_ENTRIES:
        raise Undecided(f"what is left is too large for a linear program: {n:,} rows and {entries:,} entries")
    program: Any = linprog(  # type: ignore[call-overload]  # the stubs lack sparse matrices
        np.concatenate([np.zeros(width), -np.ones(n)]),
        A_ub=sparse.hstack([sparse.csc_array(B), sparse.eye_array(n, format="csc")], format="csc"),
        b_ub=np.zeros(n),
        bounds=np.concatenate([np.tile([-np.inf, np.inf], (width, 1)), np.tile([0.0, 1.0], (n, 1))]),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10, "time_limit": SECONDS},
    )
    if program.status != 0:
        raise Undecided(f"the linear program over {n:,} rows ended without an answer: {program.message}")
    separable = program.x[width:] > 0.5
    weights = np.where(separable, 0.0, -program.ineqlin.marginals)
    return program.x[:width], np.maximum(weights, 0.0)
