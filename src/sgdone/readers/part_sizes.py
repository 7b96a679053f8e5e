"""How tables are cut into parts of a few megabytes."""

from collections.abc import Iterator
from typing import Any

#: Rows, and bytes of Arrow memory, of a part at most.
PART_ROWS, PART_BYTES = 2**16, 2**24


def part_rows(n_rows: int, n_bytes: int) -> int:
    """Rows of a part of a table of given size.

    Examples
    --------
    >>> part_rows(1_000_000, 16_000_000), part_rows(1_000, 160_000_000), part_rows(0, 0)
    (65536, 104, 65536)
    """
    return max(1, min(PART_ROWS, PART_BYTES * n_rows // n_bytes if n_bytes else PART_ROWS))


def parts_of(table: Any) -> Iterator[tuple[int, Any]]:
    """Cut an Arrow table or record batch; yield the number of the first row of each part, and the part."""
    size = part_rows(table.num_rows, table.nbytes)
    for first in range(0, table.num_rows, size):
        yield first, table.slice(first, size)
