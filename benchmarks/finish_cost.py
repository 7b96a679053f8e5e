"""What the exact phase costs beside the bank: the rates of `sgdone.newton.exact_path`.

``python benchmarks/finish_cost.py`` prints, for generated tables and texts, seconds of the bank and of the finish from
nothing and what is expected of each; for texts also nanoseconds of a product for each entry and column. Only ratios
matter.
"""

import time
from collections.abc import Callable
from unittest import mock

import numpy as np
from scipy import sparse

from sgdone.bank import Bank
from sgdone.interfaces.objective import Objective
from sgdone.kernels.csr_columns import make_curved
from sgdone.losses import Logistic
from sgdone.newton.counted_work import bank_work, exact_work, fold_work
from sgdone.newton.exact_phase import ExactInMemory
from sgdone.rows import ArraySource
from sgdone.rows.rows import Rows
from sgdone.run import RunOptions, run
from sgdone.stopping import Gain

#: Rows, words and words of a row.
SHAPES = ((4200, 7500, 14), (8000, 8400, 44), (11000, 130_000, 150))


#: Rows, columns and classes of tables.
TABLES = (
    (500, 20, 2),
    (3000, 10, 2),
    (3000, 100, 2),
    (2000, 500, 2),
    (10_000, 20, 2),
    (30_000, 20, 2),
    (30_000, 100, 2),
    (100_000, 10, 2),
    (150, 4, 3),
    (1500, 64, 10),
    (7500, 16, 10),
    (15_000, 16, 26),
    (40_000, 54, 7),
)


def table(n_rows: int, n_columns: int, n_classes: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Normal columns, and labels of a multinomial model."""
    X = rng.standard_normal((n_rows, n_columns))
    scores = X @ (1.5 / np.sqrt(n_columns) * rng.standard_normal((n_columns, n_classes)))
    labels = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1).astype(np.float64)
    return X, 2.0 * labels - 1.0 if n_classes == 2 else labels


def text(n_rows: int, n_words: int, length: int, rng: np.random.Generator) -> tuple[sparse.csr_array, np.ndarray]:
    """Rows of norm 1 with words of Zipf's frequencies, and labels of a few of them."""
    words = np.minimum(rng.zipf(1.2, n_rows * length) - 1, n_words - 1) % n_words
    rows = np.repeat(np.arange(n_rows), length)
    X = sparse.coo_array((np.ones(words.size), (rows, words)), shape=(n_rows, n_words)).tocsr()
    X.data = np.log1p(X.data)
    X = sparse.diags_array(1.0 / np.sqrt(X.multiply(X).sum(axis=1))) @ X
    logits = X @ (10.0 * rng.standard_normal(n_words))
    return sparse.csr_array(X), np.where(logits - np.median(logits) + rng.logistic(size=n_rows) > 0, 1.0, -1.0)


def seconds(call: Callable[[], object], repeats: int = 3) -> float:
    """The least of several times, after one call that compiles."""
    call()
    found = []
    for _ in range(repeats):
        begin = time.process_time()
        call()
        found.append(time.process_time() - begin)
    return min(found)


def product_rate(X: sparse.csr_array, columns: int) -> float:
    """Nanoseconds of a product with the curvature for each entry and column."""
    rows, shape = Rows.of(X), (X.shape[0], columns)
    scores, changes, totals = np.zeros(shape), np.zeros(shape), np.zeros((2, columns))
    model, found = np.ones((X.shape[1], columns)), np.zeros((X.shape[1], columns))
    arrays = (*rows.arrays[:3], np.arange(X.shape[0], dtype=np.uint64), model, np.zeros(columns), np.ones(shape))
    multiply = make_curved(rows.types, columns)
    taken = seconds(lambda: multiply(*arrays, np.ones(shape), 1, False, scores, changes, totals, found))
    return 1e9 * taken / (X.nnz * columns)


def compare(source: ArraySource, objective: Objective) -> tuple[float, float]:
    """Seconds of the bank, and of a finish in its place."""

    def bank() -> object:
        return run(source, objective, Bank(), Gain())

    def finish() -> object:
        return run(source, objective, Bank(), Gain(), RunOptions(optional=ExactInMemory()))

    with mock.patch.object(ExactInMemory, "replaces_bank", return_value=True):
        return seconds(bank), seconds(finish)


def main() -> None:
    """Print two tables."""
    print("rows columns classes  bank ms (expected)  finish ms (expected)")
    for n_rows, n_columns, n_classes in TABLES:
        source = ArraySource(*table(n_rows, n_columns, n_classes, np.random.default_rng(0)))
        block, objective = next(source.blocks(np.random.default_rng(0))), Objective.of_classes(Logistic(), n_classes)
        expected = 1e-6 * bank_work(objective, block), 1e-6 * exact_work(objective, block)
        taken = [1e3 * found for found in compare(source, objective)]
        numbers = "  ".join(f"{found:.1f} ({guess:.1f})" for found, guess in zip(taken, expected, strict=True))
        print(f"{n_rows:7d} {n_columns:4d} {n_classes:3d}  {numbers}")
    print("\nrows words  bank s  finish s  ratio  expected ratio  ns/entry/column of 1, 2, 3")
    objective = Objective(Logistic())
    for shape in SHAPES:
        X, y = text(*shape, np.random.default_rng(0))
        source = ArraySource(X, y)
        block = next(source.blocks(np.random.default_rng(0)))
        bank, finish = compare(source, objective)
        expected_ratio = fold_work(objective, block) / bank_work(objective, block)
        rates = " ".join(f"{product_rate(X, columns):.2f}" for columns in (1, 2, 3))
        print(
            f"{shape[0]:6d} {shape[1]:6d}  {bank:.3f}  {finish:.3f}  {finish / bank:.1f}  {expected_ratio:.1f}  {rates}"
        )


if __name__ == "__main__":
    main()
