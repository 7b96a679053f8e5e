"""What a verdict advises."""

import numpy as np
import pytest

from running import run
from sgdone import SGDClassifier, SGDRegressor, losses, solvers, steps, stopping
from sgdone.interfaces.stop_rule import Status
from sgdone.rows import ArraySource
from tiers import interpreted


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


# ---- worse than a constant prediction ----


def test_an_average_that_still_contains_a_far_start_has_not_converged():
    rng = np.random.default_rng(0)
    X, coef = rng.standard_normal((2000, 5)), np.array([1.0, -2.0, 0.5, 0.0, 3.0])
    y = (X @ coef + rng.logistic(size=2000) > 0).astype(int)
    plain = SGDClassifier(random_state=0).fit(X, y)
    assert (plain.verdict_.status, plain.verdict_.advice) == (Status.CONVERGED, "")
    verdict = SGDClassifier(random_state=0).fit(X, y, coef_init=[30.0 * coef]).verdict_
    assert verdict.status is Status.STALLED
    assert "its loss is 1.51, that of a constant 0.693" in verdict.advice


@pytest.mark.parametrize("seed", range(3))
def test_targets_with_columns_far_from_0_have_not_converged(seed):
    """The average is a constant; the iterates, which the rule sees, are thrown about."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((600, 4))
    y = X @ [1.0, 2.0, 3.0, -1.0] + rng.standard_normal(600)
    assert SGDRegressor(random_state=seed).fit(X, y).verdict_.status is Status.CONVERGED
    verdict = SGDRegressor(random_state=seed).fit(X + 1000.0, y).verdict_
    assert verdict.status is Status.STALLED
    assert "use LinearRegressor" in verdict.advice


def test_a_stream_in_other_units_is_remarked_on():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((600, 4))
    y = X @ [1.0, 2.0, 3.0, -1.0]
    model = SGDRegressor(random_state=0).partial_fit(X, y)
    assert model.verdict_.advice == ""
    assert "worse than the same prediction for all rows" in model.partial_fit(1000.0 * X, y).verdict_.advice


@pytest.fixture
def raw_units():
    """Eight columns, the last of them about 300 times as large as the others; 60 % of the rows are of one class."""
    rng = np.random.default_rng(2)
    y = (rng.random(1000) < 0.4).astype(int)
    X = rng.exponential(size=(1000, 8)) * np.where(y[:, None] == np.arange(8) % 2, 2.0, 1.0)
    X[:, 7] = 50.0 * np.exp(1.5 * rng.standard_normal(1000) + y)
    return X, y


@interpreted
@pytest.mark.parametrize("stop", ["auto", stopping.MarginTest(), stopping.Pflug()], ids=str)
def test_fewer_rows_right_than_by_a_constant_is_not_convergence(stop, raw_units):
    """Also where the loss is next to that of a constant, and whatever rule ended the run."""
    X, y = raw_units
    model = SGDClassifier(stop=stop, random_state=0).fit(X, y)
    verdict, share = model.verdict_, np.mean(y == 0)
    assert model.score(X, y) < share - 0.15
    assert verdict.status is Status.STALLED
    assert f"its accuracy is {model.score(X, y):.3g}, that of a constant {share:.3g}." in verdict.advice
    assert "The scales of columns differ: column 7 is up to" in verdict.advice
    assert verdict.advice.endswith("Standardise the features, or use LinearClassifier, which scales them itself.")
    assert verdict.evidence["model_accuracy"] == pytest.approx(model.score(X, y))
    assert verdict.evidence["constant_accuracy"] == pytest.approx(share)


def test_a_budget_that_is_spent_stays_spent(raw_units):
    verdict = SGDClassifier(stop=2, random_state=0).fit(*raw_units).verdict_
    assert verdict.status is Status.BUDGET_SPENT
    assert "worse than the same prediction for all rows: its accuracy" in verdict.advice


def test_accuracy_is_that_of_weighted_rows(raw_units):
    """With balanced classes a constant classifies half of the weight correctly, which is no less than 0.5."""
    X, y = raw_units
    verdict = SGDClassifier(class_weight="balanced", random_state=0).fit(X, y).verdict_
    assert "model_accuracy" not in verdict.evidence


@interpreted
def test_sorted_rows_are_compared_all_over(problem):
    """The first of them are of one class, which a constant would predict without error."""
    X, y = problem
    order = np.argsort(np.repeat(y, 20), kind="stable")
    model = SGDClassifier(solver="gd", shuffle=False).fit(np.repeat(X, 20, axis=0)[order], np.repeat(y, 20)[order])
    assert model.score(X, y) > 0.9
    assert "same prediction" not in model.verdict_.advice
