"""The rows of all partitions with their labels, of which sums are taken in rounds."""

from dataclasses import dataclass, field
from typing import Any, final

from sgdone.cluster.label_coding import LabelCoding
from sgdone.cluster.partition import Partition
from sgdone.cluster.rounds import Rounds
from sgdone.sums.row_sum import SHARED, RowSum, message


@final
@message
@dataclass(frozen=True)
class OnLabelledRows(RowSum):
    """A sum over the rows of a partition, with labels and weights as the sums need them."""

    request: Any
    coding: LabelCoding = field(metadata=SHARED)

    @property
    def request_name(self) -> str:
        """That of the sum."""
        return str(self.request.request_name)

    def of(self, partition: Partition) -> Any:
        """The value for these rows."""
        return self.request.of(partition.labelled(self.coding))


@final
@dataclass(frozen=True)
class LabelledRows:
    """The rows of all partitions: a `sgdone.sums.row_sum.RowSource` for which each sum is a round."""

    rounds: Rounds
    coding: LabelCoding

    def sum(self, request: RowSum) -> Any:
        """The sum over all rows of positive weight."""
        return self.rounds.ask(OnLabelledRows(request, self.coding))
