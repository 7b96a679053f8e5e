"""The default fit on sources that are not in memory, and the budgets of runs that do not read all rows."""

import numpy as np
import pytest

from running import objective_of
from sgdone.bank import Bank
from sgdone.losses import Logistic
from sgdone.matrices.row_hash import row_hashes
from sgdone.rows import ArraySource
from sgdone.rows.block_source import BlockSource
from sgdone.rows.blocks import NumberedRows
from sgdone.run import run
from sgdone.stopping import Gain, MaxSamples

WEIGHTS = np.array([1.0, -2.0, 0.5])
SCALES = np.array([1e-3, 1.0, 1e6])


def draw(rng, n_rows):
    X = rng.standard_normal((n_rows, 3))
    probability = 1.0 / (1.0 + np.exp(-(X @ WEIGHTS + 0.5)))
    return X * SCALES, np.where(rng.random(n_rows) < probability, 1.0, -1.0)


def endless():
    rng, first = np.random.default_rng(0), 0
    while True:
        X, labels = draw(rng, 4096)
        yield NumberedRows(X, labels, None, row_hashes(X), np.arange(first, first + 4096))
        first += 4096


def endless_source():
    return BlockSource(endless, None, seed=0, endless=True)


def test_an_endless_source_ends_by_gain():
    result = run(endless_source(), objective_of(Logistic()), Bank(), Gain())
    assert result.verdict.rule == "Gain"
    np.testing.assert_allclose(result.model.coef[0] * SCALES, WEIGHTS, atol=0.2)


def test_an_endless_source_ends_by_a_budget():
    rule = Gain(tol=0) | MaxSamples(20_000)
    result = run(endless_source(), objective_of(Logistic()), Bank(), rule)
    assert result.verdict.rule == "MaxSamples"
    assert result.verdict.step >= 20_000
    assert result.model.intercept[0] == pytest.approx(0.5, abs=0.15)


def test_rows_held_out_are_not_trained_on_beyond_a_budget():
    X, y = draw(np.random.default_rng(0), 30_000)
    rule = Gain(tol=0) | MaxSamples(5000)
    assert run(ArraySource(X, y), objective_of(Logistic()), Bank(), rule).verdict.step == 5000
