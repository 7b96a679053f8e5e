"""Files as partitions that the workers of Dask read."""

import uuid
from collections.abc import Sequence

from dask.delayed import Delayed, delayed

from sgdone.cluster.partition import read_partition
from sgdone.readers.file_parts import FilePart


def delayed_files(parts: Sequence[FilePart]) -> list[Delayed]:
    """Partitions, each read by a worker from its part of a file; a part that is lost with its worker is read again.

    Parameters
    ----------
    parts : sequence of FilePart
        From `sgdone.readers.file_parts.file_parts`. The workers need the files under the same names.
    """
    read, label = delayed(read_partition, pure=False), uuid.uuid4().hex[:8]
    return [read(number, part, dask_key_name=f"sgdone-read-{label}-{number}") for number, part in enumerate(parts)]
