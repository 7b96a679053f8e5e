"""Runs that figures measure along the way."""

import numpy as np
import pytest

from sgdone.losses import Squared
from sgdone.papers.runs import fired, fit, iterates, trajectory
from sgdone.papers.streams import GeneratedStream
from sgdone.rows import ArraySource
from sgdone.solvers import ISGD, SGD, Halving
from sgdone.steps import Constant
from sgdone.stopping import MaxPasses, MaxSamples, Pflug
from tiers import interpreted

SEED = np.random.SeedSequence(2)
SETTINGS = {"fit_intercept": False, "task": "regression"}


@pytest.fixture(scope="module")
def source():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    return ArraySource(X, X @ [1.0, -2.0, 0.5] + 0.1 * rng.standard_normal(200))


def first_and_norm(coef, _):
    return coef[0], coef @ coef


@interpreted
def test_iterates_are_those_of_runs_that_stop_there(source):
    points = np.array([1, 37, 200, 450])
    found = iterates(source, Squared(), SGD(), points, SEED, step=Constant(0.05), **SETTINGS)
    for weights, point in zip(found, points.tolist(), strict=True):
        result = fit(source, Squared(), SGD(), MaxSamples(point), SEED, step=Constant(0.05), **SETTINGS)
        assert not fired(result)
        np.testing.assert_array_equal(weights, result.model.coef[0])


@interpreted
def test_a_trajectory_measures_at_passes_and_counts_the_time(source):
    passes = np.arange(1, 7) / 2
    found = trajectory(
        source, Squared(), SGD(), first_and_norm, passes, SEED, step=Constant(0.05), block_size=50, **SETTINGS
    )
    np.testing.assert_array_equal(found.passes, passes)
    assert np.all(np.diff(found.seconds) >= 0)
    result = fit(source, Squared(), SGD(), MaxPasses(3), SEED, step=Constant(0.05), **SETTINGS)
    np.testing.assert_array_equal(found.values[-1], first_and_norm(result.model.coef[0], 0.0))


@interpreted
def test_a_run_that_diverges_is_infinite_and_one_that_ends_early_stays(source):
    passes = np.array([1.0, 39.0, 40.0])
    diverged = trajectory(
        source, Squared(), SGD(), first_and_norm, passes, SEED, step=Constant(1e3), block_size=100, **SETTINGS
    )
    assert diverged.values.shape == (3, 2)
    assert np.all(diverged.values[-1] == np.inf)
    halving = Halving(ISGD(), Pflug(5), smallest=0.2)
    ended = trajectory(
        source, Squared(), halving, lambda coef, _: coef[0], passes, SEED, step=Constant(0.5), block_size=100,
        **SETTINGS,
    )  # fmt: skip
    assert np.isfinite(ended.values).all()
    assert ended.values[1] == ended.values[2] != 0


@interpreted
def test_a_stream_ends_where_it_should():
    def draw(rng, n_rows):
        return rng.random((n_rows, 2)), np.ones(n_rows)

    endless, ending = GeneratedStream(2, draw), GeneratedStream(2, draw, np.array([3, 2000]))
    assert (endless.n_rows, ending.n_rows) == (None, 2000)
    assert [len(y) for _, y in ending.arrays(np.random.default_rng(0))] == [3, 1024, 973]
