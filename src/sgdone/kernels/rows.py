"""The ways of reaching a row, by name."""

from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

from sgdone.kernels import rows_csr, rows_csr_scaled, rows_csr_shifted, rows_dense, rows_dense_scaled


class RowAccess(NamedTuple):
    """The functions that reach row ``i``; see `rows_dense` for the meaning of each."""

    dot: Callable[..., Any]
    dot_both: Callable[..., Any]
    add: Callable[..., Any]
    add_both: Callable[..., Any]
    sound: Callable[..., Any]
    locate: Callable[..., Any]
    fetch: Callable[..., Any]
    rescale: Callable[..., Any]
    fold: Callable[..., Any]
    overlap: Callable[..., Any]
    settle: Callable[..., Any]
    settle_all: Callable[..., Any]
    #: Whether weights are stored as (vectors, features) or (features, vectors).
    vectors_first: bool


def _access(module: ModuleType) -> RowAccess:
    functions = {name: getattr(module, name) for name in RowAccess._fields if name != "vectors_first"}
    return RowAccess(vectors_first=module.VECTORS_FIRST, **functions)


DENSE = _access(rows_dense)
CSR = _access(rows_csr)
DENSE_SCALED = _access(rows_dense_scaled)
CSR_SCALED = _access(rows_csr_scaled)
CSR_SHIFTED = _access(rows_csr_shifted)
