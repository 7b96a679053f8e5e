"""Random dense data sets similar to those of the PASCAL Large Scale Learning Challenge."""

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sgdone.datasets.dataset import Dataset

#: Number of rows drawn at a time.
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
    """Generate data similar to the synthetic sets alpha, beta, gamma and delta: Sonnenburg et al. (2008).

    The generator of these sets was not published. Xu (2011), Tables 1 and 2, gives their shape, the norm of their rows,
    and that beta is not linearly separable. Here x = QΛ^½g with g ~ N(0, I), Q a random rotation and the eigenvalues Λ
    in geometric progression. The label is the sign of uᵀg + ``noise``·e with e ~ N(0, 1) and a random unit vector u:
    every eigenvector is equally informative, whatever its eigenvalue. The Bayes error is arctan(``noise``)/π.

    Parameters
    ----------
    rng : numpy.random.Generator
        Random number generator.
    n_rows, n_features : int
        Shape of ``X``.
    condition : float
        Condition number of the covariance: the largest eigenvalue divided by the smallest.
    noise : float
        Standard deviation of the noise added to uᵀg, which has standard deviation 1.
    size : float
        Mean of ‖x‖².
    normalise : bool
        Whether to scale each row to exactly this ‖x‖². Rows of alpha and beta have norm 1.
    linear : bool
        If False, the label is the sign of ((uᵀg)² − (vᵀg)²)/2 + ``noise``·e, v a unit vector orthogonal to u. It is
        the same for x and −x, so no linear classifier does better than chance.
    dtype : float32 or float64
        Dtype of ``X``.

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
            f"n_rows={n_rows}, n_features={n_features}, condition={condition}, noise={noise}, size={size}: n_rows and "
            "condition must be at least 1, n_features at least 2, noise non-negative and size positive"
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
