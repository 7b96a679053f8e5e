"""L1 and elastic net by forward-backward steps: Langford, Li & Zhang (2009), Duchi & Singer (2009).

The objective is the mean of v·ℓ plus α·(l1_ratio·‖w‖₁ + ½(1 − l1_ratio)·‖w‖²); the intercept is not penalised.
Below, α₁ = α·l1_ratio and α₂ = α·(1 − l1_ratio).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from sgdone.papers.sgd_reference import Array, Path, Update, explicit


def soft_threshold(w: Array, threshold: Array | float) -> Array:
    """sign(w)·max(|w| − threshold, 0).

    Examples
    --------
    >>> soft_threshold(np.array([3.0, -3.0, 1.0]), 2.0)
    array([ 1., -1.,  0.])
    """
    return np.asarray(np.where(np.abs(w) > threshold, w - np.sign(w) * threshold, 0.0))


def proximal(loss: Any, alpha: float, l1_ratio: float, intercept: bool) -> Update:
    """The gradient step of loss and L2, then the proximal one of L1; for :func:`sgd_reference.sgd`.

        w ← soft_threshold((1 − γα₂)w − γ·v·ℓ′·x, γα₁),  b ← b − γ·v·ℓ′.

    Of L1 alone it is Duchi & Singer's forward-backward splitting.

    Examples
    --------
    >>> from sgdone.losses import Squared
    >>> step = proximal(Squared(), 1.0, 0.5, False)
    >>> step(np.array([2.0, 0.1, 0.2]), 0.0, np.array([1.0, 0.0, 0.0]), 1.0, 1.0, 0.2)  # 0.9·w, less 0.2 where x = 1
    (array([1.5 , 0.  , 0.08]), 0.0)
    """
    forward = explicit(loss, alpha * (1.0 - l1_ratio), intercept)

    def update(w: Array, b: float, x: Array, y: float, v: float, gamma: float) -> tuple[Array, float]:
        w, b = forward(w, b, x, y, v, gamma)
        return soft_threshold(w, gamma * alpha * l1_ratio), b

    return update


def truncated_sgd(
    X: Array,
    y: Array,
    weights: Array,
    gamma: Callable[[int], float],
    loss: Any,
    alpha: float,
    l1_ratio: float,
    intercept: bool,
    every: int,
) -> Path:
    """Every iterate, the thresholds γα₁ of ``every`` rows applied at the last of these, as one.

    Langford et al.'s truncated gradient with gravity α₁, no upper end (θ = ∞), and K = ``every``; with 1 it is
    :func:`proximal`. A threshold of one row is smaller than what the noise of the next puts back: weights of features
    in every row are 0 only at chance. Over K rows the threshold grows like K, the noise like √K.
    """
    forward, owed = explicit(loss, alpha * (1.0 - l1_ratio), intercept), 0.0
    w, b = np.zeros(X.shape[1]), 0.0
    path = [(w, b)]
    for t, i in enumerate(np.flatnonzero(weights), start=1):
        w, b = forward(w, b, X[i], y[i], weights[i], gamma(t))
        owed += gamma(t) * alpha * l1_ratio
        if t % every == 0:
            w, owed = soft_threshold(w, owed), 0.0
        path.append((w, b))
    return path
