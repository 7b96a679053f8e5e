"""Rows that are part dense, part sparse, beside the same rows in one storage.

``python benchmarks/mixed_rows.py`` prints, for generated tables of numbers and categories, how long three passes of the
default fit take on a `MixedMatrix`, relative to a CSR matrix, a dense array and itself (medians of alternating pairs),
and the error of each fit: the numbers of a CSR matrix are not centred.
"""

import time
from typing import Any

import numpy as np
from scipy import sparse

from sgdone import LinearClassifier
from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.stopping import Gain, MaxPasses

#: Rows, numbers, categories and levels of each.
TABLES = ((200_000, 6, 8, 12), (200_000, 30, 3, 100), (100_000, 10, 5, 2000))
#: A dense copy of more entries than this is left out.
_MOST_DENSE = 1 << 27
_PAIRS = 5


def table(
    n_rows: int, n_numbers: int, n_categories: int, n_levels: int, rng: np.random.Generator
) -> tuple[MixedMatrix, np.ndarray]:
    """Numbers in any units, one feature a level, and labels of a logistic model."""
    numbers = rng.standard_normal((n_rows, n_numbers)) * 10.0 ** rng.uniform(-2, 2, n_numbers) + 5.0
    levels = rng.integers(0, n_levels, (n_rows, n_categories)) + n_levels * np.arange(n_categories)
    indptr = np.arange(0, levels.size + 1, n_categories)
    shape = (n_rows, n_categories * n_levels)
    entries = sparse.csr_array((np.ones(levels.size), levels.ravel().astype(np.int32), indptr), shape)
    scores = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0) @ (0.5 * rng.standard_normal(n_numbers))
    scores += entries @ (0.7 * rng.standard_normal(entries.shape[1]))
    return MixedMatrix(numbers, entries), scores + rng.logistic(size=n_rows) > 0


def fit(X: Any, y: np.ndarray) -> tuple[float, LinearClassifier]:
    """Seconds of three passes, and the model."""
    model = LinearClassifier(stop=Gain(tol=0) | MaxPasses(3), check_optimum=False, random_state=0)
    begin = time.perf_counter()
    model.fit(X, y)
    return time.perf_counter() - begin, model


def main() -> None:
    for shape in TABLES:
        X, y = table(*shape, np.random.default_rng(0))
        forms = {"mixed": X, "csr": X.tocsr()}
        if X.shape[0] * X.shape[1] <= _MOST_DENSE:
            forms["dense"] = X.toarray()
        errors = {name: 1.0 - fit(rows, y)[1].score(rows, y) for name, rows in forms.items()}
        print("{:,} rows, {} numbers, {} categories of {:,} levels".format(*shape))
        for name, rows in forms.items():
            pairs = [(fit(X, y)[0], fit(rows, y)[0]) for _ in range(_PAIRS)]
            ratio = float(np.median([ours / theirs for ours, theirs in pairs]))
            print(f"  mixed / {name:5}: {ratio:.2f} of the time; error of {name}: {errors[name]:.2%}", flush=True)


if __name__ == "__main__":
    main()
