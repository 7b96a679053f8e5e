"""Fits over partitions of rows: what each partition computes, and how the sums are merged. No engine is needed here."""

from sgdone.cluster.engine import Engine, LocalEngine, encode_partition
from sgdone.cluster.fit import PartitionedRows
from sgdone.cluster.messages import PartitionError, merge_answers, partition_work
from sgdone.cluster.partition import Partition, Preparation
from sgdone.cluster.rounds import RoundRecord, Rounds
from sgdone.cluster.scores import HeldOutRows, held_out_rows
from sgdone.cluster.statistics import RowFacts, facts_of_rows
from sgdone.cluster.summary import summarise_partitions

__all__ = [
    "Engine",
    "HeldOutRows",
    "LocalEngine",
    "Partition",
    "PartitionError",
    "PartitionedRows",
    "Preparation",
    "RoundRecord",
    "Rounds",
    "RowFacts",
    "encode_partition",
    "facts_of_rows",
    "held_out_rows",
    "merge_answers",
    "partition_work",
    "summarise_partitions",
]
