"""Certificates of separation, which can be checked by matrix products."""

from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from sgdone.diagnose.separability.design import Design
from sgdone.diagnose.separability.dual_weights import SLACK, imbalance
from sgdone.diagnose.separability.exact_arithmetic import as_integers
from sgdone.diagnose.separability.least_squares import is_sparse
from sgdone.diagnose.separability.split import TOLERANCE
from sgdone.diagnose.separability.validation import check_rows, labels_of

Array = NDArray[np.float64]
Kind = Literal["none", "quasi-complete", "complete", "undecided"]

#: Weights below this fraction of the largest cannot be distinguished from 0.
_EVEN = 1e-10
#: Largest number of features for which `_can_be_balanced` is checked.
_WIDEST = 2000
#: Singular values below this fraction of the largest are rounding errors.
_ROUNDING = 1e-14


@final
@dataclass(frozen=True)
class Check:
    """Result of checking a certificate; true if it holds.

    Attributes
    ----------
    holds : bool
    exact : bool
        Whether it was checked in integer arithmetic, without rounding.
    reason : str
        What was verified, or what failed.
    """

    holds: bool
    exact: bool
    reason: str

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        return f"{'verified' if self.holds else 'not verified'}{' exactly' if self.exact else ''}: {self.reason}"


@final
@dataclass(frozen=True)
class Certificate:
    """A direction and weights that prove which rows are separable, and that no other rows are.

    With A the matrix of rows −y_i·x_i (with 1 appended to x_i if there is an intercept):

    - A·u is negative on ``separable_rows`` and zero on the others: along u the loss of the separable rows tends to zero
      and that of the others is constant;
    - q > 0 on the other rows and Aᵀq = 0: if A·v ≤ 0, then 0 = qᵀA·v is a sum of non-positive terms, so A·v = 0 on
      these rows (Stiemke's lemma).

    Attributes
    ----------
    kind : {"none", "quasi-complete", "complete"}
    separable_rows : mask
    used_rows : mask
        Rows of positive sample weight; the others are ignored.
    coef, intercept : array, float
        The direction u.
    weights : array
        q; zero on separable rows.
    exact : bool
        Whether ``whole_direction`` and ``whole_weights`` contain u and q as integers, which satisfy all conditions
        exactly. Available for small data.
    tolerance : float
        If not exact: A_i·u counts as zero if it is at most this fraction of Σ_j |u_j|, and (Aᵀq)_j if it is at most
        this fraction of Σ_i q_i·|A_ij|, with rows and columns of A scaled by powers of two to a largest entry of about
        1.
    positive : object
        The label of the class y = 1.
    fit_intercept : bool
    """

    kind: Kind
    separable_rows: NDArray[np.bool_]
    used_rows: NDArray[np.bool_]
    coef: Array
    intercept: float
    weights: Array
    tolerance: float
    positive: Any
    fit_intercept: bool
    whole_direction: tuple[int, ...] | None = None
    whole_weights: tuple[int, ...] | None = None

    @property
    def exact(self) -> bool:
        """Whether the certificate is in integers."""
        return self.whole_direction is not None

    def check(self, X: Any, y: Any) -> Check:
        """Check the certificate on the data, by matrix products.

        Parameters
        ----------
        X, y : arrays
            The data of the certificate; X may be sparse.

        Returns
        -------
        Check
            True if all conditions hold; otherwise ``reason`` says which one fails.
        """
        X = check_rows(X)
        if X.shape != (self.used_rows.size, self.coef.size):
            raise ValueError(
                f"the certificate is for {self.used_rows.size} rows and {self.coef.size} features, but X has the shape "
                f"{X.shape}"
            )
        labels = labels_of(y, self.positive, X.shape[0])
        used = np.flatnonzero(self.used_rows)
        X, labels = (X, labels) if used.size == labels.size else (X[used], labels[used])
        fault = self._fault_of_kind()
        if fault is not None:
            return Check(False, False, fault)
        return self._check_whole(X, labels) if self.exact else self._check_floats(X, labels)

    def _fault_of_kind(self) -> str | None:
        count, used = int(self.separable_rows.sum()), int(self.used_rows.sum())
        kind = "none" if count == 0 else "complete" if count == used else "quasi-complete"
        if (self.separable_rows & ~self.used_rows).any():
            return "a row of weight 0 is marked as separable"
        return None if kind == self.kind else f"{count} of {used} rows are separable, which contradicts {self.kind!r}"

    def _check_whole(self, X: Any, labels: Array) -> Check:
        dense = X.toarray() if is_sparse(X) else X
        A = as_integers(-labels[:, None] * np.column_stack([dense, np.ones((dense.shape[0], int(self.fit_intercept)))]))
        if A is None:
            return Check(False, False, "the values of X differ too much in magnitude to be converted to integers")
        whole_direction, whole_weights = self.whole_direction or (), self.whole_weights or ()
        if not all(isinstance(number, int) for number in (*whole_direction, *whole_weights)):
            return Check(False, False, "the direction and the weights are not all integers")
        images = A @ np.array(whole_direction, dtype=object)
        separable = self.separable_rows[self.used_rows]
        if not ((images[separable] < 0).all() and (images[~separable] == 0).all()):
            return Check(False, True, "the direction does not separate exactly the separable rows")
        weights = np.array(whole_weights, dtype=object)[self.used_rows]
        if (weights[separable] != 0).any() or (weights[~separable] <= 0).any() or (A.T @ weights != 0).any():
            return Check(False, True, "the weights are not positive, or Aᵀq is not 0")
        return Check(True, True, "A·u and Aᵀq satisfy all conditions in integer arithmetic")

    def _check_floats(self, X: Any, labels: Array) -> Check:
        design = Design(X, labels, self.fit_intercept)
        direction = np.append(self.coef, [self.intercept] * self.fit_intercept) / design.column_scale
        separable = self.separable_rows[self.used_rows]
        tolerance = min(self.tolerance, TOLERANCE)
        images, zero = design.times(direction), tolerance * float(np.abs(direction).sum())
        worst, moved = images[separable].max(initial=-np.inf), np.abs(images[~separable]).max(initial=0.0)
        if not (worst < -zero and moved <= zero):
            return Check(False, False, "the direction does not separate exactly the separable rows")
        weights = self.weights[self.used_rows] / design.row_scale
        if (weights[separable] != 0.0).any() or not (np.isfinite(weights) & (separable | (weights > 0.0))).all():
            return Check(False, False, "the weights are not positive exactly on the rows that are not separable")
        if not separable.all() and weights[~separable].min() < _EVEN * weights.max():
            return Check(False, False, "some weights are too small relative to the largest to prove anything")
        unbalanced = _imbalance(design, weights)
        if not unbalanced <= tolerance:
            return Check(False, False, f"Aᵀq is not 0: the relative residual is {unbalanced:.1e}")
        if design.width <= _WIDEST and not _can_be_balanced(design, weights):
            return Check(False, False, "no positive weights with Aᵀq = 0 exist near the given ones")
        return Check(True, False, f"A·u and Aᵀq satisfy all conditions to {tolerance:.0e}")


def _can_be_balanced(design: Design, weights: Array) -> bool:
    """Whether BᵀQB·p = Bᵀq has a solution with B·p < 1: then q(1 − B·p) is positive and satisfies the equation."""
    gram, rest = np.zeros((design.width, design.width)), np.zeros(design.width)
    for rows in design.blocks():
        B = design.take(rows)
        gram += B.T @ (weights[rows, None] * B)
        rest += B.T @ weights[rows]
    p = linalg.lstsq(gram, rest, cond=_ROUNDING, check_finite=False)[0]
    return bool((design.times(p)[weights > 0.0] <= 1.0 - SLACK).all())


def _imbalance(design: Design, weights: Array) -> float:
    """Largest |Σ q_i·B_ij| / Σ q_i·|B_ij| over the columns."""
    if design.sparse:
        return imbalance(design.matrix(), weights)
    sums, sizes = np.zeros(design.width), np.zeros(design.width)
    for rows in design.blocks():
        B = design.take(rows)
        sums += B.T @ weights[rows]
        sizes += np.abs(B, out=B).T @ weights[rows]
    return float(np.divide(np.abs(sums), sizes, out=np.zeros(sums.size), where=sizes > 0.0).max(initial=0.0))
