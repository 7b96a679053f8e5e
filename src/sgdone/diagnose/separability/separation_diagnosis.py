"""Does the optimum exist: the question asked of data."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgdone.diagnose.separability.certificate import Certificate, Kind
from sgdone.diagnose.separability.design import Design
from sgdone.diagnose.separability.exact_certificate import exact_proof
from sgdone.diagnose.separability.finite_part import LossName
from sgdone.diagnose.separability.partition import partition
from sgdone.diagnose.separability.separation_result import Separation
from sgdone.diagnose.separability.several import SeparationByClass
from sgdone.diagnose.separability.split import TOLERANCE, Split
from sgdone.diagnose.separability.threads import single_thread
from sgdone.diagnose.separability.undecided import Undecided
from sgdone.diagnose.separability.validation import check_labels, check_rows, check_weights
from sgdone.diagnose.separability.validation import feature_names as names_of

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
    """Say whether a linear model of classes has an optimum without a penalty, and prove it.

    Parameters
    ----------
    X : array or sparse matrix of shape (rows, features)
    y : array
        Labels: two classes, or one, or several.
    fit_intercept : bool
        Whether the model has an intercept.
    sample_weight : array, optional
        Non-negative. Rows of weight 0 are no part of the problem; the other weights matter to ``finite_part`` and
        ``infimum`` only.
    loss : {"logistic", "exponential"}
        For ``finite_part`` and ``infimum``; the rest is the same for every loss that tends to 0 on one side.
    start : (coef, intercept), optional
        Coefficients of a fit: they say which rows to look at first. They change the time taken, not the answer.
    feature_names : sequence of str, optional
        For the words; a data frame's column names by default.

    Returns
    -------
    Separation or SeparationByClass
        The latter for three classes or more: one answer a class, that class against the rest. One class is completely
        separable by the intercept; without an intercept it is a question like any other. It counts as y = 1.

    Examples
    --------
    Every row with a 1 in the first feature is of the class 1, and the second feature overlaps:

    >>> import numpy as np
    >>> from sgdone.diagnose import separation
    >>> X = np.array([[0, 1], [0, 2], [0, 3], [0, 4], [1, 2], [1, 3]])
    >>> y = np.array([0, 1, 0, 1, 1, 1])
    >>> shape = separation(X, y, feature_names=["treated", "age"])
    >>> shape.kind, shape.separable_rows.tolist(), shape.infinite.tolist()
    ('quasi-complete', [False, False, False, False, True, True], [1, 0])
    >>> print(shape.certificate.check(X, y))
    verified exactly: A·u and Aᵀq are as they should be, in whole numbers
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
    """Coefficients as a direction of B."""
    coef = np.asarray(start[0], dtype=np.float64).ravel()
    if coef.size != design.n_features:
        raise ValueError(f"start holds {coef.size} coefficients: X has {design.n_features} features")
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
