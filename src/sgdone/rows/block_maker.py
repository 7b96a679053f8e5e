"""From tables of any size to blocks of encoded rows."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.matrices.reused_arrays import ReusedArrays
from sgdone.matrices.row_hash import row_hashes
from sgdone.readers.table import Table, errors_located, tables_of_rows
from sgdone.rows.bad_rows import check_row
from sgdone.rows.column_numbers import ColumnNumbers, numbered
from sgdone.rows.column_roles import roles_of_features
from sgdone.rows.row_block import BLOCK_ROWS, RowBlock
from sgdone.rows.rows import Rows
from sgdone.tables import Encoded
from sgdone.tables import TableEncoderCore as TableEncoder

#: Share of the memory that one block may take.
_BLOCK_SHARE = 1 / 16
#: Values below this have squares that can be added up in any number.
_LARGE = 1e140
#: Smallest block, and the number of rows whose size is measured, or the share of the memory that they may take.
_FEWEST_ROWS, _MEASURED_ROWS, _MEASURED_SHARE = 256, 4096, 1 / 8


@final
class BlockMaker:
    """Cuts tables into blocks by the global number of the row, and encodes them.

    Parameters
    ----------
    encoder : TableEncoder
        Encodes the columns of tables; it learns as it goes. Not used for arrays and sparse matrices.
    target : callable
        Gives the labels and weights of a table as training needs them.
    block_rows : int
        Rows in a block.
    together : int
        Blocks whose rows lie one behind the other in memory, if they are not encoded.

    Attributes
    ----------
    numbers : ColumnNumbers
        The columns of sparse rows that have no encoder, as they are numbered in the blocks.
    """

    def __init__(
        self,
        encoder: TableEncoder,
        target: Callable[[Table, int], tuple[NDArray[np.float64], NDArray[np.float64] | None]],
        block_rows: int = BLOCK_ROWS,
        together: int = 1,
    ) -> None:
        self._encoder, self._target = encoder, target
        self._block_rows, self._together = block_rows, together
        self._arrays = ReusedArrays()
        self._roles: NDArray[np.int32] | None = None
        self.numbers = ColumnNumbers()

    def blocks(self, tables: Iterable[Table]) -> Iterator[RowBlock]:
        """Yield the blocks of the rows."""
        first = 0
        for table in tables_of_rows(tables, self._together * self._block_rows, self._arrays):
            yield from self._block(table, first).cut(self._block_rows)
            first += table.X.shape[0]

    def _block(self, table: Table, first: int) -> RowBlock:
        hashes = row_hashes(table.X)  # before its columns are numbered in place
        with errors_located(table.place):
            labels, weights = self._target(table, first)
            X, roles = self._rows(table, weights)
            _check_sizes(X)
        return RowBlock(X, labels, weights, hashes, np.arange(first, first + labels.size), roles)

    def _rows(self, table: Table, weights: NDArray[np.float64] | None) -> tuple[Any, NDArray[np.int32] | None]:
        if not isinstance(table.X, pa.Table):
            return numbered(table.X, self.numbers, self._arrays), None
        X = rows_of(self._encoder.partial_fit_encode(table.X, weights))
        if self._roles is None or self._roles.size != X.shape[1]:
            self._roles = roles_of_features(self._encoder.n_dense_, self._encoder.texts())
        return X, self._roles


def _check_sizes(X: Any) -> None:
    """Raise for the first row whose squared norm overflows; a pass over blocks cannot say where it is in a file."""
    parts = [X.dense, X.sparse] if isinstance(X, MixedMatrix) else [X]
    values = [part if isinstance(part, np.ndarray) else part.data for part in parts]
    if all(own.max(initial=0.0) < _LARGE and own.min(initial=0.0) > -_LARGE for own in values):
        return
    rows = Rows.of(X)
    for row in range(rows.n_rows):
        check_row(rows, row)


def rows_of(encoded: Encoded) -> Any:
    """One matrix: dense, sparse, or both."""
    if not encoded.sparse.shape[1]:
        return encoded.dense
    return MixedMatrix(encoded.dense, encoded.sparse) if encoded.dense.shape[1] else encoded.sparse


def block_rows_for(head: Sequence[Table], max_memory: int) -> int:
    """Rows in a block: `BLOCK_ROWS`, halved until a block of rows like the first ones takes its share of memory.

    ``head`` are the first tables, which are larger than the rows that are measured: how the rows are cut into tables
    does not matter.

    Examples
    --------
    >>> from pathlib import Path
    >>> wide = Table(np.ones((10, 1000)), np.ones(10), None, None, Path("wide"))
    >>> block_rows_for([wide], 10**9)
    4096
    """
    per_row, rows = bytes_of_row(head, max_memory), BLOCK_ROWS
    while rows > _FEWEST_ROWS and rows * per_row > _BLOCK_SHARE * max_memory:
        rows //= 2
    return rows


def bytes_of_row(head: Sequence[Table], max_memory: int) -> float:
    """Mean size of the first rows."""
    sizes = _row_bytes(next(tables_of_rows(head, _MEASURED_ROWS)).X)
    measured = 1 + int(np.searchsorted(np.cumsum(sizes), _MEASURED_SHARE * max_memory))
    return float(sizes[:measured].mean())


def _row_bytes(X: Any) -> NDArray[np.float64]:
    """Bytes of each row; of a table, what does not depend on how it is stored."""
    n_rows = X.shape[0]
    if isinstance(X, pa.Table):
        sizes = np.full(n_rows, 8.0 * X.num_columns)
        for column in X.columns:
            if pa.types.is_large_string(column.type):
                sizes += pc.fill_null(pc.binary_length(column), 0).to_numpy()
        return sizes
    if isinstance(X, np.ndarray):
        return np.full(n_rows, X.nbytes / n_rows)
    if isinstance(X, MixedMatrix):
        return np.asarray(X.dense.nbytes / n_rows + 12.0 * np.diff(X.sparse.indptr))
    return np.asarray(12.0 * np.diff(X.indptr))
