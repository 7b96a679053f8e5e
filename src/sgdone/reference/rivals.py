"""Bottou (2007) and Bordes, Bottou & Gallinari (2009): SGD with a scheduled shrinkage, and with a diagonal rescaling.

The objective is the mean of v·ℓ plus ½α‖w‖² with α > 0, α being the λ of the papers; the intercept is not penalised.
Both shrink the weights once in ``skip`` rows, so that a row of few non-zeros costs no more than these. Their t counts
from 0 at the first row: the first step size is 1/(α·t₀). One iterate a row, as :func:`averaged_sgd.sgd` returns them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from sgdone.reference.averaged_sgd import Array

#: θ_0, θ_1, …: every iterate (w, b).
Path = list[tuple[Array, float]]


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
    apart by the step on the same row (x, y), and r told nothing of the features' scales: that was the flaw.
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
