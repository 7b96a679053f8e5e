"""Arrays as blocks: the blocks of a file with the same rows."""

import numpy as np
from scipy import sparse

from sgdone.matrices.row_hash import row_hashes
from sgdone.rows.blocks import BLOCK_ROWS, PIECES, ArrayBlocks


def test_rows_are_cut_by_their_number(rng):
    n_rows = 2 * BLOCK_ROWS + 3
    X, labels, weights = rng.random((n_rows, 1)), rng.random(n_rows), rng.random(n_rows)
    blocks = ArrayBlocks(X, labels, weights)
    assert len(blocks) == PIECES + PIECES + 3
    parts = list(blocks.in_order())
    assert [part.n_rows for part in parts] == [BLOCK_ROWS, BLOCK_ROWS, 3]
    for name, expected in (("X", X), ("labels", labels), ("weights", weights), ("hashes", row_hashes(X))):
        np.testing.assert_array_equal(np.concatenate([getattr(part, name) for part in parts]), expected)
    np.testing.assert_array_equal(np.concatenate([part.numbers for part in parts]), np.arange(n_rows))
    blocks.write(parts[0])
    blocks.close()
    pieces = [blocks.read(number) for number in range(len(blocks))]
    expected = [piece for part in parts for piece in part.pieces()]
    for found, piece in zip(pieces, expected, strict=True):
        np.testing.assert_array_equal(found.numbers, piece.numbers)
        np.testing.assert_array_equal(found.X, piece.X)


def test_sparse_rows_without_weights():
    blocks = ArrayBlocks(sparse.csr_array(np.eye(3)), np.ones(3), None, np.zeros(3, np.int32))
    (part,) = blocks.in_order()
    assert part.weights is None
    assert part.roles.size == 3
    np.testing.assert_array_equal(part.X.toarray(), np.eye(3))
