"""Cost of training six models side by side over that of one: each row is read once and used for all.

Run as ``python benchmarks/bank_cost.py``. Ratios are medians of alternating pairs within one run; beside them the
ratio of one model to itself.
"""

import argparse
import time

import numpy as np
from scipy import sparse

from sgdone.bank.evaluation import Candidate
from sgdone.bank.models import Models
from sgdone.interfaces.objective import Objective
from sgdone.losses import Logistic
from sgdone.rows import ArraySource
from sgdone.rows.rows import Block, Order, Scaling
from sgdone.rows.validation_rows import ValidationRows


def problems(rng: np.random.Generator) -> dict[str, tuple[object, int]]:
    """Rows in the shapes of covertype, MNIST and text; and how many classes."""
    dense = rng.standard_normal((100_000, 54))
    images = rng.standard_normal((10_000, 784))
    text = sparse.random_array((40_000, 20_000), density=80 / 20_000, format="csr", rng=rng)
    return {
        "dense 100,000 × 54": (dense, 2),
        "dense 10,000 × 784": (images, 2),
        "sparse 40,000 × 20,000, 80 a row": (text, 2),
        "dense 10,000 × 784, 10 classes": (images, 10),
    }


def models_of(count: int, objective: Objective, n_features: int) -> Models:
    candidates = [Candidate(1.0 + k / 100, 1.0) for k in range(count)]
    weights, intercept = np.zeros((objective.n_outputs, n_features)), np.zeros(objective.n_outputs)
    models = Models.at(objective, candidates, np.dtype(np.float64), weights, intercept)
    models.set_steps(0.25, float(n_features), 1.0, [1e-4] * count)
    return models


def seconds(models: Models, block: Block, folds: ValidationRows) -> float:
    copy = models.copy()
    start = time.perf_counter()
    copy.advance(block, folds.of_row, 0, block.order.size)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--models", type=int, default=6)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    for name, (X, n_classes) in problems(rng).items():
        n_rows, n_features = X.shape
        labels = rng.integers(0, n_classes, n_rows).astype(float)
        objective = Objective.of_classes(Logistic(), n_classes)
        shift = None if sparse.issparse(X) else np.zeros(n_features)
        source = ArraySource(
            X, labels if n_classes > 2 else 2 * labels - 1, scaling=Scaling(np.ones(n_features), shift)
        )
        order = np.concatenate([block.order.rows for block in source.blocks(rng)])
        block = Block(source.rows, source.labels, source.sample_weight, Order.of(order))
        folds = ValidationRows.none(n_rows)
        one, many = (models_of(count, objective, n_features) for count in (1, options.models))
        times = [[seconds(models, block, folds) for models in (one, many, one)] for _ in range(options.pairs + 1)][1:]
        first, bank, again = np.array(times).T
        ratio, itself = np.median(bank / first), np.median(again / first)
        print(
            f"{name}: one {np.median(first):.3f} s, {options.models} models {np.median(bank):.3f} s, "
            f"ratio {ratio:.2f} (one to itself {itself:.2f})"
        )


if __name__ == "__main__":
    main()
