"""The methods that Xu (2011) compares averaged SGD with, in NumPy: SGD2, SGD-QN, Pegasos and online L-BFGS.

The objective is the mean of v·ℓ plus ½α‖w‖² with α > 0, the λ of the papers; the intercept is not penalised.

SGD2 (Bottou 2007) and SGD-QN (Bordes, Bottou & Gallinari 2009) make one update per row and shrink the weights once in
``skip`` rows, so that a row of few non-zeros costs no more than these. Their t counts from 0 at the first row: the
first step size is 1/(α·t₀).

Pegasos (Shalev-Shwartz et al. 2007) and online L-BFGS (Schraudolph, Yu & Günter 2007) make one update per minibatch. A
minibatch is the next k rows of positive weight; rows left over at the end make no update.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgdone.papers.sgd_reference import Array, Path


def skip_of(X: Array, factor: float = 16.0) -> int:
    """Bordes et al. (2009): 16 times rows × features / non-zeros, and at least 1.

    Shrinking then costs a sixteenth of what the loss steps cost; with ``factor=1``, as much.

    Examples
    --------
    >>> skip_of(np.eye(4)), skip_of(np.ones((4, 4))), skip_of(np.eye(4), factor=1)
    (64, 16, 4)
    """
    nonzeros = max(1, int(np.count_nonzero(X)))
    return max(1, int(factor * X.size / nonzeros))


def typical_t0(loss: Any, alpha: float) -> float:
    """Bottou's t₀ for rows of norm 1: the first step η₀ = 1/(αt₀) may move the prediction by a typical weight.

    A typical weight is √(1/√α), and η₀ is that over the slope of a row wrong by as much, or over 1 if this is larger.
    At least 1: with a smaller t₀, which takes α > 1, a shrinkage 1 − αη would change signs.

    Examples
    --------
    >>> from sgdone.losses import Hinge
    >>> typical_t0(Hinge(), 1e-4)  # weights of 10
    1000.0
    """
    weight = float(np.sqrt(1.0 / np.sqrt(alpha)))
    first_step = weight / max(1.0, abs(float(loss.slope(-weight, 1.0))))
    return max(1.0, 1.0 / (first_step * alpha))


def t0_on_sample(solve: Callable[[float], Path], objective: Callable[[Array, float], float]) -> float:
    """Bordes et al.: of 1, 10, …, 10¹⁰ the t₀ whose run over a sample ends at the lowest objective on that sample.

    A run that diverges has none; of equals the smallest t₀ is taken.
    """
    with np.errstate(all="ignore"):
        costs = {t0: objective(*solve(t0)[-1]) for t0 in 10.0 ** np.arange(11)}
    return float(min(costs, key=lambda t0: costs[t0] if np.isfinite(costs[t0]) else np.inf))


def shrinkage(rate: float, skip: int) -> float:
    """Bottou: 1 − skip·rate in place of (1 − rate)^skip, unless it is below 0.8.

    Examples
    --------
    >>> shrinkage(0.01, 10), shrinkage(0.5, 2)
    (0.9, 0.25)
    """
    return 1.0 - skip * rate if skip * rate <= 0.2 else float((1.0 - rate) ** skip)


def sgd2(X: Array, y: Array, weights: Array, loss: Any, alpha: float, t0: float, skip: int, intercept: bool) -> Path:
    """SGD2: the loss step with η = 1/(α(t + t₀)) at every row, and after that of each ``skip``-th row the shrinkage.

    Examples
    --------
    Step sizes 1/2 and 1/3; the second row's is followed by w ← (1 − 1/3)²·w:

    >>> from sgdone.losses import Hinge
    >>> path = sgd2(np.ones((2, 1)), np.ones(2), np.ones(2), Hinge(), 1.0, t0=2.0, skip=2, intercept=False)
    >>> [round(float(w[0]), 4) for w, b in path]  # 0, 1/2, 4/9·(1/2 + 1/3)
    [0.0, 0.5, 0.3704]
    """
    w, b = np.zeros(X.shape[1]), 0.0
    path = [(w, b)]
    for t, i in enumerate(np.flatnonzero(weights)):
        eta = 1.0 / (alpha * (t + t0))
        move = eta * weights[i] * float(loss.slope(X[i] @ w + b, y[i]))
        w, b = w - move * X[i], b - move * intercept
        if (t + 1) % skip == 0:
            w = shrinkage(eta * alpha, skip) * w
        path.append((w, b))
    return path


def sgdqn(X: Array, y: Array, weights: Array, loss: Any, alpha: float, t0: float, skip: int, intercept: bool) -> Path:
    """SGD-QN as corrected by the erratum of 2010: θ ← θ − v·ℓ′·B∘(x, 1), B a diagonal that holds the step sizes.

    B starts at 1/(αt₀). Every ``skip`` rows θ is kept as ω, shrunk to θ − skip·αB∘θ, and moved by that row's loss step.
    At the next row (x, y), with the gradients of its own loss and of the penalty at both points,

        r = [∇(θ) − ∇(ω)] / (θ − ω), kept within [α, 100α], α where θ and ω do not differ;  B ← B/(1 + skip·B∘r).

    So 1/B grows like r·t, and the step of a feature is between 1/(100αt) and 1/(αt). In the paper of 2009 ω and θ were
    apart by the step on the same row (x, y), and r did not depend on the features' scales: that was the flaw.
    The intercept is a feature of value 1, without penalty but with the same bounds on r. Weights change signs in the
    shrinkage if t₀ < ``skip``: unlike that of SGD2 it has no guard, and t₀ is to be found on a sample.
    """
    rows = np.column_stack([X, np.full(len(X), float(intercept))])
    penalty = np.append(np.full(X.shape[1], alpha), 0.0)
    theta, B = np.zeros(rows.shape[1]), np.full(rows.shape[1], 1.0 / (alpha * t0))
    path, kept = [theta], None
    for t, i in enumerate(np.flatnonzero(weights)):
        x, slope = rows[i], weights[i] * float(loss.slope(rows[i] @ theta, y[i]))
        if kept is not None:
            change, moved = (slope - weights[i] * float(loss.slope(x @ kept, y[i]))) * x, theta - kept
            ratio = penalty + np.divide(change, moved, out=np.zeros_like(x), where=moved != 0.0)
            B = B / (1.0 + skip * B * np.clip(ratio, alpha, 100.0 * alpha))
        shrunk = skip if (t + 1) % skip == 0 else 0
        kept = theta if shrunk else None
        theta = theta - shrunk * penalty * B * theta - slope * B * x
        path.append(theta)
    return [(theta[:-1], float(theta[-1])) for theta in path]


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

    For the hinge loss and rows of weight 1 it is the 1/√α of Pegasos; other targets or weights can put w* outside it.
    """
    used = np.flatnonzero(weights)
    return float(np.sqrt(np.mean(weights[used] * loss.value(np.zeros(len(used)), y[used])) / alpha))


def pegasos(
    X: Array, y: Array, weights: Array, loss: Any, alpha: float, minibatch: int, radius: float, intercept: bool
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

    The initial B is the *mean* of sᵀy/yᵀy over the pairs kept, not only that of the last one.
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
