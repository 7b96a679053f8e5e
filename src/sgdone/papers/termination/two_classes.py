"""Two classes of generated rows: Baghal et al. (2021), section 5.1."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from sgdone.papers.streams import GeneratedStream

#: A table of that shape of independent entries, symmetric about 0.
Noise = Callable[[np.random.Generator, tuple[int, int]], NDArray[np.float64]]


def gaussian(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Entries of N(0, 1)."""
    return rng.standard_normal(shape)


def student_t(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Entries of Student's t with two degrees of freedom, whose variance is infinite."""
    return rng.standard_t(2, shape)


def two_classes(n_features: int, scale: float, noise: Noise = gaussian) -> GeneratedStream:
    """Rows ζ = scale·η of one class and e₁ + scale·η of the other, equally likely, without end.

    Parameters
    ----------
    n_features : int
        Entries of a row.
    scale : float
        σ of the normal distribution, β of Student's.
    noise : callable
        Draws η: `gaussian` or `student_t`.

    Examples
    --------
    >>> block = next(two_classes(3, 0.01).blocks(np.random.default_rng(0)))
    >>> X, = block.rows.arrays
    >>> np.array_equal(X.round(), np.outer(block.labels > 0, [1, 0, 0]))
    True
    """

    def draw(rng: np.random.Generator, n_rows: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        positive = rng.random(n_rows) < 0.5
        X = noise(rng, (n_rows, n_features))
        X *= scale
        X[:, 0] += positive
        return X, np.where(positive, 1.0, -1.0)

    return GeneratedStream(n_features, draw)


def gaussian_accuracy(coef: NDArray[np.float64], intercept: float, sigma: float) -> float:
    """Probability that the sign of wᵀζ + b is right on `two_classes` with normal noise.

    Examples
    --------
    >>> gaussian_accuracy(np.array([1.0, 0.0]), -0.5, sigma=0.5)
    0.8413447460685429
    """
    spread = sigma * float(np.linalg.norm(coef))
    if spread == 0:
        return 0.5
    return 0.5 * float(ndtr((coef[0] + intercept) / spread) + ndtr(-intercept / spread))


def optimal_gaussian_accuracy(sigma: float) -> float:
    """The best accuracy of any classifier: Φ(‖μ₁ − μ₀‖/(2σ)) with ‖μ₁ − μ₀‖ = 1.

    Examples
    --------
    >>> optimal_gaussian_accuracy(0.5) == gaussian_accuracy(np.array([1.0]), -0.5, 0.5)
    True
    """
    return float(ndtr(0.5 / sigma))
