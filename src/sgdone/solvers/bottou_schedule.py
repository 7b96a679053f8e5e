"""First step size of SGD2 and SGDQN, and the number of rows between two steps of the penalty."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from sgdone.interfaces.method import Report
from sgdone.losses.loss import is_whole
from sgdone.rows.rows import Block, Rows
from sgdone.solvers.state import State
from sgdone.steps.bottou import Bottou
from sgdone.steps.step_size import PRELIMINARY_ROWS

#: Bordes et al. (2009): the t₀ that are tried.
TRIED = tuple(10.0**k for k in range(11))


def settle_t0(
    state: State,
    block: Block,
    first: int,
    last: int,
    advance: Callable[[State, Block, int, int, int], Report],
    at_least: int = 1,
) -> Report | None:
    """Find the t₀ that is still open: the one whose run over a sample ends at the lowest objective on that sample.

    The sample is the block's first 1000 rows of positive weight, which are then trained on like the others; a run that
    diverges has no objective, and of equals the smallest t₀ is taken: Bordes et al. (2009). None is below ``at_least``.

    Returns
    -------
    Report or None
        What ``advance`` is to return if no t₀ could be found: there are no rows, or one of them cannot be used.
    """
    step = state.step
    if not isinstance(step, Bottou) or step.t0 != "sample":
        return None
    rows = block.used(0, block.order.size)[:PRELIMINARY_ROWS]
    if not rows.size:
        return Report(last)
    sample = block.ordered(rows)
    X, labels, weights = block.rows.matrix(rows), block.labels[rows], block.weights_of(rows)
    objective = state.objective
    tried = [t0 for t0 in TRIED if t0 >= at_least] or [float(at_least)]
    lowest, best = np.inf, tried[0]
    for t0 in tried:
        trial = state.copy()
        trial.step = replace(step, t0=t0)
        report = advance(trial, sample, 0, rows.size, rows.size)
        if report.ending != "used":
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            coef, intercept = trial.iterate()
            in_units, _ = trial.running()
            losses = objective.loss.value(_product(X, coef) + intercept, labels)
            cost = float(np.mean(weights * losses)) + 0.5 * objective.known_alpha * float(np.sum(in_units * in_units))
        if cost < lowest:
            lowest, best = cost, t0
    if lowest == np.inf and report.ending != "used":
        return Report(first, report.ending, bad_row=int(rows[report.position]))
    state.step = replace(step, t0=best)
    return None


def _product(X: Any, coef: NDArray[Any]) -> NDArray[Any]:
    """X·coef without BLAS, whose threads take longer to wake than so small a product takes."""
    product: NDArray[Any] = X @ coef if issparse(X) else np.einsum("ij,j->i", X, coef)
    return product


def t0_of(state: State) -> float | None:
    """The t₀ of the steps, if they have one and it is known."""
    step = state.step
    return float(step.t0) if isinstance(step, Bottou) and step.t0 != "sample" else None


def t0_in_words(state: State) -> str:
    """The t₀ for a verdict."""
    t0 = t0_of(state)
    return "" if t0 is None else f"t₀ = {t0:.3g}"


#: Bordes et al. (2009): a pass over all features then costs a sixteenth of what the rows between two of them cost.
_FACTOR = 16.0


def check_skip(skip: Any) -> None:
    """Raise a ValueError unless it is "auto" or a positive whole number."""
    if skip != "auto" and not is_whole(skip, 1):
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
