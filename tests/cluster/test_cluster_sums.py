import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from partitions import logistic_problem, split

from sgdone.bank.evaluation import Candidate, ProgressiveLosses
from sgdone.cluster.engine import LocalEngine, groups_of
from sgdone.cluster.messages import from_bytes, request_from, split_request, to_bytes
from sgdone.cluster.partition import LabelCoding
from sgdone.cluster.partition_source import PartitionSource
from sgdone.cluster.rounds import Rounds
from sgdone.cluster.statistics import Statistics
from sgdone.cluster.tables import KindVotes
from sgdone.interfaces.objective import Objective
from sgdone.losses import CustomLoss, Logistic
from sgdone.rows import ArraySource
from sgdone.rows.rows import Scaling
from sgdone.sums.row_sum import SeveralSums, TreeSum, merged
from sgdone.sums.second_order import CurvatureProduct
from sgdone.sums.system import System
from sgdone.sums.units import Units


class Text(str):
    def merge(self, other):
        return Text(f"({self}{other})")


@given(st.permutations(range(11)), st.integers(1, 11))
def test_the_tree_is_the_same_whatever_arrives_first(order, count):
    total = TreeSum()
    for number in order:
        if number < count:
            total.add(number, Text(number))
    assert total.value() == merged(map(Text, range(count)))


@given(st.integers(1, 600))
def test_sums_of_neighbours_are_subtrees(count):
    """Merging sixteen at a time, as engines do, once or twice, leaves the tree as it is."""
    parts = [(number, Text(number), 1) for number in range(count)]
    while len(parts) > 16:
        groups, parts = groups_of(parts), []
        for group in groups:
            total = TreeSum()
            for number, part, size in group:
                total.add(number - group[0][0], part, size)
            parts.append((group[0][0], total.value(), sum(size for *_, size in group)))
    total = TreeSum()
    for number, part, size in reversed(parts):
        total.add(number, part, size)
    assert total.value() == merged(map(Text, range(count)))


def test_units_are_those_of_one_machine():
    X, y = logistic_problem(1_000, 4)
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    found = Rounds(LocalEngine(split(X, y, 7, weights))).sum(Statistics("classification"))
    block = next(ArraySource(X, np.ones(len(y)), weights, shuffle=False).blocks(np.random.default_rng(0)))
    for fit_intercept in (True, False):
        expected = Units.of_all_rows(block, centred=fit_intercept)
        units = found.units(fit_intercept=fit_intercept)
        np.testing.assert_allclose(units.scale, expected.scale)
        np.testing.assert_allclose(units.shift, expected.shift)
    assert found.rows == np.count_nonzero(weights)
    assert found.labels.weights.tolist() == [weights[y == label].sum() for label in ("no", "yes")]


def test_progressive_losses_add_up():
    rng = np.random.default_rng(0)
    losses, weights = rng.exponential(size=(60, 3)) * [1.0, 1.1, 5.0], rng.uniform(0.5, 2.0, 60)
    whole, parts = ProgressiveLosses(), []
    whole.add(losses, weights)
    for rows in (slice(0, 13), slice(13, 60)):
        parts.append(ProgressiveLosses())
        parts[-1].add(losses[rows], weights[rows])
    both = parts[0].merge(parts[1])
    np.testing.assert_allclose(both.means * both.unit, whole.means * whole.unit)
    np.testing.assert_allclose(both.errors(0) * both.unit, whole.errors(0) * whole.unit)
    assert both.lead in both.tied
    assert 2 not in both.tied


VOTES = KindVotes(0, {"message": {"number": 3}})  # a column of this name


@pytest.mark.parametrize("value", [0.1, float("inf"), None, (1, "a"), np.array(["x", "y"]), Candidate(1.0, 0.1), VOTES])
def test_messages_arrive_as_they_were_sent(value):
    found = from_bytes(to_bytes(value))
    assert type(found) is type(value)
    assert np.array_equal(found, value)


def test_a_loss_of_the_user_cannot_be_sent():
    loss = CustomLoss(lambda z, y: (z - y) ** 2, lambda z, y: 2 * (z - y), task="regression")
    with pytest.raises(ValueError, match="cannot be sent to the workers"):
        to_bytes(loss)


def test_values_that_requests_share_are_sent_once():
    """As bytes, and as one object to all requests of a round."""
    X, y = logistic_problem(60, 2)
    system = System(Objective.of_classes(Logistic(), 2), Scaling(np.ones(2)))
    model, directions = np.zeros(system.shape), np.random.default_rng(0).standard_normal((3, *system.shape))
    requests = tuple(CurvatureProduct(system, model, direction) for direction in directions)
    found = request_from(*split_request(SeveralSums(requests))).requests
    assert all(one.system is system and one.model is model for one in found)
    np.testing.assert_array_equal([one.direction for one in found], directions)
    rounds = Rounds(LocalEngine(split(X, y, 3)))
    rows = PartitionSource(rounds, LabelCoding(np.array(["no", "yes"])), rounds.sum(Statistics("classification")))
    alone = [rows.sum(request).values for request in requests]
    together = rows.sum(SeveralSums(requests)).values
    np.testing.assert_array_equal(alone, [one.values for one in together])
    records = rounds.records[1:]
    assert [record.request for record in records] == ["CurvatureProduct"] * 3 + ["SeveralSums"]
    assert records[0].bytes_new == records[0].bytes_sent == records[1].bytes_sent
    assert 2 * records[1].bytes_new < records[1].bytes_sent
