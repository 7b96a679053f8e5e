"""Shalev-Shwartz et al. (2007): Pegasos; and Schraudolph, Yu & Günter (2007): online L-BFGS. Both step on minibatches.

The objective is the mean of v·ℓ plus ½α‖w‖² with α > 0, α being the λ of Pegasos; the intercept is not penalised.
A minibatch is the next k rows of positive weight; rows left over at the end wait for others and make no update.
One iterate an update, not a row.
"""

from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgdone.reference.averaged_sgd import Array
from sgdone.reference.rivals import Path


def minibatches(weights: Array, size: int) -> NDArray[np.intp]:
    """The rows of each minibatch.

    Examples
    --------
    >>> minibatches(np.array([1.0, 1.0, 0.0, 2.0, 1.0, 1.0]), 2)
    array([[0, 1],
           [3, 4]])
    """
    used = np.flatnonzero(weights)
    return used[: len(used) // size * size].reshape(-1, size)


def radius_of_optimum(y: Array, weights: Array, loss: Any, alpha: float) -> float:
    """√(F(0)/α), no smaller than ‖w*‖ of the minimiser without intercept: F(0) ≥ F(w*) + ½α‖w*‖² ≥ α‖w*‖².

    Of the hinge and rows of weight 1 it is the 1/√α of Pegasos; other targets or weights can put w* outside of that.
    """
    used = np.flatnonzero(weights)
    return float(np.sqrt(np.mean(weights[used] * loss.value(np.zeros(len(used)), y[used])) / alpha))


def pegasos(
    X: Array,
    y: Array,
    weights: Array,
    loss: Any,
    alpha: float,
    minibatch: int,
    radius: float,
    intercept: bool,
) -> Path:
    """Shalev-Shwartz et al. (2007), figure 1: the step 1/(αt), t = 1, 2, …, and the projection onto a ball around 0.

    The paper's ``radius`` is 1/√α; an infinite one leaves the projection out, as the journal version (2011) does.
    An intercept takes the same steps outside of the ball: one of the ways in the paper's section on bias.

    Examples
    --------
    >>> from sgdone.losses import Hinge
    >>> X, y, v = np.array([[4.0], [1.0]]), np.ones(2), np.ones(2)
    >>> [float(w[0]) for w, b in pegasos(X, y, v, Hinge(), 0.25, 1, np.inf, False)]
    [0.0, 16.0, 8.0]
    >>> [float(w[0]) for w, b in pegasos(X, y, v, Hinge(), 0.25, 1, 2.0, False)]
    [0.0, 2.0, 1.0]
    """
    w, b = np.zeros(X.shape[1]), 0.0
    path = [(w, b)]
    for t, of in enumerate(minibatches(weights, minibatch), start=1):
        eta = 1.0 / (alpha * t)
        slopes = weights[of] * loss.slope(X[of] @ w + b, y[of])
        w, b = (1.0 - 1.0 / t) * w - eta * (slopes @ X[of]) / minibatch, b - eta * float(np.mean(slopes)) * intercept
        size = float(np.linalg.norm(w))
        w = w * (radius / size) if size > radius else w
        path.append((w, b))
    return path


def lbfgs_direction(gradient: Array, pairs: deque[tuple[Array, Array]], epsilon: float) -> Array:
    """Schraudolph et al. (2007), algorithm 3: −B·gradient from the pairs (s, y), the oldest first; −ε·gradient if none.

    The initial B is the *mean* of sᵀy/yᵀy over the pairs kept, not that of the last one alone.
    """
    p, shares = -gradient, []
    for s, y in reversed(pairs):
        shares.append((s @ p) / (s @ y))
        p = p - shares[-1] * y
    p = p * (np.mean([(s @ y) / (y @ y) for s, y in pairs]) if pairs else epsilon)
    for (s, y), share in zip(pairs, reversed(shares), strict=True):
        p = p + (share - (y @ p) / (y @ s)) * s
    return np.asarray(p)


def olbfgs(
    X: Array,
    y: Array,
    weights: Array,
    loss: Any,
    alpha: float,
    minibatch: int,
    memory: int,
    eta0: float,
    tau: float,
    epsilon: float,
    damping: float,
    intercept: bool,
) -> Path:
    """Schraudolph et al. (2007), algorithms 2 and 3 with c = 1: steps s = η·p with η = η₀τ/(τ + t), t from 0 on.

    Both gradients of y = ∇(θ + s) − ∇(θ) + damping·s are on the same minibatch. A pair with sᵀy ≤ 0, which of a convex
    loss is one of s = 0 or of rounding, is not kept.
    """
    rows = np.column_stack([X, np.full(len(X), float(intercept))])
    penalty = np.append(np.full(X.shape[1], alpha), 0.0)

    def gradient(theta: Array, of: NDArray[np.intp]) -> Array:
        slopes = weights[of] * loss.slope(rows[of] @ theta, y[of])
        return np.asarray(slopes @ rows[of] / minibatch + penalty * theta)

    pairs: deque[tuple[Array, Array]] = deque(maxlen=memory)
    path = [np.zeros(rows.shape[1])]
    for t, of in enumerate(minibatches(weights, minibatch)):
        before = gradient(path[-1], of)
        s = eta0 * tau / (tau + t) * lbfgs_direction(before, pairs, epsilon)
        path.append(path[-1] + s)
        change = gradient(path[-1], of) - before + damping * s
        if s @ change > 0.0:
            pairs.append((s, change))
    return [(theta[:-1], float(theta[-1])) for theta in path]
