"""What a verdict advises."""

import numpy as np
import pytest

from running import run
from sgdone import losses, solvers, steps, stopping
from sgdone.data import ArraySource


@pytest.fixture
def problem(rng):
    X = rng.standard_normal((500, 5))
    return X, np.where(X @ rng.standard_normal(5) + 0.1 * rng.standard_normal(500) > 0, 1.0, -1.0)


def advice(X, y, stop, **options):
    return run(ArraySource(X, y), losses.Logistic(), solvers.asgd(), stop, alpha=0.002, **options).verdict.advice


def test_nothing_to_do(problem):
    assert advice(*problem, stopping.ProgressiveLoss(0.05)) == ""


def test_more_passes_while_the_loss_still_falls(problem):
    assert "allow more passes" in advice(*problem, stopping.MaxPasses(3), step=steps.Constant(0.02))
    assert "standardise" not in advice(*problem, stopping.MaxPasses(3))


@pytest.mark.parametrize("passes", [2, 3, 4, 10])
def test_no_more_passes_where_there_is_nothing_to_gain(passes, problem, rng):
    X, _ = problem
    y = np.where(X[:, 0] + 1.5 * rng.standard_normal(500) > 0, 1.0, -1.0)
    assert advice(X, y, stopping.MaxPasses(passes)) == ""


def test_standardise_large_rows(problem):
    X, y = problem
    assert "standardise the features" in advice(1e3 * X, y, stopping.MaxPasses(1))


def test_standardise_when_worse_than_nothing(problem):
    X, y = problem
    assert "worse than predicting 0" in advice(X * 1e4, y, stopping.MaxPasses(2), step=steps.Constant(1.0))


def test_go_on_after_an_interruption(problem):
    def hook(progress):
        raise KeyboardInterrupt

    assert "partial_fit" in advice(*problem, stopping.MaxPasses(2), hook=hook)
