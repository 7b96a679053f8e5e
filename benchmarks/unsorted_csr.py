"""Time of a fit on CSR rows whose entries are unsorted, over that on sorted ones.

Run as ``python benchmarks/unsorted_csr.py``. Ratios are medians of alternating pairs within one run; beside them the
ratio of sorted rows to themselves, which is the noise.
"""

import argparse
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sgdone import LinearClassifier, SGDClassifier


def sparse_rows(n_rows: int, n_features: int, entries: int, seed: int = 0) -> tuple[Any, NDArray[np.intp]]:
    """Rows with entries in random columns, frequent and rare ones, and labels that depend on them."""
    rng = np.random.default_rng(seed)
    columns = (n_features * rng.random((n_rows, entries)) ** 3).astype(np.int32)
    rows = sparse.coo_array(
        (rng.standard_normal(columns.size), (np.repeat(np.arange(n_rows), entries), columns.ravel()))
    )
    X = sparse.csr_array(rows, shape=(n_rows, n_features))
    X.sum_duplicates()
    noise = rng.standard_normal(n_rows)
    return X, (X @ rng.standard_normal(n_features) + noise > 0).astype(np.intp)


def unsorted(X: Any, seed: int = 1) -> Any:
    """The same matrix, the entries of each row in random order."""
    rng = np.random.default_rng(seed)
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    order = np.lexsort((rng.random(X.nnz), row))
    return sparse.csr_array((X.data[order], X.indices[order], X.indptr.copy()), X.shape)


def seconds(model: Any, X: Any, y: NDArray[np.intp]) -> float:
    """Time of one fit; the matrix is built again, because SciPy remembers what it has found out about one."""
    fresh = sparse.csr_array((X.data, X.indices, X.indptr), X.shape)
    start = time.perf_counter()
    model.fit(fresh, y)
    return time.perf_counter() - start


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=40_000)
    parser.add_argument("--features", type=int, default=20_000)
    parser.add_argument("--entries", type=int, default=60)
    parser.add_argument("--pairs", type=int, default=7)
    options = parser.parse_args()
    X, y = sparse_rows(options.rows, options.features, options.entries)
    turned = unsorted(X)
    models = {
        "LinearClassifier()": LinearClassifier(random_state=0),
        "SGDClassifier(stop=1)": SGDClassifier(stop=1, check_optimum=False, random_state=0),
    }
    for name, model in models.items():
        times = [[seconds(model, rows, y) for rows in (X, turned, X)] for _ in range(options.pairs + 1)][1:]
        first, other, again = np.array(times).T
        ratio, noise = np.median(other / first), np.median(again / first)
        print(f"{name}: {np.median(first):.3f} s sorted; unsorted/sorted {ratio:.2f}, sorted/sorted {noise:.2f}")


if __name__ == "__main__":
    main()
