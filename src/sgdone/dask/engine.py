"""Rounds of a fit as tasks of Dask."""

import gc
import hashlib
import logging
import re
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, final

import dask
from dask.delayed import Delayed, delayed
from dask.sizeof import sizeof

from sgdone.cluster import Engine, Partition, PartitionError, encode_partition, merge_answers, partition_work
from sgdone.cluster.engine import FAN_IN, groups_of
from sgdone.cluster.messages import Answer, Parts, to_bytes
from sgdone.cluster.partition import read_partition
from sgdone.machine.threads import n_processors
from sgdone.readers.file_parts import FilePart

#: Seconds between two looks at the workers while answers are awaited.
_POLL = 1.0
#: Requests are part of the graph, so that they outlive a worker; Dask would warn of their size.
_GRAPH = {"distributed.admin.large-graph-warning-threshold": "10 GB"}


@sizeof.register(Partition)
def _size(partition: Partition) -> int:
    """Bytes of a partition, by which Dask decides what to keep in memory."""
    return partition.nbytes


@final
class DaskEngine(Engine):
    """Partitions kept by the workers of a Dask cluster, or in this process if there is none.

    Requests are sent once to the cluster, whose workers pass them on to each other. Answers of neighbours are merged by
    the workers. A partition that is lost with its worker is made again by the graph that it came from.
    """

    def __init__(self, partitions: Sequence[Delayed]) -> None:
        self._client = current_client()
        self._round = 0
        #: Parts of the last request, by digest: the next round may have them too.
        self._sent: dict[bytes, Delayed] = {}
        if self._client is not None:
            try:
                self._client.wait_for_workers(1, timeout=_timeout())
            except TimeoutError as error:
                raise TimeoutError(_no_workers(self._client)) from error
        self._partitions = self._kept(partitions)

    def ask(self, parts: Parts, *, in_order: bool = False) -> list[bytes]:
        """One task a partition, and one for each group of neighbours whose answers are merged."""
        self._round += 1
        sent, label = self._parts(parts), f"sgdone-round-{self._round}-{uuid.uuid4().hex[:8]}"
        answer = dask.delayed(_answer, pure=False)
        answers = [
            answer(sent, number, partition, dask_key_name=f"{label}-{number}")
            for number, partition in enumerate(self._partitions)
        ]
        merge = dask.delayed(merge_answers, pure=False)
        while not in_order and len(answers) > FAN_IN:
            answers = [merge(group) for group in groups_of(answers)]
        return self._computed(answers)

    def encode(self, encoder: bytes) -> None:
        """Encode each table where it is."""
        (sent,) = self._parts((encoder,))
        make = dask.delayed(encode_partition, pure=False)
        self._partitions = self._kept([make(sent, partition) for partition in self._partitions])

    def close(self) -> None:
        """Let the workers forget the partitions."""
        self._partitions, self._sent = [], {}
        if self._client is not None:
            # The errors of waits that timed out refer to themselves, and with them to the futures of their round.
            gc.collect()

    def _parts(self, parts: Parts) -> list[Delayed]:
        """Parts of a request as values that the cluster has, and keeps for the next round."""
        digests = [hashlib.sha256(part).digest() for part in parts]
        known = self._sent
        new = {
            digest: dask.delayed(part, name=f"sgdone-part-{uuid.uuid4().hex}")
            for digest, part in zip(digests, parts, strict=True)
            if digest not in known
        }
        with dask.config.set(_GRAPH):
            kept = dict(zip(new, dask.persist(*new.values()), strict=True))
        self._sent = {digest: (known | kept)[digest] for digest in digests}
        return [self._sent[digest] for digest in digests]

    def _kept(self, partitions: Sequence[Delayed]) -> list[Delayed]:
        """Compute partitions, and keep them where they are; raise for one that cannot be made."""
        if self._client is None:
            try:
                return list(dask.persist(*partitions))
            except Exception as error:
                # Each is computed again, to find the one that fails.
                for number, part in enumerate(partitions):
                    try:
                        part.compute()
                    except Exception as own:
                        raise PartitionError(f"partition {number}: {_text(own)}") from error
                raise PartitionError(f"a partition could not be computed once: {_text(error)}") from error
        kept = list(self._client.persist(list(partitions)))
        self._wait([_future(part) for part in kept])
        self._raise_for_failed(kept)
        return kept

    def _computed(self, answers: list[Delayed]) -> list[bytes]:
        if self._client is None:
            return list(dask.compute(*answers))
        futures = self._client.compute(answers)
        self._wait(futures)
        failed = [future for future in futures if future.status != "finished"]
        if failed:
            self._raise_for_failed(self._partitions)
            error = failed[0].exception()
            task = re.search(r"sgdone-round-\d+-[0-9a-f]{8}-(\d+)", str(error))  # its key
            raise PartitionError(f"{'' if task is None else f'partition {task[1]}: '}{_text(error)}") from error
        found: list[bytes] = self._client.gather(futures)
        return found

    def _raise_for_failed(self, partitions: Sequence[Delayed]) -> None:
        """Raise for the first partition that could not be made."""
        for number, part in enumerate(partitions):
            future = _future(part)
            if future.status == "error":
                error = future.exception()
                raise PartitionError(f"partition {number}: {_text(error)}") from error
            if future.status != "finished":
                raise PartitionError(f"partition {number}: its rows are {future.status} and cannot be made again")

    def _wait(self, futures: list[Any]) -> None:
        """Wait until all are done; raise if the cluster has no running workers for a while, or is gone.

        Values that were lost with a worker are computed again: their futures are not done.
        """
        from distributed import wait

        client, stuck_since = self._client, None
        try:
            while True:
                with suppress(TimeoutError):
                    wait(futures, timeout=_POLL)
                if all(future.status in ("finished", "error", "cancelled") for future in futures):
                    return
                if client.status not in ("running", "connecting"):
                    raise ConnectionError("the connection to the Dask scheduler is lost: the fit has ended")
                lost = any(future.status == "lost" for future in futures)
                if _has_workers(client) and not lost:
                    stuck_since = None
                    continue
                if lost:
                    time.sleep(_POLL / 10)  # lost futures do not wait
                stuck_since = stuck_since or time.monotonic()
                if time.monotonic() - stuck_since > _timeout():
                    if lost and _has_workers(client):
                        return
                    raise TimeoutError(_no_workers(client))
        except BaseException:
            client.cancel(futures)
            raise


def current_client() -> Any:
    """The client of a Dask cluster that is in use; None if there is none."""
    try:
        from distributed import default_client
    except ImportError:
        return None
    try:
        client = default_client()
    except ValueError:
        return None
    if client.asynchronous:
        raise ValueError("the current Dask client is asynchronous: make a Client without asynchronous=True")
    return client


def _answer(parts: Sequence[bytes], number: int, partition: Partition) -> bytes:
    """The answer of a partition; whatever goes wrong is part of it, and not tried again in vain."""
    try:
        return partition_work(tuple(parts), partition)
    except Exception as error:
        return to_bytes(Answer(number, None, f"{type(error).__name__}: {error}"))


def _timeout() -> float:
    """Seconds after which a cluster without workers is given up: those that Dask waits for a connection."""
    from dask.utils import parse_timedelta

    return float(parse_timedelta(dask.config.get("distributed.comm.timeouts.connect", "30s")))


def _has_workers(client: Any) -> bool:
    return bool(client.run_on_scheduler(_count_workers))


def _count_workers(dask_scheduler: Any) -> int:
    """Workers that take tasks: those whose memory is nearly full are paused."""
    return sum(worker.status.name == "running" for worker in dask_scheduler.workers.values())


def _no_workers(client: Any) -> str:
    address = getattr(client.scheduler, "address", client)
    return (
        f"the Dask cluster {address} has had no running workers for {_timeout():g} seconds: start some, give them more "
        'memory if they are paused, or wait longer with dask.config.set({"distributed.comm.timeouts.connect": "5 '
        'minutes"})'
    )


def _future(part: Delayed) -> Any:
    from distributed import futures_of

    return futures_of(part)[0]


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def delayed_files(parts: Sequence[FilePart]) -> list[Delayed]:
    """Partitions, each read by a worker from its part of a file; a part that is lost with its worker is read again.

    The workers need the files under the same names.
    """
    read, label = delayed(read_partition, pure=False), uuid.uuid4().hex[:8]
    return [read(number, part, dask_key_name=f"sgdone-read-{label}-{number}") for number, part in enumerate(parts)]


#: The cluster of processes on this machine.
LOCAL = "local"
#: What workers run first: a terminal sends Ctrl-C to all processes, and a fit that ends by it still needs its workers.
_IGNORE_CTRL_C = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"


@contextmanager
def connected(address: str) -> Iterator[None]:
    """Let Dask compute on a cluster; it is left, and closed if it was started here, at the end.

    "local" starts as many worker processes as there are processors, of one thread each.
    """
    from distributed import Client, LocalCluster

    if address == LOCAL:
        processes = {"n_workers": n_processors(), "threads_per_worker": 1, "processes": True, "preload": _IGNORE_CTRL_C}
        quiet = {"dashboard_address": None, "silence_logs": logging.CRITICAL}
        with LocalCluster(**processes, **quiet) as cluster, Client(cluster):
            yield
        return
    try:
        client = Client(address)
    except (OSError, ValueError) as error:
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        seconds = dask.config.get("distributed.comm.timeouts.connect", "30s")
        raise ConnectionError(
            f"{address}: no Dask scheduler answers within {seconds} ({reason}): check the address, or "
            "start a scheduler with `dask scheduler` and workers with `dask worker`"
        ) from error
    with client:
        yield
