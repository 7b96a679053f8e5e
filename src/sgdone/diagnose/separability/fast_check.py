"""A look at the optimum that costs a fit next to nothing."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgdone.diagnose.separability.certificate import Kind
from sgdone.diagnose.separability.design import Design
from sgdone.diagnose.separability.partition import Found, search
from sgdone.diagnose.separability.split import TOLERANCE
from sgdone.diagnose.separability.threads import single_thread
from sgdone.diagnose.separability.undecided import Undecided

Array = NDArray[np.float64]

_FEWEST = 400
#: Rows that the sample is chosen from, for each that is taken.
_PEEK = 4
#: They are no more than a share of all.
_SHARE = 20
#: A sample is split only if that is about as much arithmetic as this many passes over the data, for each pass allowed.
_ARITHMETIC = 8.0


@final
@dataclass(frozen=True)
class FastCheck:
    """What a glance shows.

    Attributes
    ----------
    kind : {"none", "quasi-complete", "complete", "undecided"}
        Proved, unless it is undecided.
    reason : str
        How it was proved, or why it was not.
    separable_rows : mask or None
        None if undecided. Rows of weight 0 are in neither part.
    coef, intercept : array or None, float
        A direction that separates those rows and no others.
    """

    kind: Kind
    reason: str
    separable_rows: NDArray[np.bool_] | None = None
    coef: Array | None = None
    intercept: float = 0.0


def fast_check(
    X: Any,
    labels: Array,
    coef: ArrayLike,
    intercept: float = 0.0,
    *,
    fit_intercept: bool = True,
    sample_weight: Array | None = None,
    passes: float = 1.0,
) -> FastCheck:
    """Ask whether the optimum exists, with what a fit has found, in two passes over the data at most.

    If the fit's coefficients classify a sample of rows without error, all rows are looked at: no error among them
    proves complete separation. If they do not, the sample is split: rows that cannot be separated there cannot be among
    all, and if they span everything no row can. A pass shows whether the answer holds for the rows outside the
    sample. Where the split would take long beside a pass (many features), or one pass does not tell, it stays
    undecided.

    Parameters
    ----------
    X : array or CSR matrix of floats
        As the loops of a fit read it: finite, C-contiguous or canonical.
    labels : array of ±1
    coef, intercept : array, float
        The fit's.
    fit_intercept : bool
        Whether the intercept is free.
    sample_weight : array, optional
        Rows of weight 0 are left out.
    passes : float
        How many passes over the data may be spent, each with arithmetic to match. With less than 1 only the sample is
        looked at, unless it is classified without error: it may prove that no row can be separated, and nothing else.

    Examples
    --------
    >>> X = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> fast_check(X, np.array([-1.0, -1.0, 1.0, 1.0]), [1.0], -2.5).kind
    'complete'
    >>> fast_check(X, np.array([-1.0, 1.0, -1.0, 1.0]), [1.0], -2.5).kind
    'none'
    """
    n_rows = X.shape[0]
    used = None if sample_weight is None or (sample_weight > 0.0).all() else np.flatnonzero(sample_weight)
    if used is not None:
        X, labels = X[used], labels[used]
    with single_thread():
        found = _look(X, labels, np.asarray(coef, dtype=np.float64).ravel(), float(intercept), fit_intercept, passes)
    if used is None or found.separable_rows is None:
        return found
    mask = np.zeros(n_rows, dtype=bool)
    mask[used] = found.separable_rows
    return FastCheck(found.kind, found.reason, mask, found.coef, found.intercept)


def _look(X: Any, labels: Array, coef: Array, intercept: float, fit_intercept: bool, passes: float) -> FastCheck:
    n, width = X.shape[0], X.shape[1] + int(fit_intercept)
    size = min(n, max(_FEWEST, 8 * width))
    # Spread over all rows, because data are often sorted; half of the sample the rows where the fit is worst, because
    # overlap shows there.
    peek = min(n, max(_FEWEST, min(_PEEK * size, n // _SHARE)))
    spread = np.unique(np.linspace(0, n - 1, peek).astype(np.intp))
    margins = labels[spread] * (X[spread] @ coef + intercept)
    if float(margins.min()) > 0.0 and (fit_intercept or intercept == 0.0):
        spread = np.arange(n)
        margins = labels * (X @ coef + intercept)
        if _clearly_positive(margins, X, coef, intercept):
            return FastCheck(
                "complete", "the fit classifies all rows without error", np.ones(n, dtype=bool), coef, intercept
            )
    half = -(-min(size, spread.size) // 2)
    worst = spread[np.argpartition(margins, half - 1)[:half]]
    chosen = np.union1d(worst, spread[:: max(1, spread.size // half)])
    entries = X.nnz if hasattr(X, "nnz") else X.size
    if chosen.size * width**2 > _ARITHMETIC * max(1.0, passes) * max(entries, n):
        return FastCheck(
            "undecided", f"a split of {chosen.size:,} rows of {width:,} features would take long beside the fit"
        )
    if passes < 1.0 and spread.size < n:
        return _of_sample(X[chosen], labels[chosen], fit_intercept)
    design = Design(X, labels, fit_intercept, rows=chosen)
    try:
        return _answer(design, search(design, chosen, passes=max(1, int(passes)), batch=size))
    except Undecided as reason:
        return FastCheck("undecided", str(reason))


def _of_sample(X: Any, labels: Array, fit_intercept: bool) -> FastCheck:
    """What some rows say about all: if none of them can be separated and they span everything, no row can."""
    design = Design(X, labels, fit_intercept)
    try:
        found = search(design, np.arange(design.n_rows), passes=0, batch=0)
    except Undecided:
        return FastCheck("undecided", f"{design.n_rows:,} rows do not tell, and a look at all would take long")
    return FastCheck("none", f"{found.chosen.size:,} rows prove that none can be separated")


def _clearly_positive(margins: Array, X: Any, coef: Array, intercept: float) -> bool:
    """Whether the smallest margin is more than rounding: a share of the largest product in it."""
    least = int(margins.argmin())
    row = X[[least]]
    size = float((abs(row) @ np.abs(coef))[0])
    return bool(margins[least] > TOLERANCE * (size + abs(intercept)))


def _answer(design: Design, found: Found) -> FastCheck:
    separable = ~found.still
    looked = f"{found.chosen.size:,} of {design.n_rows:,} rows"
    u = design.column_scale * found.part.direction
    coef, intercept = u[: design.n_features], float(u[-1]) if design.fit_intercept else 0.0
    if not separable.any():
        return FastCheck("none", f"{looked} prove that none can be separated", separable, coef, intercept)
    kind: Kind = "complete" if separable.all() else "quasi-complete"
    return FastCheck(kind, f"a direction found from {looked} separates {separable.sum():,}", separable, coef, intercept)
