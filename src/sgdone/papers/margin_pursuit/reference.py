"""Holland (2018): margin pursuit, batch and stochastic, and the methods of its section 2.1 that it is set against.

Labels y are −1 and 1, the margin of a row is y·xᵀw, and an intercept is a feature of value 1. ``alpha`` is the λ of the
paper with the penalty ½α‖w‖². Every function returns all iterates, the start first; the batch methods take constant
steps, or one per step if ``step`` is a function of t = 1, 2, …
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sgdone.papers.sgd_reference import Array

Steps = float | Callable[[int], float]
#: w_0, w_1, …
Path = list[Array]


def rho(u: Array) -> Array:
    """Eq. (4)."""
    size = np.abs(u)
    return np.where(size <= np.sqrt(2.0), size**2 / 2 - size**4 / 24, size * 2 * np.sqrt(2.0) / 3 - 0.5)


def psi(u: Array) -> Array:
    """Eq. (3)."""
    u = np.clip(u, -np.sqrt(2.0), np.sqrt(2.0))
    return np.asarray(u - u**3 / 6)


def descend(gradient: Callable[[Array], Array], step: Steps, steps: int, start: Array) -> Path:
    """Gradient descent, one gradient of the whole data a step."""
    path = [np.asarray(start, dtype=np.float64)]
    for t in range(1, steps + 1):
        path.append(path[-1] - (step(t) if callable(step) else step) * gradient(path[-1]))
    return path


def margin_pursuit(
    X: Array, y: Array, gamma: float, k: float, alpha: float, step: Steps, steps: int, start: Array
) -> Path:
    """Algorithm 1: gradient descent on eq. (5), s = var·k/γ from the variance of the margins at the start.

    The bias of the location of the margins is then a share 1/k of γ. The paper's w₀ is random: at w₀ = 0 all margins
    are equal and leave no scale. A step costs a pass over the data, and nothing else.
    """
    scale = float(np.var(y * (X @ start))) * k / gamma
    if not scale > 0.0:
        raise ValueError("all margins are equal at the start, and s = var·k/γ is 0: start elsewhere")
    rows = y[:, None] * X
    return descend(lambda w: alpha * w - scale * psi((gamma - rows @ w) / scale) @ rows / len(y), step, steps, start)


def stochastic_step(rule: str, scale: float, alpha: float, t: int) -> float:
    """Section 4 at the row t = 1, 2, …: "printed" is 1/(s√λ·t), "pegasos" 1/(λt), "root" 1/√t.

    The paper has 1 + t for t, which there counts from 0 as in Algorithm 1.
    """
    denominators = {"printed": scale * np.sqrt(alpha) * t, "pegasos": alpha * t, "root": np.sqrt(t)}
    return float(1.0 / denominators[rule])


def rescaled(margins: Array, alpha: float, delta: float = 0.05) -> float:
    """The data-based scale of Fig. 5: s = √(n·v_X/(2λ·log(1/δ))), v_X the 75th percentile of |margins|."""
    return float(np.sqrt(len(margins) * np.percentile(np.abs(margins), 75) / (2 * alpha * np.log(1 / delta))))


def stochastic_margin_pursuit(
    X: Array,
    y: Array,
    order: NDArray[np.intp],
    gamma: float,
    scale: float,
    alpha: float,
    rule: str,
    start: Array,
    reset_at: int | None = None,
    delta: float = 0.05,
) -> Path:
    """Section 4: one row per step, in the given ``order``, and a projection onto the ball of radius 1/√α.

    After ``reset_at`` steps the scale is reset, once, to `rescaled` of the margins of all rows: that costs one pass
    over the data. With the "printed" steps s cancels in the loss step s·ψ·x/(s√λ·t), and only decides how far away
    ψ is still linear.
    """
    path = [np.asarray(start, dtype=np.float64)]
    for t, i in enumerate(order, start=1):
        if t - 1 == reset_at:
            scale = rescaled(y * (X @ path[-1]), alpha, delta)
        w, gain = path[-1], scale * float(psi((gamma - y[i] * (X[i] @ path[-1])) / scale))
        w = w - stochastic_step(rule, scale, alpha, t) * (alpha * w - gain * y[i] * X[i])
        path.append(w * min(1.0, 1.0 / np.sqrt(alpha) / max(float(np.linalg.norm(w)), 1e-300)))
    return path


def location(values: Array, scale: float) -> float:
    """Eq. (2) by bisection between the smallest and the largest value."""
    low, high = float(values.min()), float(values.max())
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if np.sum(psi((middle - values) / scale)) < 0 else (low, middle)
    return 0.5 * (low + high)


def catoni_hinge(X: Array, y: Array, scale: float, alpha: float, step: Steps, steps: int, start: Array) -> Path:
    """Brownlees et al. (2015): subgradient descent on γ̂(w), the Catoni location of the hinge losses, plus ½α‖w‖².

    Eq. (2) defines γ̂; differentiated, it gives ∇γ̂ = Σψ′ᵢ·∇ℓᵢ/Σψ′ᵢ with ψ′ᵢ = max(0, 1 − uᵢ²/2), uᵢ = (γ̂ − ℓᵢ)/s:
    rows whose loss is far from γ̂, above or below, are left out. γ̂ need not be convex in w. A step costs a pass over
    the data and the root of eq. (2), some ten to two hundred sums over n. Where all ψ′ are 0 there is no direction.
    """
    rows = y[:, None] * X

    def gradient(w: Array) -> Array:
        losses = np.maximum(1.0 - rows @ w, 0.0)
        shares = np.maximum(1.0 - ((location(losses, scale) - losses) / scale) ** 2 / 2, 0.0)
        shares = shares / max(float(shares.sum()), 1e-300)
        return np.asarray(alpha * w - (shares * (rows @ w <= 1.0)) @ rows)

    return descend(gradient, step, steps, start)


def median_of_means(
    X: Array, y: Array, blocks: int, alpha: float, step: Steps, steps: int, start: Array, rng: np.random.Generator
) -> Path:
    """Lecué et al. (2018): rows are dealt into K blocks again at each step, which descends on that of median mean loss.

    Rows that spoil fewer than half of the blocks never get to the median. K is odd; rows left over are not used in that
    step. A step costs the losses of all rows, for the gradient of n/K of them.
    """
    rows = y[:, None] * X

    def gradient(w: Array) -> Array:
        dealt = rng.permutation(len(y))[: len(y) // blocks * blocks].reshape(blocks, -1)
        means = np.maximum(1.0 - rows[dealt] @ w, 0.0).mean(axis=1)
        chosen = rows[dealt[np.argsort(means)[blocks // 2]]]
        return np.asarray(alpha * w - (chosen @ w <= 1.0) @ chosen / len(chosen))

    return descend(gradient, step, steps, start)


def margin_moments(
    X: Array, y: Array, lambda1: float, lambda2: float, lambda3: float, step: Steps, steps: int, start: Array
) -> Path:
    """Zhang & Zhou as printed in section 2.1: ½‖w‖² + λ₁v̄ − λ₂m̄ + λ₃·(mean hinge loss).

    m̄ and v̄ are the mean and the variance of all margins: the variance couples the rows, ∇v̄ = (2/n)Σ(mᵢ − m̄)yᵢxᵢ, so
    that one row gives no unbiased gradient (two do: v̄ is the mean of ½(mᵢ − mⱼ)²). Convex. A step costs a pass over
    the data. The later form by the same authors is a sum over rows: ``losses.OptimalMarginDistribution``.
    """
    rows = y[:, None] * X

    def gradient(w: Array) -> Array:
        m = rows @ w
        return np.asarray(w + (2 * lambda1 * (m - m.mean()) - lambda2 - lambda3 * (m <= 1.0)) @ rows / len(m))

    return descend(gradient, step, steps, start)


def margin_distribution(
    X: Array, y: Array, a: float, b: float, alpha: float, step: Steps, steps: int, start: Array
) -> Path:
    """Garg & Roth (2003): the mean of exp(−a·h²) of the rows that are right and exp(−b·yh) of the others, plus ½α‖w‖².

    Not convex, and what is found depends on the start: rows that are right by a little, a·h² < ½, are pushed on the
    less the nearer they are to 0. A row at 0 counts as wrong. A step costs a pass over the data.
    """
    rows = y[:, None] * X

    def gradient(w: Array) -> Array:
        m = rows @ w
        right = 2 * a * m * np.exp(-a * m**2)
        return np.asarray(alpha * w - np.where(m > 0.0, right, b * np.exp(-b * np.minimum(m, 0.0))) @ rows / len(m))

    return descend(gradient, step, steps, start)
