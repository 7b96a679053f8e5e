"""Fits over partitions of rows: what each partition computes, and how the sums are merged. No engine is needed here."""

from sgdone.cluster.engine import Engine, Here, encode_partition
from sgdone.cluster.fit import ClusterFit, fit_partitions
from sgdone.cluster.model_fit import fit_model
from sgdone.cluster.partition import Partition
from sgdone.cluster.requests import PartitionError, merge_answers, partition_work
from sgdone.cluster.rounds import RoundRecord, Rounds

__all__ = [
    "ClusterFit",
    "Engine",
    "Here",
    "Partition",
    "PartitionError",
    "RoundRecord",
    "Rounds",
    "encode_partition",
    "fit_model",
    "fit_partitions",
    "merge_answers",
    "partition_work",
]
