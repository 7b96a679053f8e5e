"""Partitions that a worker reads from files."""

import socket

from sgdone.cluster.partition import Partition
from sgdone.readers.file_parts import FilePart
from sgdone.readers.table import DataError


def read_partition(number: int, part: FilePart) -> Partition:
    """Read a part of a file; a part that cannot be read has the reason, with file and row, as its ``fault``.

    Parameters
    ----------
    number : int
        Place among the partitions.
    part : FilePart
        From `sgdone.readers.file_parts.file_parts`.
    """
    try:
        table = part.read()
        assert table.y is not None
        made = Partition(number, table.X, table.y, table.weights)
    except (MemoryError, OSError, TypeError, ValueError) as error:
        return Partition.failed(number, _fault(part, error))
    made.unlabelled, made.place = table.unlabelled, table.place
    return made


def _fault(part: FilePart, error: Exception) -> str:
    text = str(error) if isinstance(error, DataError) else f"{part}: {str(error) or type(error).__name__}"
    if isinstance(error, MemoryError):
        return f"{text}: the part does not fit into the memory of the worker: write smaller files or row groups"
    if isinstance(error.__cause__, OSError) and error.__cause__.errno is not None:
        return (
            f"{text} on the worker {socket.gethostname()}: all workers need the files under the same names, on a "
            "shared disk or at addresses such as s3://clicks/day-1.csv"
        )
    return text
