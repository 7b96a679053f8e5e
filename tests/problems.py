"""Small random problems for tests."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sgdone.losses import EpsilonInsensitive, Exponential, Hinge, Huber, Logistic, Quantile, Squared, SquaredHinge
from sgdone.rows import ArraySource
from tiers import at_night

LOSSES = [
    Logistic(),
    Hinge(),
    SquaredHinge(),
    Squared(),
    Exponential(),
    Huber(0.7),
    EpsilonInsensitive(0.2),
    Quantile(0.3),
]
#: Where every further loss would only take time to compile.
FEW_LOSSES = [Logistic(), *at_night([Hinge(), Squared()])]


@dataclass
class RandomProblem:
    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray

    def source(self, *, as_csr=False, **options):
        X = sparse.csr_array(self.X) if as_csr else self.X
        return ArraySource(X, self.y, self.weights, **options)


def random_problem(seed, loss, n_rows=None, n_features=None, density=0.6):
    """Continuous values, so that no margin ties a kink; some rows empty, some of weight 0."""
    rng = np.random.default_rng(seed)
    n_rows = n_rows or int(rng.integers(1, 400))
    n_features = n_features or int(rng.integers(1, 12))
    X = rng.standard_normal((n_rows, n_features)) * (rng.random((n_rows, n_features)) < density)
    scores = X @ rng.standard_normal(n_features) + rng.standard_normal(n_rows)
    y = np.where(scores > 0, 1.0, -1.0) if loss.task == "classification" else scores
    weights = rng.uniform(0.5, 1.5, n_rows) * (rng.random(n_rows) < 0.9)
    weights[0] = 1.0
    return RandomProblem(X, y, weights)
