"""Sums over rows in memory, on disk and in partitions, and over some of the rows."""

import numpy as np
import pytest

from sgdone.cluster import LocalEngine, Partition, Rounds
from sgdone.cluster.partition import LabelCoding
from sgdone.cluster.partition_source import PartitionSource
from sgdone.cluster.statistics import Statistics
from sgdone.interfaces.objective import Objective
from sgdone.losses import Logistic
from sgdone.rows import ArraySource
from sgdone.rows.block_source import BlockSource
from sgdone.rows.blocks import ArrayBlocks, ColumnNumbers
from sgdone.rows.rows import Scaling
from sgdone.sums.row_sum import DiskRows, MemoryRows, OfSomeRows, SeveralSums, message
from sgdone.sums.second_order import CurvatureProduct, LossesAt, SecondOrderAt
from sgdone.sums.system import System


@pytest.fixture
def everywhere(rng):
    """The same rows in memory, in blocks that are read again, and in partitions."""
    X, labels = rng.normal([0.0, 5.0, -1.0], size=(9_000, 3)), rng.choice(["no", "yes"], 9_000)
    y, weights = np.where(labels == "yes", 1.0, -1.0), rng.integers(0, 3, 9_000).astype(float)
    blocks = ArrayBlocks(X, y, weights, None, ColumnNumbers())
    disk = BlockSource(blocks.in_order, blocks, seed=0, shuffle=False)
    for _ in disk.blocks(rng):
        pass
    rounds = Rounds(LocalEngine(Partition(k, X[k::3], labels[k::3], weights[k::3]) for k in range(3)))
    coding = LabelCoding(np.array(["no", "yes"]))
    partitions = PartitionSource(rounds, coding, rounds.sum(Statistics("classification")))
    memory = MemoryRows(next(ArraySource(X, y, weights, shuffle=False).blocks(rng)), threads=2)
    return {"memory": memory, "disk": DiskRows(disk), "partitions": partitions}


def test_all_rows_answer_the_same(everywhere, rng):
    system = System(Objective.of_classes(Logistic(), 2), Scaling(np.array([1.0, 2.0, 0.5]), np.array([0.0, 5.0, 0.0])))
    model, directions = rng.standard_normal(system.shape), rng.standard_normal((*system.shape, 2))
    requests = [
        LossesAt(system, np.stack([model, 0.0 * model])),
        CurvatureProduct(system, model, directions),
        CurvatureProduct(system, model, directions[:, :, 0]),
    ]
    memory, *others = everywhere.values()
    expected, second = memory.sum(SeveralSums(tuple(requests))), memory.sum(SecondOrderAt(system, model))
    for rows in others:
        found = rows.sum(SeveralSums(tuple(requests)))
        for one, other in zip(found.values, expected.values, strict=True):
            np.testing.assert_allclose(one.values, other.values, rtol=1e-9)
        sums = rows.sum(SecondOrderAt(system, model))
        np.testing.assert_allclose(sums.curvature, second.curvature, rtol=1e-9)
        np.testing.assert_allclose([sums.loss, sums.weight, sums.misses], [second.loss, second.weight, second.misses])
    flat = second.curvature @ directions[:, 0, :]
    np.testing.assert_allclose(expected.values[1].values[:, 0, :], flat, rtol=1e-9)


def test_sums_that_need_their_order_are_not_wrapped():
    with pytest.raises(TypeError, match="Statistics is not for rows that are prepared"):
        OfSomeRows(Statistics("classification"), "training", 0)


def test_two_messages_do_not_share_a_name():
    with pytest.raises(TypeError, match="two messages are called LossesAt"):
        message(type("LossesAt", (), {}))


def test_validation_rows_and_the_others_are_all_rows():
    """Copies of a row are in the same set."""
    rng = np.random.default_rng(0)
    X, y = np.repeat(rng.standard_normal((150, 3)), 2, axis=0), rng.choice([-1.0, 1.0], 300)
    rows = MemoryRows(next(ArraySource(X, y, shuffle=False).blocks(rng)))
    system = System(Objective.of_classes(Logistic(), 2), Scaling(np.ones(3)))
    request = LossesAt(system, np.ones((1, *system.shape)))
    parts = [rows.sum(OfSomeRows(request, row_set, 3)).values for row_set in ("training", "validation")]
    np.testing.assert_allclose(sum(parts), rows.sum(request).values)
    assert 0 < parts[1][-1] < 90
    chosen = rows.some("validation", 3).block.all_used()
    np.testing.assert_array_equal(chosen[::2] + 1, chosen[1::2])
