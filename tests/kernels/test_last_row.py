"""Inner products of successive rows: as dense ones, whatever the rows, and when the 32-bit numbers wrap around."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from sgdone.kernels.jit import compiled
from sgdone.rows.rows import Rows, Scaling
from sgdone.stopping import Pflug
from tiers import examples, fast_first, interpreted

UNITS = {
    "plain": None,
    "scaled": Scaling(np.linspace(0.5, 2.0, 6)),
    "shifted": Scaling(np.linspace(0.5, 2.0, 6), np.linspace(-1.0, 1.0, 6)),
}


def make_products(access, types):
    overlap = access.overlap

    @compiled(overlap, types)
    def overlaps(rows, order, memory, out):
        for position in range(order.size):
            out[position] = overlap(rows, order[position], memory)

    return overlaps


def products(X, order, units=None, memory=None):
    """What `overlap` gives for rows in this order, and the memory it leaves."""
    rows = Rows.of(X, units)
    if memory is None:
        (watch,) = Pflug().watches(Pflug().start(None), rows)
        memory = watch.memory
    out = np.empty(len(order))
    make_products(rows.access, rows.types)(rows.arrays, np.asarray(order, dtype=np.uint64), memory, out)
    return out, memory


def expected(X, order, units=None):
    """The same, of the dense rows; the product of the first row has no other side."""
    rows = X[order]
    if units is not None:
        rows = (rows - (0.0 if units.shift is None else units.shift)) / units.scale
    return np.sum(rows[1:] * rows[:-1], axis=1)


def sparse_rows(rng, n_rows=30):
    """Some rows are empty, and some full."""
    X = rng.standard_normal((n_rows, 6)) * (rng.random((n_rows, 6)) < 0.4)
    X[::7] = 0.0
    X[3::7] = rng.standard_normal(6)
    return X


@interpreted
@pytest.mark.parametrize("units", UNITS.values(), ids=UNITS)
@pytest.mark.parametrize("form", fast_first(1, [np.asarray, sparse.csr_array]), ids=["dense", "csr"])
@examples(50)
@given(seed=st.integers(0, 10**6))
def test_products_are_those_of_dense_rows(form, units, seed):
    rng = np.random.default_rng(seed)
    X = sparse_rows(rng)
    order = rng.integers(0, 30, 80)
    found, _ = products(form(X), order, units)
    assert np.allclose(found[1:], expected(X, order, units), rtol=1e-12, atol=1e-12)


@interpreted
def test_a_row_with_itself(rng):
    X = sparse_rows(rng)
    found, _ = products(sparse.csr_array(X), np.repeat(np.arange(30), 2))
    assert np.allclose(found[1::2], np.sum(X**2, axis=1), rtol=1e-13)


@interpreted
def test_the_first_row_has_no_other_side(rng):
    X = sparse_rows(rng)
    assert products(sparse.csr_array(X), [3])[0] == 0.0
    assert products(X, [3])[0] == 0.0


@interpreted
@pytest.mark.parametrize("units", UNITS.values(), ids=UNITS)
def test_memory_goes_on_from_matrix_to_matrix(units, rng):
    """No two rows need be in the same matrix."""
    X = sparse_rows(rng)
    order = np.arange(30)
    whole, _ = products(sparse.csr_array(X), order, units)
    memory, parts = None, []
    for start, end in ((0, 1), (1, 11), (11, 12), (12, 30)):
        found, memory = products(sparse.csr_array(X[start:end]), order[: end - start], units, memory)
        parts.append(found)
    assert np.array_equal(np.concatenate(parts), whole)


@interpreted
@pytest.mark.parametrize("units", UNITS.values(), ids=UNITS)
@pytest.mark.parametrize("begin", [2**31 - 40, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 200])
def test_entries_are_counted_beyond_what_32_bits_hold(begin, units, rng):
    """The counter and the marks are set to what they would be after that many entries."""
    X = sparse_rows(rng, 200)
    order = rng.integers(0, 200, 400)
    _, memory = products(sparse.csr_array(X), order[:10], units)
    marks, place = memory[0], memory[2]
    seen = marks != np.uint32(0xFFFFFFFF)
    ahead = np.uint32(begin - int(place[0]))
    marks[seen] += ahead
    place[0] += ahead
    last = np.copy(order[9:])
    found, memory = products(sparse.csr_array(X), last[1:], units, memory)
    assert np.allclose(found, expected(X, last, units), rtol=1e-12, atol=1e-12)
    assert int(memory[2][0]) < 2**31 + 7


@interpreted
def test_marks_of_long_ago_are_not_mistaken():
    """A feature last seen long ago, when the counter has started again and reaches the value of its mark."""
    X = sparse.csr_array(np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 3.0], [5.0, 1.0, 1.0]]))
    _, memory = products(X, [0, 1])
    marks, place = memory[0], memory[2]

    def go_on_to(begin):
        """As if rows of the last two features had been read until the counter is there."""
        ahead = np.uint32((begin - int(place[0])) % 2**32)
        marks[1:] += ahead
        place[0] += ahead

    go_on_to(2**31 + 2)
    assert products(X, [1], None, memory)[0] == 13.0  # the counter starts again
    assert place[0] == 2
    go_on_to(2**31 - 2)  # the mark 0 of the first feature, seen from 2³¹ + 2 entries on
    assert products(X, [2], None, memory)[0] == 5.0


@interpreted
@pytest.mark.parametrize("bits", [np.int32, np.int64])
def test_the_width_of_indices_does_not_matter(bits, rng):
    X = sparse_rows(rng)
    csr = sparse.csr_array(X)
    csr.indices, csr.indptr = csr.indices.astype(bits), csr.indptr.astype(bits)
    found, _ = products(csr, np.arange(30))
    assert np.allclose(found[1:], expected(X, np.arange(30)), rtol=1e-12, atol=1e-13)


@interpreted
@pytest.mark.parametrize("form", fast_first(1, [np.asarray, sparse.csr_array]), ids=["dense", "csr"])
def test_single_precision(form, rng):
    X = sparse_rows(rng).astype(np.float32)
    found, _ = products(form(X), np.arange(30))
    assert np.allclose(found[1:], expected(X.astype(np.float64), np.arange(30)), rtol=1e-5, atol=1e-5)
