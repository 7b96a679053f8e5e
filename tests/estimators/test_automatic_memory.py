"""Memory of default fits with very many columns, in vectors of one number per column."""

import tracemalloc
from contextlib import contextmanager

import numpy as np
import pytest
from scipy import sparse

from sgdone import LinearClassifier
from sgdone.bank.models import Models

#: More columns than any other array of these fits has numbers.
N_COLUMNS = 500_000
VECTOR = 8 * N_COLUMNS


@contextmanager
def traced_memory():
    """Bytes of NumPy's arrays and of Python's objects: those at the end, and the largest number."""
    found = {}
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        yield found
        now, peak = tracemalloc.get_traced_memory()
        found |= {"now": now - before, "peak": peak - before}
    finally:
        tracemalloc.stop()


@pytest.fixture(name="largest_bank")
def largest_bank_of_models(monkeypatch):
    """The bytes of all models of a bank when they were the most."""
    sizes, select = [], Models._select

    def selected(models, chosen):
        sizes.append(models.weights.nbytes)
        select(models, chosen)
        sizes.append(models.weights.nbytes)

    monkeypatch.setattr(Models, "_select", selected)
    return lambda: max(sizes)


def wide_rows(n_rows, n_columns=N_COLUMNS, per_row=30):
    rng = np.random.default_rng(0)
    columns = np.sort((n_columns * rng.random((n_rows, per_row)) ** 3).astype(np.int32), axis=1)
    indptr = np.arange(0, n_rows * per_row + 1, per_row, dtype=np.int32)
    X = sparse.csr_array((rng.random(n_rows * per_row), columns.ravel(), indptr), (n_rows, n_columns))
    X.sum_duplicates()
    return X, (X @ rng.standard_normal(n_columns) + rng.standard_normal(n_rows) > 0).astype(int)


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [3_000, 6_000])
def test_ten_vectors_beside_the_models(n_rows, largest_bank):
    X, y = wide_rows(n_rows)
    model = LinearClassifier(random_state=0)
    model.fit(X[:, :50_000], y)  # compiles
    with traced_memory() as found:
        model.fit(X, y)
    assert model.verdict_.finish_passes == 0
    assert largest_bank() >= 20 * VECTOR
    assert found["peak"] - largest_bank() <= 10 * VECTOR
