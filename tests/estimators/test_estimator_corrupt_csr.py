"""CSR matrices that point outside themselves: an error, never a crash."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
from scipy import sparse

from sgdone import LinearClassifier
from tiers import fast_first


@pytest.fixture
def rows(rng):
    X = rng.standard_normal((50, 8)) * (rng.random((50, 8)) < 0.5)
    X[5] = 1.0
    return sparse.csr_array(X), np.tile([0, 1], 25)


@pytest.mark.parametrize("index", [8, -(2**31)])
@pytest.mark.parametrize("place", [0, 7], ids=["first", "last"])
@pytest.mark.parametrize("seen", [False, True], ids=["new", "seen to be sorted"])
@pytest.mark.parametrize("long", fast_first(1, [False, True]), ids=["int32", "int64"])
def test_an_index_out_of_range(long, seen, place, index, rows):
    X, y = rows
    if long:
        X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    model = LinearClassifier().fit(X, y)
    if not seen:
        X = sparse.csr_array((X.data, X.indices, X.indptr), shape=X.shape)
    X.indices[X.indptr[5] + place] = index
    message = f"row 5 of the CSR matrix X has the column index {index}, but X has 8 columns: rebuild it"
    for use in (
        lambda: LinearClassifier().fit(X, y),
        lambda: model.partial_fit(X, y),
        lambda: model.predict(X),
    ):
        with pytest.raises(ValueError, match=message):
            use()


@pytest.mark.parametrize("value", [-1, 10**6])
def test_pointers_out_of_range(value, rows):
    X, y = rows
    X.indptr[6] = value
    with pytest.raises(ValueError, match=r"indptr of the CSR matrix X is invalid at row [56]: rebuild it"):
        LinearClassifier().fit(X, y)


@pytest.mark.parametrize("change", ["X.indptr[0] = 3", "X.indptr[-1] = 10**6", "X.data = X.data[:-4]"])
def test_pointers_that_do_not_fit_the_entries(change, rows):
    X, y = rows
    exec(change, {"X": X})
    with pytest.raises(ValueError, match=r"rebuild|index pointer|indptr"):
        LinearClassifier().fit(X, y)


def test_entries_behind_the_last_row_do_not_matter(rows, same_model):
    X, y = rows
    longer = X.copy()
    longer.data = np.r_[X.data, np.nan]
    longer.indices = np.r_[X.indices, 10**6].astype(X.indices.dtype)
    same_model(LinearClassifier(random_state=0).fit(longer, y), LinearClassifier(random_state=0).fit(X, y))


@pytest.mark.slow
def test_the_process_survives():
    """In a process of its own, without the bounds that a debugger might add."""
    code = """
        import numpy as np
        from scipy import sparse
        from sgdone import LinearClassifier
        X = sparse.csr_array(np.ones((2000, 30)))
        y = np.tile([0, 1], 1000)
        X.indices[::7] = -3
        for model in (LinearClassifier(), LinearClassifier(n_jobs=2)):
            try:
                model.fit(X, y)
            except ValueError as error:
                print("survived:", error)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("survived: row 0 of the CSR matrix X") == 2
