"""Certificates of separation, which can be checked by matrix products."""

from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from sgdone.diagnose.separability.design import SignedDesign, check_rows, labels_of
from sgdone.diagnose.separability.least_squares import is_sparse
from sgdone.diagnose.separability.partition import SLACK, TOLERANCE, ProvedPartition, imbalance

#: A matrix of Python integers.
Integers = NDArray[np.object_]

#: Largest number of bits between the largest and the smallest entry of a matrix to convert.
_MOST_BITS = 400


def as_integers(X: NDArray[np.float64]) -> Integers | None:
    """Convert floats to integers, scaled by a common power of two; None if their magnitudes differ too much.

    Every float is an integer divided by a power of two.

    Examples
    --------
    >>> as_integers(np.array([[1.0, 3.0], [0.5, 2.0]])).tolist()
    [[2, 6], [1, 4]]
    """
    if (np.rint(X) == X).all() and np.abs(X).max(initial=0.0) < 2**53:
        return X.astype(np.int64).astype(object)
    filled = X != 0.0
    mantissas, exponents = np.frexp(X)
    lowest = int(exponents[filled].min(initial=0)) - 53
    if int(exponents[filled].max(initial=0)) - lowest > _MOST_BITS:
        return None
    whole = np.ldexp(mantissas, 53).astype(np.int64).astype(object)
    scaled = whole * 2 ** (exponents - 53 - lowest).astype(object)
    common = gcd(*scaled[filled].tolist())
    return np.asarray(np.where(filled, scaled // common, 0), dtype=object)


def eliminate(rows: list[list[int]], width: int) -> tuple[list[list[int]], list[int], list[int]]:
    """Gauss–Jordan elimination in integers.

    Returns the reduced independent rows, their pivot columns, and the indices of the original rows.
    """
    reduced: list[list[int]] = []
    pivots: list[int] = []
    used: list[int] = []
    for number, row in enumerate(rows):
        row = list(row)
        for pivot, base in zip(pivots, reduced, strict=True):
            row = _without(row, base, pivot)
        pivot = next((j for j in range(width) if row[j]), -1)
        if pivot < 0:
            continue
        row = _primitive(row)
        reduced = [_primitive(_without(base, row, pivot)) for base in reduced]
        reduced.append(row)
        pivots.append(pivot)
        used.append(number)
        if len(reduced) == width:
            break
    return reduced, pivots, used


def null_basis(rows: list[list[int]], width: int) -> list[list[int]]:
    """Integer basis of the null space.

    Examples
    --------
    >>> null_basis([[1, 2, 3], [2, 4, 6]], 3)
    [[-2, 1, 0], [-3, 0, 1]]
    """
    reduced, pivots, _ = eliminate(rows, width)
    basis = []
    for free in (j for j in range(width) if j not in pivots):
        common = lcm(*(base[pivot] for base, pivot in zip(reduced, pivots, strict=True)))
        vector = [0] * width
        vector[free] = abs(common)
        for base, pivot in zip(reduced, pivots, strict=True):
            vector[pivot] = -base[free] * abs(common) // base[pivot]
        basis.append(_primitive(vector))
    return basis


def solve(square: list[list[int]], right: list[Fraction]) -> list[Fraction] | None:
    """The x with Σ_i x_i·square[i] = right for independent rows; None if there is no solution."""
    width = len(right)
    columns = [[row[j] for row in square] for j in range(width)]
    common = lcm(*(value.denominator for value in right))
    system = [[*column, int(value * common)] for column, value in zip(columns, right, strict=True)]
    reduced, pivots, _ = eliminate(system, len(square) + 1)
    if pivots and max(pivots) == len(square):
        return None
    x = [Fraction(0)] * len(square)
    for row, pivot in zip(reduced, pivots, strict=True):
        x[pivot] = Fraction(row[-1], row[pivot]) / common
    return x


def to_integers(values: list[Fraction]) -> list[int]:
    """The smallest integers in the same proportion.

    Examples
    --------
    >>> to_integers([Fraction(1, 2), Fraction(1, 3)])
    [3, 2]
    """
    common = lcm(*(value.denominator for value in values)) if values else 1
    return _primitive([int(value * common) for value in values])


def _without(row: list[int], base: list[int], pivot: int) -> list[int]:
    if not row[pivot]:
        return row
    factor, other = base[pivot], row[pivot]
    return [factor * a - other * b for a, b in zip(row, base, strict=True)]


def _primitive(row: list[int]) -> list[int]:
    common = gcd(*row) if row else 0
    return [value // common for value in row] if common > 1 else row


def rounded(values: Any, bits: int = 24) -> list[Fraction]:
    """Round floats to fractions with ``bits`` bits relative to the largest."""
    values = np.asarray(values, dtype=np.float64)
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0.0:
        return [Fraction(0)] * values.size
    unit = Fraction(2) ** (int(np.frexp(largest)[1]) - bits)
    return [round(Fraction(float(value)) / unit) * unit for value in values]


Array = NDArray[np.float64]
SeparationKind = Literal["none", "quasi-complete", "complete", "undecided"]

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
        Statement of the conditions that were verified, or of the one that failed.
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

    kind: SeparationKind
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
        design = SignedDesign(X, labels, self.fit_intercept)
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


def _can_be_balanced(design: SignedDesign, weights: Array) -> bool:
    """Whether BᵀQB·p = Bᵀq has a solution with B·p < 1: then q(1 − B·p) is positive and satisfies the equation."""
    gram, rest = np.zeros((design.width, design.width)), np.zeros(design.width)
    for rows in design.blocks():
        B = design.take(rows)
        gram += B.T @ (weights[rows, None] * B)
        rest += B.T @ weights[rows]
    p = linalg.lstsq(gram, rest, cond=_ROUNDING, check_finite=False)[0]
    return bool((design.times(p)[weights > 0.0] <= 1.0 - SLACK).all())


def _imbalance(design: SignedDesign, weights: Array) -> float:
    """Largest |Σ q_i·B_ij| / Σ q_i·|B_ij| over the columns."""
    if design.sparse:
        return imbalance(design.matrix(), weights)
    sums, sizes = np.zeros(design.width), np.zeros(design.width)
    for rows in design.blocks():
        B = design.take(rows)
        sums += B.T @ weights[rows]
        sizes += np.abs(B, out=B).T @ weights[rows]
    return float(np.divide(np.abs(sums), sizes, out=np.zeros(sums.size), where=sizes > 0.0).max(initial=0.0))


#: Largest number of entries and of columns.
_MOST_ENTRIES = 20_000
_WIDEST_EXACT = 40


def exact_proof(design: SignedDesign, part: ProvedPartition) -> tuple[list[int], list[int]] | None:
    """Integer direction and weights that prove the partition of A exactly; None if they are not found.

    The direction is a combination of integer vectors of the null space of A_S, close to the floating-point direction:
    A_c·u < 0 has slack, A_S·u = 0 has none. The weights outside a basis of A_S are rounded; those of the basis are then
    solved for.
    """
    if design.n_rows * design.width > _MOST_ENTRIES or design.width > _WIDEST_EXACT:
        return None
    # The unscaled matrix A; the scales are powers of two, so nothing is rounded.
    A = as_integers(design.take(slice(None)) / design.row_scale[:, None] / design.column_scale)
    if A is None:
        return None
    direction = _direction(A, part, part.direction * design.column_scale)
    weights = _weights(A, part, part.weights * design.row_scale)
    return None if direction is None or weights is None else (direction, weights)


def _direction(A: Integers, part: ProvedPartition, near: Array) -> list[int] | None:
    if not part.separable.any():
        return [0] * A.shape[1]
    basis = np.array(null_basis(A[~part.separable].tolist(), A.shape[1]), dtype=object)
    if not basis.size:
        return None
    # Coordinates of the direction in the integer basis, scaled to a largest entry of 1.
    size = np.abs(near).max()
    floats = np.array(basis, dtype=np.float64)
    coordinates = np.linalg.lstsq(floats.T, near / size, rcond=None)[0]
    for bits in (2, 4, 8, 16, 32, 50):
        combination = [
            sum((c * int(b) for c, b in zip(rounded(coordinates, bits), column, strict=True)), Fraction(0))
            for column in basis.T
        ]
        whole = to_integers(combination)
        if max((A[part.separable] @ np.array(whole, dtype=object)).tolist()) < 0:
            return whole
    return None


def _weights(A: Integers, part: ProvedPartition, near: Array) -> list[int] | None:
    out = [0] * A.shape[0]
    held = np.flatnonzero(~part.separable)
    if not held.size:
        return out
    rows = A[held].tolist()
    # Use the rows of largest weight as the basis: they can best absorb the rounding of the others.
    order = np.argsort(-near[held] * np.array([max(map(abs, row), default=0) for row in rows], dtype=np.float64))
    _, _, used = eliminate([rows[k] for k in order], A.shape[1])
    base = [int(order[k]) for k in used]
    others = [k for k in range(held.size) if k not in set(base)]
    for bits in (4, 8, 16, 32, 50):
        guess = [max(value, Fraction(1, 2**bits)) for value in rounded(near[held][others] / near[held].max(), bits)]
        total = [
            -sum((value * rows[k][j] for value, k in zip(guess, others, strict=True)), Fraction(0))
            for j in range(A.shape[1])
        ]
        solved = solve([rows[k] for k in base], total) if base else []
        if solved is None or any(value <= 0 for value in solved):
            continue
        values = dict(zip([*base, *others], [*solved, *guess], strict=True))
        for k, value in zip(held, to_integers([values[k] for k in range(held.size)]), strict=True):
            out[int(k)] = value
        return out
    return None
