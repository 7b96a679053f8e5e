"""SGD-QN: a step size for every feature, estimated from how gradients change.

The iterate θ is vector 0, at scale 1, and the diagonal B of step sizes is vector 1. Every ``skip`` samples θ is copied
to ω and shrunk; at the next row the gradients at θ and ω give the curvature.
"""

from collections.abc import Callable
from typing import Any, Final

from sgdone.kernels.jit import inlined
from sgdone.kernels.loop import LARGEST, UNIT, RowMethod
from sgdone.kernels.outcome import CONTINUE, NOT_FINITE, moved, no_update, sums_of_row
from sgdone.kernels.row_step import make_predict
from sgdone.kernels.rows import RowAccess
from sgdone.kernels.rows_rescaled import rescaled

#: Index into the settings, after those of `sgdone.kernels.loop`: the penalty.
ALPHA: Final = 2
#: Indices into what is kept of the intercept: its step size, and its value in ω.
STEP_B: Final = 0
KEPT_B: Final = 1
#: Bordes et al. (2009): a curvature is between α and this multiple of α.
MOST: Final = 100.0


def make_sgdqn(access: RowAccess, value: Callable[..., float], slope: Callable[..., float]) -> RowMethod:
    """Steps θ ← θ − v·ℓ′·B∘(x, 1); ``own`` is the skip, the weights of ω, and what is kept of the intercept."""
    dot = access.dot
    move, learn, age, keep = rescaled(access)

    @inlined
    def update(row: Any, arrays: Any, model: Any, own: Any) -> Any:
        i, y, v, z, _reading, _used = row
        rows, settings, parameters, weights, offsets = arrays
        skip, kept, of_intercept = own
        alpha = settings[ALPHA]
        s = slope(z, y, parameters)
        amount = v * s
        if not abs(amount) <= settings[LARGEST]:
            return no_update(NOT_FINITE, z, model)
        if model.steps > 0.0 and model.steps % skip == 0.0:
            product, _norm = dot(rows, i, kept, offsets)
            change = amount - v * slope(product + of_intercept[KEPT_B], y, parameters)
            if not abs(change) <= settings[LARGEST]:
                return no_update(NOT_FINITE, z, model)
            # The α of every feature is added to 1/B first, then what a curvature has beyond it.
            age(weights, skip * alpha)
            learn(rows, i, weights, kept, change, skip, (MOST - 1.0) * alpha)
            difference = model.intercept - of_intercept[KEPT_B]
            ratio = min(max(change / difference, alpha), MOST * alpha) if difference != 0.0 else alpha
            of_intercept[STEP_B] /= 1.0 + skip * of_intercept[STEP_B] * ratio
        if (model.steps + 1.0) % skip == 0.0:
            keep(weights, kept, skip * alpha)
            of_intercept[KEPT_B] = model.intercept
        move(rows, i, weights, amount)
        intercept = model.intercept - amount * of_intercept[STEP_B] * settings[UNIT]
        sums = sums_of_row(y, v, z, value(z, y, parameters))
        return CONTINUE, z, s, moved(model, model.scale, model.share, intercept), sums

    return RowMethod(make_predict(access), update)
