"""The finite part of the optimum: the minimiser of the loss on the rows that are not separable."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from sgdone.diagnose.separability.design import Design
from sgdone.diagnose.separability.dual_weights import rows_times
from sgdone.diagnose.separability.least_squares import Iterative
from sgdone.diagnose.separability.split import Undecided
from sgdone.diagnose.separability.subspaces import Spaces
from sgdone.losses import Exponential, Logistic

Array = NDArray[np.float64]
LossName = Literal["logistic", "exponential"]

_LOSSES = {"logistic": Logistic(), "exponential": Exponential()}
_MOST_STEPS = 200
#: Stop when a Newton step decreases the loss by less than this fraction.
_CLOSE = 1e-24
#: Coefficients whose component in S is smaller than this are 0 in S.
_NOTHING = 1e-12

#: Maps the slopes and curvatures of the rows to the Newton step.
Step = Callable[[Array, Array], Array]


def find_finite_part(
    design: Design, fixed: NDArray[np.bool_], spaces: Spaces, sample_weight: Array, loss: LossName
) -> tuple[Array, float]:
    """Compute v̄ and the infimum of the loss: Ji and Telgarsky (2018), Theorem 3.1, part 2.

    Returns
    -------
    v, infimum : array and float
        The minimiser in S of the weighted mean loss, in the user's units. The loss of separable rows tends to 0.
    """
    rows = np.flatnonzero(fixed)
    weight = sample_weight[rows] / sample_weight.sum()
    if not rows.size:
        return np.zeros(design.width), 0.0
    basis = spaces.inner

    def times(z: Array) -> Array:
        return design.times(basis @ z, rows) / design.row_scale[rows]

    def step(slopes: Array, curvatures: Array) -> Array:
        gradient, hessian = np.zeros(basis.shape[1]), np.zeros((basis.shape[1], basis.shape[1]))
        chunk = max(1, 2_000_000 // max(1, design.width))
        for first in range(0, rows.size, chunk):
            here = slice(first, first + chunk)
            part = (design.take(rows[here]) / design.row_scale[rows[here], None]) @ basis
            gradient += part.T @ slopes[here]
            hessian += part.T @ (curvatures[here, None] * part)
        scale = 1.0 / np.sqrt(np.maximum(np.diag(hessian), np.finfo(float).tiny))
        hessian = scale[:, None] * hessian * scale
        hessian[np.diag_indices_from(hessian)] += 1e-15
        return np.asarray(-scale * linalg.solve(hessian, scale * gradient, assume_a="sym"))

    z, value = _newton(times, step, np.zeros(basis.shape[1]), weight, loss)
    v = design.column_scale * (basis @ z)
    held = np.linalg.norm(basis, axis=1) > _NOTHING
    return np.where(held, spaces.strong @ (spaces.strong.T @ v), 0.0), value


def find_finite_part_large(
    A: Any, fixed: NDArray[np.bool_], sample_weight: Array, loss: LossName
) -> tuple[Array, float]:
    """Compute v̄ and the infimum by conjugate gradients, for a matrix A in the user's units."""
    rows = np.flatnonzero(fixed)
    weight = sample_weight[rows] / sample_weight.sum()
    if not rows.size:
        return np.zeros(A.shape[1]), 0.0
    part, solver = A[rows], Iterative()

    def step(slopes: Array, curvatures: Array) -> Array:
        root = np.sqrt(curvatures)
        target = np.divide(-slopes, root, out=np.zeros(root.size), where=root > 0.0)
        return solver.solve(rows_times(root, part), target, tolerance=1e-10)

    v, value = _newton(lambda v: np.asarray(part @ v), step, np.zeros(A.shape[1]), weight, loss)
    return v - solver.project(part, v), value


def _newton(
    times: Callable[[Array], Array], step: Step, z: Array, weight: Array, loss: LossName
) -> tuple[Array, float]:
    """Minimise Σ weight·ℓ(A·z), which is convex and has a minimum, by Newton's method with backtracking."""
    kind = _LOSSES[loss]
    # A·z is −y times the prediction, so its loss is that of the label −1.
    images = times(z)
    value = float(weight @ kind.value(images, -1.0))
    for _ in range(_MOST_STEPS):
        slopes = weight * kind.slope(images, -1.0)
        move = step(slopes, weight * kind.curvature(images, -1.0))
        along = times(move)
        gain = -float(slopes @ along)
        length = 1.0
        while True:
            after = images + length * along
            new = float(weight @ kind.value(after, -1.0))
            if new <= value - 1e-4 * length * gain or length < 1e-10 or gain <= 1e-14 * value:
                break
            length *= 0.5
        z, images, value = z + length * move, times(z + length * move), new
        if gain <= _CLOSE * value or float(np.abs(length * along).max(initial=0.0)) <= 1e-13 * (
            1.0 + float(np.abs(images).max(initial=0.0))
        ):
            return z, value
    raise Undecided(f"the minimum of the loss on the overlapping rows was not found in {_MOST_STEPS} Newton steps")
