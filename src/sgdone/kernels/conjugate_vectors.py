"""Vectors of conjugate gradients for several models at once: each array is read and written once an iteration."""

from typing import Any

from sgdone.kernels.jit import compiled


@compiled()
def advance(
    steps: Any, penalty: Any, inverse: Any, means: Any, shift: Any, scale: Any, vectors: Any, reduced: Any, moved: Any
) -> None:
    """A loop that moves the solution along the direction, and preconditions the residual that is left.

    The product of the curvature, in the user's units, is set to 0 for the next one. ``inverse`` are the inverse units,
    ``means`` the scaled means of the columns, ``shift`` the residual of the intercepts. ``scale``, features × outputs,
    is the preconditioner of centred columns, the same for all models.
    ``vectors`` are the direction, the product, the solution, the residual and the conditioned residual.
    ``reduced`` receives rᵀz and ``moved`` meansᵀz.
    """
    direction, product, solution, residual, conditioned = vectors
    n_outputs = scale.shape[1]
    for k in range(steps.size):
        reduced[k] = 0.0
        moved[k] = 0.0
    for j in range(solution.shape[0]):
        unit, mean, output = inverse[j], means[j], 0
        for k in range(steps.size):
            towards = direction[j, k]
            solution[j, k] += steps[k] * towards
            left = residual[j, k] - steps[k] * (product[j, k] * unit + penalty * towards)
            product[j, k] = 0.0
            residual[j, k] = left
            found = (left - mean * shift[k]) * scale[j, output]
            conditioned[j, k] = found
            reduced[k] += left * found
            moved[k] += mean * found
            output = output + 1 if output + 1 < n_outputs else 0


@compiled()
def add_scaled(found: Any, values: Any, factors: Any) -> None:
    """A loop that adds the columns of an array, each times a factor, to those of another."""
    for i in range(found.shape[0]):
        for k in range(factors.size):
            found[i, k] += factors[k] * values[i, k]


@compiled()
def turn(shares: Any, inverse: Any, conditioned: Any, direction: Any, own: Any, squares: Any) -> None:
    """A loop that makes the next direction, also in the user's units; ``squares`` receives its squared norms."""
    for k in range(shares.size):
        squares[k] = 0.0
    for j in range(direction.shape[0]):
        unit = inverse[j]
        for k in range(shares.size):
            towards = conditioned[j, k] + shares[k] * direction[j, k]
            direction[j, k] = towards
            own[j, k] = towards * unit
            squares[k] += towards * towards
