"""Source of the rows of all partitions: each sum over them is a round."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from sgdone.cluster.partition import LabelCoding, Partition
from sgdone.cluster.rounds import RoundLog, RoundRecord, Rounds
from sgdone.cluster.statistics import RowStatistics
from sgdone.interfaces.stop_rule import Progress
from sgdone.rows.rows import Block
from sgdone.rows.source import Source
from sgdone.run import Hook, TraceRow
from sgdone.run.result import Traffic
from sgdone.sums.row_sum import SHARED, RowSum, WrappedSum, message


@final
@message
@dataclass(frozen=True)
class LabelledSum(WrappedSum):
    """A sum over the rows of a partition, with labels and weights as the sums need them."""

    coding: LabelCoding = field(metadata=SHARED)

    def of(self, partition: Partition) -> Any:
        """The value for these rows."""
        return self.request.of(partition.labelled(self.coding))


@final
class PartitionSource(Source):
    """Rows in partitions: a run asks them for sums, and reads no blocks."""

    is_remote = True

    def __init__(
        self, rounds: Rounds, coding: LabelCoding, statistics: RowStatistics, log: RoundLog | None = None
    ) -> None:
        self.rounds, self.coding, self.statistics, self._log = rounds, coding, statistics, log
        self.feature_names = statistics.names

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.statistics.roles.size)

    @property
    def n_rows(self) -> int:
        """Number of rows of positive weight."""
        return self.statistics.rows

    @property
    def total_weight(self) -> float:
        """Sum of the weights of all rows."""
        return self.statistics.weight

    def blocks(self, rng: np.random.Generator) -> Iterator[Block]:
        """Not supported."""
        raise TypeError("the rows of partitions stay where they are")

    def sum(self, request: RowSum) -> Any:
        """The sum over all rows of positive weight, in one round."""
        return self.rounds.sum(LabelledSum(request, self.coding))

    @property
    def traffic(self) -> Traffic:
        """Traffic of the last round."""
        return traffic_of(self.rounds.records[-1])

    def keep_sums(self) -> bool:
        """Write the log."""
        return self._log is not None and self._log.write()


def traffic_of(record: RoundRecord) -> Traffic:
    """Traffic of a round, for the trace."""
    return Traffic(record.request, record.bytes_new, record.bytes_received)


@final
class FirstRounds:
    """The rounds before a run, which find the columns and labels: they are part of its trace.

    A text that a hook returns ends the run once it has a first model.
    """

    def __init__(self, hooks: Sequence[Hook], began: float) -> None:
        self._hooks, self._began = hooks, began
        self._requested: str | None = None
        self.trace: list[TraceRow] = []

    def after_round(self, record: RoundRecord) -> None:
        """Append to the trace, and call the hooks."""
        unknown, seconds, made = float("nan"), time.perf_counter() - self._began, len(self.trace) + 1
        row = TraceRow(0, float(made), unknown, unknown, unknown, seconds, traffic=traffic_of(record))
        self.trace.append(row)
        progress = Progress(0, 0, None, made, True, unknown, seconds)
        for found in [hook(progress) for hook in self._hooks]:
            self._requested = self._requested or found

    @property
    def later_hooks(self) -> list[Hook]:
        """Hooks of the run; stops that were requested before it are requested again."""
        return [lambda _: self._requested, *self._hooks]
