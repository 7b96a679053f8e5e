"""The Dask cluster of a command: one that is started on this machine, or one that runs."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dask

#: The cluster of processes on this machine.
LOCAL = "local"
#: What workers run first: a terminal sends Ctrl-C to all processes, and a fit that ends by it still needs its workers.
_IGNORE_CTRL_C = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"


@contextmanager
def connected(address: str) -> Iterator[None]:
    """Let Dask compute on a cluster; it is left, and closed if it was started here, at the end.

    Parameters
    ----------
    address : str
        "local" for as many worker processes as there are processors, of one thread each; otherwise the address of a
        scheduler, as "tcp://10.0.0.1:8786".
    """
    from distributed import Client

    if address == LOCAL:
        with _local_cluster() as cluster, Client(cluster):
            yield
        return
    try:
        client = Client(address)
    except (OSError, ValueError) as error:
        seconds = dask.config.get("distributed.comm.timeouts.connect", "30s")
        raise ConnectionError(
            f"{address}: no Dask scheduler answers within {seconds} ({_first_line(error)}): check the address, or "
            "start a scheduler with `dask scheduler` and workers with `dask worker`"
        ) from error
    with client:
        yield


def _local_cluster() -> Any:
    from distributed import LocalCluster

    return LocalCluster(
        n_workers=_n_processors(),
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        silence_logs=logging.CRITICAL,
        preload=_IGNORE_CTRL_C,
    )


def _n_processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _first_line(error: BaseException) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
