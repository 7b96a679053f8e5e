"""Two classes of generated rows without end."""

from collections.abc import Callable, Iterator
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from sgdone.data.base import Block, Source
from sgdone.data.rows import Rows, frozen

#: A table of that shape of independent entries, symmetric about 0.
Noise = Callable[[np.random.Generator, tuple[int, int]], NDArray[np.float64]]

_ROWS_IN_BLOCK = 1024


def gaussian(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Entries of N(0, 1)."""
    return rng.standard_normal(shape)


def student_t(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Entries of Student's t with two degrees of freedom, whose variance is infinite."""
    return rng.standard_t(2, shape)


@final
class TwoClassStream(Source):
    """ζ = scale·η for the one class and e₁ + scale·η for the other, as likely: Baghal et al. (2021), section 5.1.

    Parameters
    ----------
    n_features : int
        Entries of a row.
    scale : float
        σ of the normal distribution, β of Student's.
    noise : callable
        What η is: `gaussian` or `student_t`.

    Examples
    --------
    >>> stream = TwoClassStream(3, 0.01, gaussian)
    >>> block = next(stream.blocks(np.random.default_rng(0)))
    >>> X, = block.rows.arrays
    >>> np.array_equal(X.round(), np.outer(block.labels > 0, [1, 0, 0]))
    True
    """

    def __init__(self, n_features: int, scale: float, noise: Noise = gaussian) -> None:
        self._n_features, self.scale, self.noise = n_features, scale, noise

    @property
    def n_features(self) -> int:
        """Entries of a row."""
        return self._n_features

    @property
    def n_rows(self) -> None:
        """Rows never end."""
        return

    def blocks(self, rng: np.random.Generator) -> Iterator[Block]:
        """One pass, which never ends."""
        order = np.arange(_ROWS_IN_BLOCK, dtype=np.uint64)
        weight = frozen(np.ones(1))
        while True:
            positive = rng.random(_ROWS_IN_BLOCK) < 0.5
            X = self.noise(rng, (_ROWS_IN_BLOCK, self.n_features))
            X *= self.scale
            X[:, 0] += positive
            yield Block(Rows.of(X), frozen(np.where(positive, 1.0, -1.0)), weight, order, order)


def gaussian_accuracy(coef: NDArray[np.float64], intercept: float, sigma: float) -> float:
    """Probability that the sign of wᵀζ + b is right, the noise of `TwoClassStream` being normal.

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
    """The best any classifier can do: Φ(‖μ₁ − μ₀‖/(2σ)) with ‖μ₁ − μ₀‖ = 1.

    Examples
    --------
    >>> optimal_gaussian_accuracy(0.5) == gaussian_accuracy(np.array([1.0]), -0.5, 0.5)
    True
    """
    return float(ndtr(0.5 / sigma))
