"""Fits from files end at the exact optimum, and their summaries are those of the rows in memory."""

import numpy as np
import pytest

from estimators.source_problems import frame, from_files, numbers, table_of, write
from sgdone import LinearClassifier
from sgdone.interfaces.objective import Objective
from sgdone.losses import Squared
from sgdone.newton.summed_path import best_lam
from sgdone.rows import ArraySource, Scaling
from sgdone.sums.row_sum import MemoryRows
from sgdone.sums.second_order import SecondOrderAt
from sgdone.sums.system import System

pytestmark = pytest.mark.usefixtures("own_cache_folder")


@pytest.fixture
def problem():
    return numbers(30_000)


@pytest.mark.parametrize("order", ["as they come", "sorted by label", "not shuffled"])
def test_coefficients_within_a_tenth_of_a_standard_error(problem, tmp_path, order):
    X, y = problem
    rows = np.argsort(y, kind="stable") if order == "sorted by label" else np.arange(len(y))
    paths = write(table_of(X[rows], y[rows]), tmp_path / "t.parquet", cuts=[7_000])
    model = LinearClassifier(random_state=0, shuffle=order != "not shuffled").fit(from_files(paths))
    assert model.verdict_.finish_passes > 0
    summary = model.summary(frame(X), y)
    assert np.abs((model.coef_[0] - summary.coef[1:]) / summary.std_err[1:]).max() < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("cov", ["robust", "classical"])
def test_a_summary_is_that_of_rows_in_memory(problem, tmp_path, cov):
    X, y = problem
    table = table_of(X, y, job=np.array(["a", "b", "c"])[np.arange(len(y)) % 3], w=1.0 + np.arange(len(y)) % 2)
    source = from_files(write(table, tmp_path / "t.parquet", cuts=[10_000]), weight="w")
    model = LinearClassifier(random_state=0).fit(source)
    found = model.summary(source, cov=cov)
    expected = model.summary(table.drop_columns(["y", "w"]), y, table["w"].to_numpy(), cov=cov)
    assert found.features == expected.features
    np.testing.assert_array_equal(found.coef, expected.coef)
    np.testing.assert_array_equal(found.std_err, expected.std_err)


def test_the_penalty_of_least_expected_loss():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 20))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    objective = Objective(Squared(), 0.0, predicts="target")

    def strength(coefficient):
        y = X @ np.full(20, coefficient) + rng.standard_normal(400)
        y -= y.mean()
        block = next(iter(ArraySource(X, y, shuffle=False).blocks(rng)))
        model = np.append(np.linalg.lstsq(X, y)[0], 0.0)[:, None]
        system = System(objective, Scaling(np.ones(20)))
        return best_lam(system, MemoryRows(block).sum(SecondOrderAt(system, model)), model)

    # Ridge: the best penalty is about the variance of the noise over that of the coefficients.
    assert strength(1.0) < 5 < 100 < strength(0.02)
