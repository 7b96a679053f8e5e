"""Existence of a finite optimum: the full diagnosis, and a check of a fit in at most two passes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgdone.diagnose.separability.certificate import Certificate, SeparationKind, exact_proof
from sgdone.diagnose.separability.design import SignedDesign, check_labels, check_rows, check_weights
from sgdone.diagnose.separability.design import feature_names as names_of
from sgdone.diagnose.separability.limit import LossName
from sgdone.diagnose.separability.partition import (
    TOLERANCE,
    FoundPartition,
    ProvedPartition,
    Undecided,
    partition,
    search,
)
from sgdone.diagnose.separability.separation_result import Separation, SeparationByClass
from sgdone.machine.threads import single_thread

Array = NDArray[np.float64]
StartPoint = tuple[ArrayLike, float]


def separation(
    X: Any,
    y: Any,
    fit_intercept: bool = True,
    sample_weight: ArrayLike | None = None,
    *,
    loss: LossName = "logistic",
    start: StartPoint | None = None,
    feature_names: Sequence[str] | None = None,
) -> Any:
    """Determine whether a linear classifier without a penalty has a finite optimum, with a certificate.

    Parameters
    ----------
    X : array or sparse matrix of shape (rows, features)
    y : array
        Labels of any number of classes.
    fit_intercept : bool
        Whether the model has an intercept.
    sample_weight : array, optional
        Non-negative. Rows of weight 0 are ignored; the other weights affect only ``finite_part`` and ``infimum``.
    loss : {"logistic", "exponential"}
        Loss of ``finite_part`` and ``infimum``. All other results are the same for every loss that tends to 0 for large
        margins.
    start : (coef, intercept), optional
        Coefficients of a fit, to choose which rows to examine first. They change the run time, not the result.
    feature_names : sequence of str, optional
        Names used in the text. By default the column names of a data frame.

    Returns
    -------
    Separation or SeparationByClass
        `SeparationByClass` for three or more classes: one result per class, that class against the rest. A single
        class counts as y = 1; with an intercept it is completely separable.

    Examples
    --------
    All rows with 1 in the first feature belong to class 1, and the classes overlap in the second feature:

    >>> import numpy as np
    >>> from sgdone.diagnose import separation
    >>> X = np.array([[0, 1], [0, 2], [0, 3], [0, 4], [1, 2], [1, 3]])
    >>> y = np.array([0, 1, 0, 1, 1, 1])
    >>> shape = separation(X, y, feature_names=["treated", "age"])
    >>> shape.kind, shape.separable_rows.tolist(), shape.infinite.tolist()
    ('quasi-complete', [False, False, False, False, True, True], [1, 0])
    >>> print(shape.certificate.check(X, y))
    verified exactly: A·u and Aᵀq satisfy all conditions in integer arithmetic
    """
    if loss not in ("logistic", "exponential"):
        raise ValueError(f"loss must be 'logistic' or 'exponential': found {loss!r}")
    rows = check_rows(X)
    names = names_of(X, feature_names, rows.shape[1])
    known, numbers = check_labels(y, rows.shape[0])
    weights = check_weights(sample_weight, rows.shape[0])
    present = np.unique(numbers[weights > 0.0])
    if present.size > 2:
        labels = known.tolist()
        answers = {
            labels[k]: _binary(rows, numbers == k, weights, fit_intercept, loss, None, names, ("the rest", known[k]))
            for k in present
        }
        return SeparationByClass(answers)
    other = known[present[0]] if present.size == 2 else "no other"
    classes = other, known[present[-1]]
    return _binary(rows, numbers == present[-1], weights, fit_intercept, loss, start, names, classes)


def _binary(
    X: Any,
    positive: NDArray[np.bool_],
    weights: Array,
    fit_intercept: bool,
    loss: LossName,
    start: StartPoint | None,
    names: list[str],
    classes: tuple[Any, Any],
) -> Separation:
    used = np.flatnonzero(weights)
    whole = used.size == weights.size
    design = SignedDesign(X if whole else X[used], np.where(positive, 1.0, -1.0)[used], fit_intercept)
    try:
        with single_thread():
            part = partition(design, None if start is None else _in_units(design, start))
    except Undecided as reason:
        none = np.zeros(weights.size, dtype=bool)
        return Separation(
            "undecided", str(reason), none, None, names, classes, loss, fit_intercept, design, None, weights[used]
        )
    proof = _certificate(design, part, weights, classes[1])
    return Separation(
        proof.kind, "", proof.separable_rows, proof, names, classes, loss, fit_intercept, design, part, weights[used]
    )


def _in_units(design: SignedDesign, start: StartPoint) -> Array:
    """Convert coefficients to a direction of B."""
    coef = np.asarray(start[0], dtype=np.float64).ravel()
    if coef.size != design.n_features:
        raise ValueError(f"start has {coef.size} coefficients, but X has {design.n_features} features")
    return np.append(coef, [float(start[1])] * design.fit_intercept) / design.column_scale


def _certificate(design: SignedDesign, part: ProvedPartition, weights: Array, positive: Any) -> Certificate:
    used = weights > 0.0
    count = int(part.separable.sum())
    kind: SeparationKind = "none" if count == 0 else "complete" if count == design.n_rows else "quasi-complete"
    separable, proof = np.zeros(used.size, dtype=bool), np.zeros(used.size)
    separable[used] = part.separable
    proof[used] = part.weights * design.row_scale
    u = design.column_scale * part.direction
    direction, whole = None, None
    exact = exact_proof(design, part)
    if exact is not None:
        direction = tuple(exact[0])
        filled = np.zeros(used.size, dtype=object)
        filled[used] = exact[1]
        whole = tuple(filled.tolist())
    return Certificate(
        kind,
        separable,
        used,
        u[: design.n_features],
        float(u[-1]) if design.fit_intercept else 0.0,
        proof,
        TOLERANCE,
        positive,
        design.fit_intercept,
        direction,
        whole,
    )


_FEWEST = 400
#: Number of candidate rows for each row of the sample.
_PEEK = 4
#: At most one in this many rows is a candidate.
_SHARE = 20
#: Largest cost of splitting a sample, in passes over the data per pass allowed.
_ARITHMETIC = 8.0


@final
@dataclass(frozen=True)
class FastCheck:
    """Result of `fast_check`.

    Attributes
    ----------
    kind : {"none", "quasi-complete", "complete", "undecided"}
        Proved, unless "undecided".
    reason : str
        How it was proved, or why it was not.
    separable_rows : mask or None
        None if undecided. Rows of weight 0 are not included.
    coef, intercept : array or None, float
        A direction that separates exactly these rows.
    """

    kind: SeparationKind
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
    """Check whether a finite optimum exists, given the coefficients of a fit, in at most two passes over the data.

    If the coefficients classify a sample of rows without error, all rows are classified: no error proves complete
    separation. Otherwise the sample is split. Rows that are not separable within the sample are not separable at all,
    and if they span the whole space, no row is. One pass then verifies the result on the other rows. The result is
    "undecided" if the split would take much longer than a pass (many features) or one pass is not conclusive.

    Parameters
    ----------
    X : array or CSR matrix of floats
        Finite; C-contiguous or in canonical CSR format.
    labels : array of ±1
    coef, intercept : array, float
        Coefficients of the fit.
    fit_intercept : bool
        Whether the model has an intercept.
    sample_weight : array, optional
        Rows of weight 0 are ignored.
    passes : float
        Number of passes over the data that may be made, each with a proportional amount of arithmetic. Below 1 only the
        sample is used, unless it is classified without error; it can then prove only that no row is separable.

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
    coef = np.asarray(coef, dtype=np.float64).ravel()
    try:
        with single_thread():
            found = _check(X, labels, coef, float(intercept), fit_intercept, passes)
    except Undecided as reason:
        return FastCheck("undecided", str(reason))
    if used is None or found.separable_rows is None:
        return found
    mask = np.zeros(n_rows, dtype=bool)
    mask[used] = found.separable_rows
    return replace(found, separable_rows=mask)


def _check(X: Any, labels: Array, coef: Array, intercept: float, fit_intercept: bool, passes: float) -> FastCheck:
    n, width = X.shape[0], X.shape[1] + int(fit_intercept)
    size = min(n, max(_FEWEST, 8 * width))
    # Candidates are spread over all rows, because data are often sorted. Half of the sample are the rows with the
    # smallest margins, where overlap is most likely.
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
        raise Undecided(f"splitting {chosen.size:,} rows with {width:,} features would take longer than the fit")
    if passes < 1.0 and spread.size < n:
        return _of_sample(X[chosen], labels[chosen], fit_intercept)
    design = SignedDesign(X, labels, fit_intercept, rows=chosen)
    return _answer(design, search(design, chosen, passes=max(1, int(passes)), batch=size))


def _of_sample(X: Any, labels: Array, fit_intercept: bool) -> FastCheck:
    """Result of a sample alone: if none of its rows is separable and they span the whole space, no row is."""
    design = SignedDesign(X, labels, fit_intercept)
    try:
        found = search(design, np.arange(design.n_rows), passes=0, batch=0)
    except Undecided as error:
        reason = f"a sample of {design.n_rows:,} rows is not conclusive, and checking all rows would take long"
        raise Undecided(reason) from error
    return FastCheck("none", f"{found.chosen.size:,} rows prove that no row is separable")


def _clearly_positive(margins: Array, X: Any, coef: Array, intercept: float) -> bool:
    """Whether the smallest margin exceeds the rounding error of its terms."""
    least = int(margins.argmin())
    row = X[[least]]
    size = float((abs(row) @ np.abs(coef))[0])
    return bool(margins[least] > TOLERANCE * (size + abs(intercept)))


def _answer(design: SignedDesign, found: FoundPartition) -> FastCheck:
    separable = ~found.still
    examined = f"{found.chosen.size:,} of {design.n_rows:,} rows"
    u = design.column_scale * found.part.direction
    coef, intercept = u[: design.n_features], float(u[-1]) if design.fit_intercept else 0.0
    if not separable.any():
        return FastCheck("none", f"{examined} prove that no row is separable", separable, coef, intercept)
    kind: SeparationKind = "complete" if separable.all() else "quasi-complete"
    reason = f"a direction found from {examined} separates {separable.sum():,} rows"
    return FastCheck(kind, reason, separable, coef, intercept)
