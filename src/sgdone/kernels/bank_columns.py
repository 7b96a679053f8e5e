"""Dense rows and the columns of one or two models, which lie side by side feature by feature.

With so few columns it is loops over the features that are worth vectorising, which takes a distance between columns
that is known when they are compiled. ``weights`` is the matrix of `sgdone.kernels.bank` made flat.
"""

from typing import Any

from sgdone.kernels.jit import inlined


@inlined
def dots_of_one(weights: Any, row: Any, sums: Any) -> None:
    """Inner products of a row with the iterate and the average of one model."""
    iterate = row.dtype.type(0)
    average = row.dtype.type(0)
    for j in range(row.size):
        iterate += row[j] * weights[2 * j]
        average += row[j] * weights[2 * j + 1]
    sums[0] = iterate
    sums[1] = average


@inlined
def adds_to_one(weights: Any, row: Any, amounts: Any) -> None:
    """Add to each of two columns its amount of a row."""
    to_iterate, to_average = amounts[0], amounts[1]
    for j in range(row.size):
        weights[2 * j] += row[j] * to_iterate
        weights[2 * j + 1] += row[j] * to_average


@inlined
def dots_of_two(weights: Any, row: Any, sums: Any) -> None:
    """Inner products of a row with the iterates, then the averages, of two models."""
    iterate0 = row.dtype.type(0)
    iterate1 = row.dtype.type(0)
    average0 = row.dtype.type(0)
    average1 = row.dtype.type(0)
    for j in range(row.size):
        x = row[j]
        iterate0 += x * weights[4 * j]
        iterate1 += x * weights[4 * j + 1]
        average0 += x * weights[4 * j + 2]
        average1 += x * weights[4 * j + 3]
    sums[0] = iterate0
    sums[1] = iterate1
    sums[2] = average0
    sums[3] = average1


@inlined
def adds_to_two(weights: Any, row: Any, amounts: Any) -> None:
    """Add to each of four columns its amount of a row."""
    a0, a1, a2, a3 = amounts[0], amounts[1], amounts[2], amounts[3]
    for j in range(row.size):
        x = row[j]
        weights[4 * j] += x * a0
        weights[4 * j + 1] += x * a1
        weights[4 * j + 2] += x * a2
        weights[4 * j + 3] += x * a3
