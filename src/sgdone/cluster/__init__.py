"""Fits over partitions of rows: what each partition computes, and how the sums are merged. No engine is needed here."""

from sgdone.cluster.fit import ClusterFit, fit_partitions
from sgdone.cluster.partition import Partition
from sgdone.cluster.rounds import PartitionError, RoundRecord, Rounds, partition_work, run_here
from sgdone.cluster.tables import agreed_kinds, encoded_partition, kinds_of_columns, learn_columns, one_encoder

__all__ = [
    "ClusterFit",
    "Partition",
    "PartitionError",
    "RoundRecord",
    "Rounds",
    "agreed_kinds",
    "encoded_partition",
    "fit_partitions",
    "kinds_of_columns",
    "learn_columns",
    "one_encoder",
    "partition_work",
    "run_here",
]
