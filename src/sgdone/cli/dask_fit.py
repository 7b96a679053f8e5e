"""``sgdone fit --dask``: files as partitions of a Dask cluster."""

import time
from collections.abc import Sequence

from sgdone.cli.cluster_fit import fit_on_cluster
from sgdone.cli.fit_arguments import FitArguments
from sgdone.cli.fit_outcome import FitOutcome
from sgdone.cli.opened_partitions import listed_parts
from sgdone.cli.progress import ProgressLine
from sgdone.cluster import Engine
from sgdone.dask.engine import LOCAL, DaskEngine, connected, delayed_files
from sgdone.readers.file_parts import FilePart


def fit_on_dask(arguments: FitArguments, line: ProgressLine) -> FitOutcome:
    """Train where the workers are, each of which reads its own files or row groups."""
    assert arguments.dask is not None
    began = time.perf_counter()
    parts = listed_parts(arguments)
    local = arguments.dask == LOCAL
    line.now("starting workers" if local else f"connecting to {arguments.dask}")
    with connected(arguments.dask):
        return fit_on_cluster(arguments, parts, _engine, line, began)


def _engine(parts: Sequence[FilePart]) -> Engine:
    return DaskEngine(delayed_files(parts))
