"""Diagnosis of separation: whether a linear classifier has a finite optimum."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgdone.diagnose.separability.certificate import Certificate, Kind, exact_proof
from sgdone.diagnose.separability.design import Design
from sgdone.diagnose.separability.finite_part import LossName
from sgdone.diagnose.separability.partition import partition
from sgdone.diagnose.separability.separation_result import Separation, SeparationByClass
from sgdone.diagnose.separability.split import TOLERANCE, Split, Undecided
from sgdone.diagnose.separability.validation import check_labels, check_rows, check_weights
from sgdone.diagnose.separability.validation import feature_names as names_of
from sgdone.machine.threads import single_thread

Array = NDArray[np.float64]
Start = tuple[ArrayLike, float]


def separation(
    X: Any,
    y: Any,
    fit_intercept: bool = True,
    sample_weight: ArrayLike | None = None,
    *,
    loss: LossName = "logistic",
    start: Start | None = None,
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
    labels = check_labels(y, rows.shape[0])
    weights = check_weights(sample_weight, rows.shape[0])
    present = np.unique(labels.numbers[weights > 0.0])
    if present.size > 2:
        names_of_classes = labels.classes.tolist()
        answers = {
            names_of_classes[k]: _binary(
                rows, labels.numbers == k, weights, fit_intercept, loss, None, names, ("the rest", labels.classes[k])
            )
            for k in present
        }
        return SeparationByClass(answers)
    last = labels.classes[present[-1]]
    other = labels.classes[present[0]] if present.size == 2 else "no other"
    return _binary(rows, labels.numbers == present[-1], weights, fit_intercept, loss, start, names, (other, last))


def _binary(
    X: Any,
    positive: NDArray[np.bool_],
    weights: Array,
    fit_intercept: bool,
    loss: LossName,
    start: Start | None,
    names: list[str],
    classes: tuple[Any, Any],
) -> Separation:
    used = np.flatnonzero(weights)
    whole = used.size == weights.size
    design = Design(X if whole else X[used], np.where(positive, 1.0, -1.0)[used], fit_intercept)
    separable = np.zeros(weights.size, dtype=bool)
    try:
        with single_thread():
            part = partition(design, None if start is None else _in_units(design, start))
    except Undecided as reason:
        return Separation(
            "undecided", str(reason), separable, None, names, classes, loss, fit_intercept, design, None, weights[used]
        )
    separable[used] = part.separable
    certificate = _certificate(design, part, weights, classes[1])
    return Separation(
        certificate.kind, "", separable, certificate, names, classes, loss, fit_intercept, design, part, weights[used]
    )


def _in_units(design: Design, start: Start) -> Array:
    """Convert coefficients to a direction of B."""
    coef = np.asarray(start[0], dtype=np.float64).ravel()
    if coef.size != design.n_features:
        raise ValueError(f"start has {coef.size} coefficients, but X has {design.n_features} features")
    return np.append(coef, [float(start[1])] * design.fit_intercept) / design.column_scale


def _certificate(design: Design, part: Split, weights: Array, positive: Any) -> Certificate:
    used = weights > 0.0
    count = int(part.separable.sum())
    kind: Kind = "none" if count == 0 else "complete" if count == design.n_rows else "quasi-complete"
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
