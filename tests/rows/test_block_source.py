"""Passes over blocks: every row once, in orders that depend on the seed and the pass alone."""

import threading

import numpy as np
import pytest
from scipy import sparse

from sgdone.kernels.bank import NO_FOLD
from sgdone.matrices.row_hash import row_hashes
from sgdone.rows.block_source import BlockSource
from sgdone.rows.blocks import PIECES, EncodedRows, in_groups, joined
from sgdone.rows.rows import Block

SIZE, N_ROWS = 500, 20 * 500 + 77


class Listed(list):
    """Blocks that are kept in a list, and those that were read."""

    write, is_complete = list.append, False

    def __init__(self):
        self.read_numbers = []

    def read(self, number):
        self.read_numbers.append(number)
        return self[number]

    def in_order(self):
        return map(joined, in_groups(map(self.read, range(len(self))), PIECES))

    def close(self):
        pass


@pytest.fixture(autouse=True)
def no_thread_is_left():
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) == before


def blocks_of(X, size=SIZE, labels=None):
    labels = np.arange(float(X.shape[0])) if labels is None else labels
    hashes = row_hashes(X)
    for first in range(0, X.shape[0], size):
        rows = slice(first, first + size)
        numbers = np.arange(first, min(first + size, X.shape[0]))
        yield EncodedRows(X[rows], labels[rows], None, hashes[rows], numbers)


def source_of(X, *, cache=True, seed=0, **options):
    kept = Listed() if cache is True else cache
    return BlockSource(lambda: blocks_of(X), kept, seed=seed, buffer_bytes=8 * SIZE * 8, **options)


@pytest.fixture
def X(rng):  # noqa: N802
    return rng.standard_normal((N_ROWS, 1))


def labels_in(blocks):
    """Labels in the order of use, which are the numbers of the rows."""
    return np.concatenate([block.labels[block.order.rows] for block in blocks]).astype(int)


def one_pass(source):
    return labels_in(source.blocks(np.random.default_rng(0)))


def test_the_first_pass_uses_every_row_once_but_those_for_validation(X):
    source = source_of(X)
    assert source.n_rows is None
    trained = one_pass(source)
    validation = source.validation_rows()
    np.testing.assert_array_equal(np.sort(np.r_[trained, validation.numbers]), np.arange(N_ROWS))
    assert source.n_rows == N_ROWS
    assert source.n_held_back == validation.numbers.size == N_ROWS - trained.size
    source.close()


def test_the_first_pass_permutes_rows_in_a_buffer_of_several_blocks(X):
    source = source_of(X)
    trained = one_pass(source)
    group = trained // (8 * SIZE)
    assert np.all(np.diff(group) >= 0)  # buffer after buffer
    within = trained[group == 0]
    assert not np.all(np.diff(within) > 0)
    assert np.corrcoef(np.arange(within.size), within)[0, 1] < 0.1
    source.close()


def test_later_passes_draw_pieces_of_blocks_at_random_and_mark_validation_rows(X):
    source = source_of(X)
    one_pass(source)
    validation = np.sort(source.validation_rows().numbers)
    orders = []
    for _ in range(2):
        blocks = list(source.blocks(np.random.default_rng(0)))
        assert all(isinstance(block, Block) for block in blocks)
        held = [block.labels[block.order.rows[block.folds[block.order.rows] != NO_FOLD]] for block in blocks]
        np.testing.assert_array_equal(np.sort(np.concatenate(held)), validation)
        orders.append(labels_in(blocks))
        np.testing.assert_array_equal(np.sort(orders[-1]), np.arange(N_ROWS))
        assert abs(np.corrcoef(np.arange(N_ROWS), orders[-1])[0, 1]) < 0.1
    assert not np.array_equal(*orders)
    numbers, n_pieces = source._cache.read_numbers, 21 * PIECES
    assert sorted(numbers[:n_pieces]) == sorted(numbers[n_pieces:]) == list(range(n_pieces))
    assert np.unique(np.array(numbers[: 8 * PIECES]) // PIECES).size > 15  # a buffer has pieces of most blocks
    source.close()


def test_orders_are_functions_of_the_seed_and_the_pass(X):
    sources = [source_of(X, seed=seed) for seed in (0, 0, 1)]
    for rng in (np.random.default_rng(0), np.random.default_rng(5)):
        first, same, other = (labels_in(source.blocks(rng)) for source in sources)
        np.testing.assert_array_equal(first, same)
        assert first.size != other.size or not np.array_equal(first, other)
    again = source_of(X, cache=sources[0]._cache)
    again._cache.write = lambda block: None
    one_pass(again)
    again.begin_again_at(1)
    np.testing.assert_array_equal(one_pass(again), first)
    for source in (*sources, again):
        source.close()


def test_without_shuffling_rows_stay_in_their_order(X):
    source = source_of(X, shuffle=False)
    assert np.all(np.diff(one_pass(source)) > 0)
    np.testing.assert_array_equal(one_pass(source), np.arange(N_ROWS))
    source.close()


def test_evicted_validation_rows_are_trained_on_when_they_go(rng, monkeypatch):
    monkeypatch.setattr("sgdone.rows.validation_rows.MOST", 100)
    monkeypatch.setattr("sgdone.rows.validation_rows.BLOCK_ROWS", 2 * SIZE)
    X = rng.standard_normal((N_ROWS, 1))
    source = source_of(X)
    trained = one_pass(source)
    assert source.n_held_back <= 120
    np.testing.assert_array_equal(np.sort(np.r_[trained, source.validation_rows().numbers]), np.arange(N_ROWS))
    source.close()


def test_rows_that_can_be_read_once_have_one_pass(X):
    source = source_of(X, cache=None)
    one_pass(source)
    with pytest.raises(ValueError, match=r"read once only: allow one pass, as in stop=MaxPasses\(1\)"):
        source.blocks(np.random.default_rng(0))
    source.close()


def test_columns_that_come_later_are_counted(rng):
    def blocks():
        yield from blocks_of(sparse.csr_array(rng.standard_normal((SIZE, 2))))
        wide = sparse.csr_array(rng.standard_normal((SIZE, 3)))
        yield EncodedRows(wide, np.ones(SIZE), None, row_hashes(wide), np.arange(SIZE, 2 * SIZE))

    source = BlockSource(blocks, None, seed=0, buffer_bytes=1)
    assert source.n_features == 2
    widths = [block.rows.n_features for block in source.blocks(np.random.default_rng(0))]
    assert widths[0] == 2
    assert source.n_features == widths[-1] == 3
    assert source.validation_rows().block.rows.n_features == 3
    source.close()


def test_no_rows_are_an_error():
    source = BlockSource(lambda: iter(()), None, seed=0)
    with pytest.raises(ValueError, match="no rows to train on"):
        source.blocks(np.random.default_rng(0))
    source.close()


@pytest.mark.parametrize("at", [0, 3, 20])
def test_an_error_in_the_thread_that_reads_is_raised_and_the_thread_ends(X, at):
    def failing():
        for number, block in enumerate(blocks_of(X)):
            if number == at:
                raise OSError("the disk has gone")
            yield block

    source = BlockSource(failing, Listed(), seed=0, buffer_bytes=1)
    with pytest.raises(OSError, match="the disk has gone"):
        one_pass(source)
    source.close()


def test_a_source_that_is_closed_early_closes_what_it_reads(X):
    closed = []

    def blocks():
        try:
            yield from blocks_of(X)
        finally:
            closed.append(True)

    source = BlockSource(blocks, None, seed=0, buffer_bytes=1)
    next(source.blocks(np.random.default_rng(0)))
    source.close()
    assert closed == [True]


def test_the_digest_tells_other_rows(X):
    digests = set()
    for rows in (X, np.where(np.arange(N_ROWS)[:, None] == 17, 0.5, X), X[:-1]):
        source = source_of(rows)
        one_pass(source)
        digests.add(source.rows_so_far)
        source.close()
    assert len(digests) == 3


def test_the_cache_is_complete_before_it_is_announced(X):
    counts = []
    cache = Listed()
    source = source_of(X, cache=cache, on_complete=lambda: counts.append(len(cache)))
    one_pass(source)
    one_pass(source)
    assert counts == [21 * PIECES]
    source.close()
