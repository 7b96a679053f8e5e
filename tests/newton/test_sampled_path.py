"""The path of penalties that begins on a tenth of the rows, against the path over all of them."""

import numpy as np
import pytest
from scipy import sparse

from exact_problems import classes, pieces_of, system_of
from running import objective_of
from sgdone.losses import Logistic
from sgdone.newton import EXACT
from sgdone.newton.counted_work import uses_sample
from sgdone.newton.exact_path import ExactPath, LeftOutRows, SampledPath
from sgdone.newton.penalty_path import lam_at
from sgdone.sums.row_sum import MemoryRows
from sgdone.sums.system import constant_model


def both(X, y, objective, weights=None):
    """The sampled path and the one over all rows, at their ends."""
    pieces = pieces_of(X, y, weights)
    rows, system = MemoryRows(pieces.block), system_of(objective, pieces)
    constant = constant_model(system, pieces.block)
    paths = SampledPath(system, rows, constant), ExactPath(system, pieces, constant)
    for path in paths:
        # Readings that a path makes itself are None.
        search = path.evaluations()
        value = None
        while True:
            try:
                request = search.send(value)
            except StopIteration:
                break
            value = None if request is None else rows.sum(request)
    return paths


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_penalty_optimum_and_loss_are_those_of_all_rows(n_classes, form):
    X, y = classes(n_classes, 4000, 5)
    objective = objective_of(Logistic(), n_classes)
    weights = 0.5 + np.arange(4000) % 3
    sampled, exact = both(form(X), y, objective, weights)
    assert sampled.best.decrement <= EXACT
    assert sampled.loss == pytest.approx(exact.loss, rel=1e-3)
    # The same optimum where the same penalty is chosen: at most one apart, because the loss is flat there.
    assert abs(np.log10(sampled.best.lam / exact.best.lam)) <= 0.5 + 1e-9
    nearest = exact.optima[round(2 * np.log10(sampled.best.lam))]
    np.testing.assert_allclose(sampled.best.model, nearest.model, atol=1e-3)


def test_a_given_penalty_is_kept():
    X, y = classes(2, 4000, 5)
    objective = objective_of(Logistic(), alpha=0.01)
    sampled, exact = both(X, y, objective)
    assert sampled.best.lam == pytest.approx(40.0)
    np.testing.assert_allclose(sampled.best.model, exact.best.model, atol=1e-7)


def test_nearly_separated_rows_take_the_path_over_all_rows():
    X, _ = classes(2, 4000, 5)
    y = np.where(X @ [1.0, -1.0, 0.5, 0.0, 2.0] > 0, 1.0, -1.0)
    sampled, exact = both(X, y, objective_of(Logistic()))
    assert sampled.best.lam == exact.best.lam
    np.testing.assert_allclose(sampled.best.model, exact.best.model, rtol=1e-4)


def test_a_tenth_needs_rows_of_each_class_and_rows_for_each_coefficient():
    X, y = classes(2, 4000, 5)
    few = np.where(np.arange(4000) < 100, 1.0, -1.0)
    objective = objective_of(Logistic())
    possible = [
        SampledPath.is_possible(objective, MemoryRows(pieces_of(X[:n], labels[:n]).block))
        for labels, n in ((y, 4000), (few, 4000), (y, 200))
    ]
    assert possible == [True, False, False]


def test_it_is_used_where_sums_are_expensive_and_rows_are_many():
    objective = objective_of(Logistic())
    shapes = ((4000, 5), (20_000, 50), (2000, 200))
    found = [uses_sample(objective, pieces_of(np.zeros(shape), np.ones(shape[0])).block) for shape in shapes]
    assert found == [False, True, False]


def test_grid_of_penalties_is_half_powers_of_ten():
    X, y = classes(2, 4000, 5)
    sampled, _ = both(X, y, objective_of(Logistic()))
    assert set(sampled.losses) == {lam_at(k) for k in sampled.grid.losses}
    assert sampled.losses[sampled.best.lam] == min(sampled.losses.values())


def test_a_sample_stands_for_all_rows_only_with_enough_rows_of_each_class():
    objective, X = objective_of(Logistic()), np.random.default_rng(0).standard_normal((9000, 2))
    for positives, is_sampled in ((4500, True), (30, False)):
        pieces = pieces_of(X, np.where(np.arange(9000) < positives, 1.0, -1.0))
        assert (LeftOutRows(system_of(objective, pieces), pieces).sample is not None) is is_sampled


def test_a_sample_of_few_different_rows_is_drawn_by_their_numbers():
    X = np.repeat(np.random.default_rng(0).standard_normal((30, 2)), 300, axis=0)
    pieces = pieces_of(X, np.tile([-1.0, 1.0], 4500))
    sample = LeftOutRows(system_of(objective_of(Logistic()), pieces), pieces).sample
    assert np.unique(X[sample], axis=0).shape[0] == 30
