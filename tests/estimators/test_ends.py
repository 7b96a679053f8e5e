"""When the default fit stops, what it says about that, which rules it takes, and rows that are sorted."""

import numpy as np
import pytest
from automatic_problems import TASKS, fitted, problem
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss

from sgdone import LinearClassifier, LinearRegressor, SGDClassifier
from sgdone.interfaces.stop_rule import Status
from sgdone.stopping import Gain, MaxPasses, MaxSamples, MaxSeconds, ProgressiveLoss
from tiers import fast_first

#: The bank is tested here: large data are left to it.
pytestmark = pytest.mark.usefixtures("without_finish")

#: The candidate chosen and the phases, which every verdict has, and the judgement of `Gain`.
CHOICE = {"alpha", "learning_rate_multiplier", "alpha_chosen_by", "alphas_tried", "phases"}
JUDGEMENT = {"loss", "standard_error", "constant_loss", "gain", "gain_standard_error", "tol"}


@pytest.mark.parametrize("task", TASKS)
def test_the_verdict_says_what_further_passes_would_gain(task):
    X, y = problem(task)
    verdict = fitted(task, X, y).verdict_
    assert verdict.status is Status.CONVERGED
    assert verdict.rule == "Gain"
    assert set(verdict.evidence) == CHOICE | JUDGEMENT
    loss, error, gain = (verdict.evidence[name] for name in ("loss", "standard_error", "gain"))
    text = str(verdict)
    assert f"the validation loss is {loss:.3g} ± {error:.2g}" in text
    if gain > 0:
        assert f"would lower the validation loss by about {gain:.1g} (" in text
    else:
        assert "more passes are not expected to lower the validation loss" in text
    assert text.startswith(f"Converged after {verdict.step:,} samples")
    assert verdict.step == 600 * verdict.passes
    assert 0 <= gain < 0.2 * error
    assert verdict.evidence["tol"] == 0.2


def test_no_optimum_is_claimed_that_was_not_tested():
    """The verdict and the summary of a model that `Gain` ended say that its penalty is not that of an optimum."""
    X, y = problem("two")
    model = fitted("two", X, y)
    assert not model.verdict_.is_minimum
    assert "the training objective was not minimised)" in str(model.verdict_)
    said = f"fitted with the penalty alpha={model.alpha_:.3g} but not to the minimum of the training objective"
    assert said in model.summary(X, y).head.difference
    exact = SGDClassifier(solver="newton", alpha=0.1).fit(X, y)
    assert exact.verdict_.is_minimum
    assert "minimum" not in exact.summary(X, y).head.difference


@pytest.mark.parametrize("task", TASKS)
def test_the_loss_is_that_of_rows_not_trained_on(task):
    """Its estimate and standard error agree with the loss on new rows."""
    X, y = problem(task)
    new, labels = problem(task, 20_000, seed=1)
    model = fitted(task, X, y)
    if task == "numbers":
        found = np.mean((model.predict(new) - labels) ** 2) / 2
    else:
        found = -model.predict_log_proba(new)[np.arange(20_000), labels].mean()
    evidence = model.verdict_.evidence
    assert abs(evidence["loss"] - found) < 4 * evidence["standard_error"]


# ---- budgets ----


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("passes", [1, 3])
def test_without_a_tolerance_a_number_of_passes_is_exactly_that(passes, task):
    X, y = problem(task)
    for options in ({"stop": passes, "tol": 0.0}, {"stop": Gain(tol=0) | MaxPasses(passes)}):
        model = fitted(task, X, y, **options)
        assert (model.verdict_.step, model.verdict_.passes, model.n_iter_) == (600 * passes, passes, passes)
        assert (model.verdict_.status, model.verdict_.rule) == ("budget spent", "MaxPasses")


@pytest.mark.parametrize("rows", [600, 9000])
@pytest.mark.parametrize("samples", [1, 599, 600, 601, 1024])
def test_a_number_of_samples_is_exactly_that(samples, rows):
    X, y = problem("two", rows)
    verdict = fitted("two", X, y, stop=MaxSamples(samples), tol=0.0).verdict_
    assert (verdict.step, verdict.rule) == (samples, "MaxSamples")


def test_a_budget_that_is_not_spent_changes_nothing(same_model):
    """A minute at most: the fit ends as usual, long before."""
    X, y = load_breast_cancer(return_X_y=True)
    expected = LinearClassifier(random_state=0).fit(X, y)
    for stop in (MaxSeconds(60), MaxPasses(90), 90, MaxSeconds(60) | MaxPasses(90)):
        model = LinearClassifier(stop=stop, random_state=0).fit(X, y)
        assert (model.verdict_.status, model.verdict_.rule) == (Status.CONVERGED, "Gain")
        same_model(model, expected)


@pytest.mark.parametrize("stop", [float("inf"), MaxPasses(float("inf"))], ids=str)
def test_endless_budgets_leave_the_end_to_the_gain(stop):
    X, y = problem("two", 100)
    verdict = LinearClassifier(stop=stop, random_state=0).fit(X, y).verdict_
    assert verdict.rule == "Gain"
    assert verdict.passes <= 100


def test_endless_passes_end():
    X, y = problem("two", 100)
    verdict = LinearClassifier(stop=Gain(tol=0) | MaxPasses(float("inf")), random_state=0).fit(X, y).verdict_
    assert (verdict.status, verdict.passes) == (Status.BUDGET_SPENT, 100.0)


# ---- tol ----


@pytest.mark.parametrize("task", TASKS)
def test_a_smaller_tol_never_makes_fewer_passes(task):
    X, y = problem(task)
    passes = [fitted(task, X, y, tol=tol).verdict_.passes for tol in (10.0, 1.0, 0.2, 0.05, 0.01, 0.0)]
    assert passes == sorted(passes)
    assert passes[0] < passes[-1] == 100


@pytest.mark.parametrize("tol", [-1, -1e-9, np.nan, np.inf, "small", True, [0.2]], ids=str)
@pytest.mark.parametrize("make", [LinearClassifier, LinearRegressor])
def test_a_bad_tol(make, tol):
    X, y = problem("two")
    for method, more in (("fit", {}), ("partial_fit", {} if make is LinearRegressor else {"classes": [0, 1]})):
        with pytest.raises(ValueError, match=r"tol must be a non-negative number; got"):
            getattr(make(tol=tol), method)(X, y, **more)


def test_two_ways_to_say_the_same(same_model):
    X, y = problem("two")
    for first, second in (
        ({"stop": 3}, {"stop": MaxPasses(3)}),
        ({"stop": 3}, {"stop": Gain() | MaxPasses(3)}),
        ({"tol": 0.5}, {"stop": Gain(0.5)}),
        ({"stop": "gain"}, {}),
        ({"tol": np.float32(0.25)}, {"tol": 0.25}),
        ({"tol": None}, {"tol": 0.2}),
        ({"alpha": 0}, {"alpha": 0.0}),
    ):
        same_model(fitted("two", X, y, **first), fitted("two", X, y, **second))


# ---- other rules, and rules that do not fit ----


def test_another_rule_replaces_the_gain():
    X, y = problem("two")
    verdict = fitted("two", X, y, stop=ProgressiveLoss() | MaxPasses(50)).verdict_
    assert verdict.rule == "ProgressiveLoss"
    assert set(verdict.evidence) >= CHOICE


# ---- rows sorted by label: harmless if they are shuffled, reported if not ----


def sorted_rows(task, n_rows=4000):
    X, y = problem(task, n_rows)
    order = np.argsort(y, kind="stable")
    return X[order], y[order]


def loss_of(task, model, X, y):
    return np.mean((model.predict(X) - y) ** 2) if task == "numbers" else log_loss(y, model.predict_proba(X))


@pytest.mark.parametrize("rows", [600, 6000])
@pytest.mark.parametrize("task", TASKS)
def test_shuffling_is_enough(task, rows):
    X, y = sorted_rows(task, rows)
    order = np.random.default_rng(5).permutation(rows)
    new, labels = problem(task, 4000, seed=1)
    sorted_fit, mixed_fit = fitted(task, X, y), fitted(task, X[order], y[order])
    assert loss_of(task, sorted_fit, new, labels) < 1.03 * loss_of(task, mixed_fit, new, labels)
    assert sorted_fit.verdict_.status is Status.CONVERGED
    assert "sorted" not in str(sorted_fit.verdict_)


@pytest.mark.parametrize("task", TASKS)
def test_without_shuffling_the_verdict_reports_it(task):
    X, y = sorted_rows(task)
    verdict = fitted(task, X, y, shuffle=False).verdict_
    assert verdict.status is Status.STALLED
    assert "sorted by label" in verdict.advice
    assert "shuffle" in verdict.advice
    assert str(verdict).startswith("Stalled after")


@pytest.mark.parametrize("chunk", [100])
@pytest.mark.parametrize("task", TASKS)
def test_sorted_streams_are_reported(task, chunk):
    X, y = sorted_rows(task)
    verdict = fitted(task, X, y, chunk).verdict_
    assert verdict.status is Status.STALLED
    assert "shuffle the file before streaming it" in verdict.advice


@pytest.mark.parametrize("chunk", fast_first(1, [100, 1]))
@pytest.mark.parametrize("task", TASKS)
def test_shuffled_streams_are_not_suspected(task, chunk):
    X, y = problem(task, 600 if chunk == 1 else 4000)
    model = fitted(task, X, y, chunk)
    assert model.verdict_.status is Status.IN_PROGRESS
    assert model.verdict_.rule == ""
    assert model.verdict_.reason == "all rows given to partial_fit are used"
    assert model.verdict_.advice == ""


@pytest.mark.parametrize("task", TASKS)
def test_rows_in_no_order_are_not_suspected(task):
    X, y = problem(task, 4000)
    verdict = fitted(task, X, y, shuffle=False).verdict_
    assert verdict.status is Status.CONVERGED
    assert verdict.advice == ""


def test_without_shuffling_as_good_as_with_it():
    new, labels = problem("two", 4000, seed=1)
    X, y = problem("two", 4000)
    shuffled, as_it_comes = (fitted("two", X, y, shuffle=shuffle) for shuffle in (True, False))
    assert loss_of("two", as_it_comes, new, labels) < 1.02 * loss_of("two", shuffled, new, labels)


def test_rare_classes_do_not_count_as_sorted(rng):
    X = rng.standard_normal((4000, 3))
    y = (rng.random(4000) < 0.005).astype(int)
    assert fitted("two", X, y, 200).verdict_.status is Status.IN_PROGRESS


def test_a_trend_of_the_target_is_reported(rng):
    X = rng.standard_normal((4000, 3))
    y = X[:, 0] + 0.01 * np.arange(4000)
    model = LinearRegressor(shuffle=False, random_state=0).fit(X, y)
    assert model.verdict_.status is Status.STALLED
