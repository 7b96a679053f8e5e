"""Gaussian features with a normal or a binary response: the models of Chee & Toulis (2018), sections 3 and 4."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.special import expit

from sgdone.papers.streams import GeneratedStream
from sgdone.papers.tables import Array

#: Outcomes y for the scores xᵀθ*.
Response = Callable[[np.random.Generator, Array], Array]


def normal(sigma: float) -> Response:
    """Outcomes y ~ N(xᵀθ*, σ²)."""
    return lambda rng, scores: scores + sigma * rng.standard_normal(scores.size)


def binary(rng: np.random.Generator, scores: Array) -> Array:
    """Outcomes y = 1 with probability 1/(1 + exp(−xᵀθ*)), otherwise −1."""
    return np.where(rng.random(scores.size) < expit(scores), 1.0, -1.0)


def decaying(n_features: int) -> Array:
    """θ*_j = 10·exp(−0.75·j), j = 1, 2, …: sections 3.2 and 4.3.

    Examples
    --------
    >>> decaying(3).round(2)
    array([4.72, 2.23, 1.05])
    """
    return np.asarray(10.0 * np.exp(-0.75 * np.arange(1, n_features + 1)))


@final
@dataclass(frozen=True)
class GaussianModel:
    """x = Rz with z ~ N(0, I), and y given xᵀθ*.

    Parameters
    ----------
    optimum : array, (features,)
        θ*.
    root : array, (features, features)
        R; the covariance of x is RRᵀ.
    response : callable
        How y comes from xᵀθ*: ``normal(sigma)`` or `binary`.
    """

    optimum: Array
    root: Array
    response: Response

    def draw(self, rng: np.random.Generator, n_rows: int) -> tuple[Array, Array]:
        """Independent rows and their outcomes."""
        X = rng.standard_normal((n_rows, self.optimum.size)) @ self.root.T
        return X, self.response(rng, X @ self.optimum)

    def stream(self) -> GeneratedStream:
        """Rows without end.

        Examples
        --------
        >>> model = GaussianModel(np.array([1.0, 2.0]), np.eye(2), normal(0.0))
        >>> X, y = next(model.stream().arrays(np.random.default_rng(0)))
        >>> np.allclose(y, X @ [1.0, 2.0])
        True
        """
        return GeneratedStream(self.optimum.size, self.draw)
