"""Vectors of Spark ML as matrices: dense if they are dense, CSR if most entries are 0."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

#: Share of entries other than 0 below which rows are kept sparse, if there are sparse vectors among them.
SPARSE_BELOW = 0.5


@final
@dataclass(frozen=True)
class VectorRows:
    """A matrix whose rows were vectors.

    Parameters
    ----------
    matrix : ndarray or csr_array
        The rows. It depends on the vectors only, not on the batches in which they came.
    has_sparse : bool
        Whether one of the vectors is sparse.
    """

    matrix: Any
    has_sparse: bool

    @property
    def entries(self) -> int:
        """Number of entries other than 0."""
        matrix = self.matrix
        return int(np.count_nonzero(matrix) if isinstance(matrix, np.ndarray) else matrix.nnz)


def rows_of_vectors(batches: Sequence[Any], column: str) -> VectorRows:
    """The vectors of a column as the rows of a matrix.

    Parameters
    ----------
    batches : sequence of pyarrow.StructArray
        Vectors as Spark sends them: type (0 is sparse), size, indices and values.
    column : str
        Its name, for messages.

    Raises
    ------
    ValueError
        For null, and for vectors of different sizes.

    Examples
    --------
    >>> dense = pa.array([{"type": 1, "size": None, "indices": None, "values": [1.0, 2.0]}])
    >>> rows_of_vectors([dense], "features").matrix
    array([[1., 2.]])
    """
    widths = _checked_widths(batches, column)
    width = int(widths[0]) if widths.size else 1
    parts = [_part(batch, width) for batch in batches]
    has_sparse = any(sparse.issparse(part) for part in parts)
    if not has_sparse:
        return VectorRows(np.vstack(parts) if parts else np.empty((0, width)), False)
    matrix = sparse.csr_array(sparse.vstack([as_storage(part, dense=False) for part in parts], format="csr"))
    return VectorRows(as_storage(matrix, dense=not is_sparse(matrix.nnz, matrix.shape[0], width)), True)


def is_sparse(entries: int, n_rows: int, width: int) -> bool:
    """Whether rows that hold sparse vectors are kept sparse.

    Examples
    --------
    >>> is_sparse(10, 10, 100), is_sparse(900, 10, 100)
    (True, False)
    """
    return entries < SPARSE_BELOW * n_rows * width


def as_storage(matrix: Any, *, dense: bool) -> Any:
    """The matrix as a dense array or in CSR, without stored zeros."""
    if dense:
        return matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
    made = sparse.csr_array(matrix)
    made.eliminate_zeros()
    return made


def vector_names(metadata: dict[str, Any], limit: int = 10_000) -> list[str] | None:
    """Names of the entries of a vector column, as a `VectorAssembler` leaves them; None if some are missing.

    Examples
    --------
    >>> vector_names({"ml_attr": {"attrs": {"numeric": [{"idx": 1, "name": "b"}, {"idx": 0, "name": "a"}]}}})
    ['a', 'b']
    """
    known = metadata.get("ml_attr", {}).get("attrs", {})
    found = {one.get("idx"): one.get("name") for kind in known.values() for one in kind}
    names = [found.get(number) for number in range(len(found))]
    complete = bool(names) and None not in names and len(set(names)) == len(names)
    return [str(name) for name in names] if complete and len(names) <= limit else None


def _checked_widths(batches: Sequence[Any], column: str) -> NDArray[np.int64]:
    """The size of each vector; raise unless all are the same."""
    parts, before = list[NDArray[np.int64]](), 0
    for batch in batches:
        if batch.null_count:
            row = before + int(np.argmax(_numpy(batch.is_null())))
            raise ValueError(f"row {row} has no vector in column {column!r}, but null: drop the row, or fill it")
        sizes = _numpy(batch.field("size").cast(pa.int64()).fill_null(0))
        parts.append(np.where(_numpy(batch.field("type")) == 0, sizes, _lengths(batch)))
        before += len(batch)
    widths = np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)
    if np.any(widths != widths[:1]):
        row = int(np.argmax(widths != widths[0]))
        raise ValueError(
            f"row {row} has a vector of size {widths[row]} in column {column!r}, row 0 one of size {widths[0]}: all "
            "vectors need the same size"
        )
    return widths


def _part(batch: Any, width: int) -> Any:
    """The rows of a batch: an array if all vectors are dense, otherwise CSR."""
    types, values = _numpy(batch.field("type")), _numpy(batch.field("values").flatten())
    if np.all(types == 1):
        return values.reshape(len(batch), width)
    counts = _lengths(batch)
    columns = np.empty(values.size, dtype=np.int32)
    stored = np.repeat(types == 0, counts)
    columns[stored] = _numpy(batch.field("indices").flatten())
    columns[~stored] = np.tile(np.arange(width, dtype=np.int32), int(np.count_nonzero(types == 1)))
    # A batch is far from 2³¹ entries: what it holds came as one Arrow array.
    ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return sparse.csr_array((values.copy(), columns, ends), shape=(len(batch), width))


def _lengths(batch: Any) -> NDArray[np.int64]:
    """The number of values of each vector."""
    import pyarrow.compute as pc

    return _numpy(pc.list_value_length(batch.field("values")).cast(pa.int64()).fill_null(0))


def _numpy(array: Any) -> NDArray[Any]:
    found: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return found
