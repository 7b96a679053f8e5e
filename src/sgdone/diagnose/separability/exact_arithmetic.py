"""Exact linear solver on small integer matrices: null spaces and solutions."""

from fractions import Fraction
from math import gcd, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

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

    Returns
    -------
    reduced, pivots, used : lists
        The reduced independent rows, their pivot columns, and the indices of the original rows.
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
