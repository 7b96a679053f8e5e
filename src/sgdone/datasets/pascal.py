"""Dense sets of the kind of the PASCAL Large Scale Learning Challenge, drawn at random."""

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sgdone.datasets.dataset import Dataset

#: LabelledRows drawn at once.
_CHUNK = 8192


def pascal_like(
    rng: np.random.Generator,
    n_rows: int = 10_000,
    n_features: int = 500,
    *,
    condition: float = 10.0,
    noise: float = 0.5,
    size: float = 1.0,
    normalise: bool = False,
    linear: bool = True,
    dtype: DTypeLike = np.float32,
) -> Dataset:
    """Draw rows like those of the synthetic sets alpha, beta, gamma, delta: Sonnenburg et al. (2008).

    How these were made was not published; what is known of them, from Xu (2011), Tables 1 and 2, is their shape, the
    size of their rows, and that beta is not linearly separable. Here x = QΛ^½g, g ~ N(0, I), Q a random rotation and
    the eigenvalues Λ at equal ratios. The label is the sign of uᵀg + ``noise``·e, e ~ N(0, 1), with a random unit
    vector u: every eigenvector matters as much, whatever its eigenvalue. No classifier then has a lower error than
    arctan(``noise``)/π.

    Parameters
    ----------
    rng : numpy.random.Generator
        Draws everything.
    n_rows, n_features : int
        Shape of ``X``.
    condition : float
        The largest eigenvalue of the covariance over the smallest.
    noise : float
        Standard deviation of what is added to uᵀg, whose own is 1, before its sign is taken.
    size : float
        Mean of ‖x‖².
    normalise : bool
        Whether every row has that ‖x‖² exactly, as those of alpha and beta have 1.
    linear : bool
        False takes the sign of ((uᵀg)² − (vᵀg)²)/2 + ``noise``·e instead, v a unit vector orthogonal to u. The same of
        −x, it lets a convex loss find no weights better than none; they err like a coin.
    dtype : float32 or float64
        Type of ``X``.

    Examples
    --------
    >>> data = pascal_like(np.random.default_rng(0), 1000, 20, noise=0.0, size=9.0, normalise=True)
    >>> data.X.shape, data.X.dtype, np.unique(data.y)
    ((1000, 20), dtype('float32'), array([-1,  1]))
    >>> round(float(np.max(np.sum(data.X**2, axis=1))), 3)
    9.0
    """
    if n_features < 2 or n_rows < 1 or not (condition >= 1 and noise >= 0 and size > 0):
        raise ValueError(
            f"n_rows={n_rows}, n_features={n_features}, condition={condition}, noise={noise}, size={size}: give a row "
            "or more, two features or more, a condition of 1 or more, no negative noise and a positive size"
        )
    rotation, _ = np.linalg.qr(rng.standard_normal((n_features, n_features)))
    eigenvalues = np.geomspace(1.0, 1.0 / condition, n_features)
    roots = np.sqrt(eigenvalues * (size / np.sum(eigenvalues)))
    towards, _ = np.linalg.qr(rng.standard_normal((n_features, 2)))
    X, y = np.empty((n_rows, n_features), dtype), np.empty(n_rows, np.int64)
    for first in range(0, n_rows, _CHUNK):
        g = rng.standard_normal((min(_CHUNK, n_rows - first), n_features))
        scores = _scores(g @ towards, linear) + noise * rng.standard_normal(len(g))
        rows = (g * roots) @ rotation.T
        if normalise:
            rows *= np.sqrt(size / np.einsum("ij,ij->i", rows, rows))[:, np.newaxis]
        X[first : first + len(g)], y[first : first + len(g)] = rows, np.where(scores > 0, 1, -1)
    kind = "a plane" if linear else "a pair of planes crossing"
    return Dataset(
        X=X,
        y=y,
        feature_names=None,
        target_names=["-1", "1"],
        name="pascal-like",
        task="classification",
        description=f"{n_rows:,} normal rows of {n_features} features, classes divided by {kind}, noise {noise:g}, "
        f"condition {condition:g}. Drawn at random after the synthetic sets of Sonnenburg et al. (2008).",
    )


def _scores(across: NDArray[np.float64], linear: bool) -> NDArray[np.float64]:
    return across[:, 0] if linear else np.asarray((across[:, 0] ** 2 - across[:, 1] ** 2) / 2.0)
