"""When a fit that is left to itself ends, and what it says about that."""

import numpy as np
import pytest
from automatic_problems import TASKS, fitted, problem

from sgdone import LinearClassifier, LinearRegressor, stopping
from sgdone.verdict import Status
from tiers import fast_first

EVIDENCE = {"loss", "standard_error", "gain", "gain_standard_error", "tol", "alpha", "step_gain"}


@pytest.mark.parametrize("task", TASKS)
def test_the_verdict_says_what_another_pass_would_gain(task):
    X, y = problem(task)
    verdict = fitted(task, X, y).verdict_
    assert verdict.status is Status.CONVERGED
    assert verdict.rule == "Gain"
    assert set(verdict.evidence) >= EVIDENCE
    loss, noise = verdict.evidence["loss"], verdict.evidence["standard_error"]
    text = str(verdict)
    assert f"{loss:.4g} ± {noise:.2g}" in text
    assert f"by about {verdict.evidence['gain']:.2g}" in text
    assert "of its standard errors (tol=0.2)" in text
    assert text.startswith(f"Converged after {verdict.step:,} samples")
    assert verdict.step == 600 * verdict.passes
    assert 0 <= verdict.evidence["gain"] < 0.2 * noise
    assert verdict.evidence["tol"] == 0.2


@pytest.mark.parametrize("task", TASKS)
def test_the_loss_is_that_of_rows_not_learnt_from(task):
    """Its estimate and standard error agree with the loss on fresh rows."""
    X, y = problem(task)
    new, labels = problem(task, 20_000, seed=1)
    model = fitted(task, X, y)
    if task == "numbers":
        found = np.mean((model.predict(new) - labels) ** 2) / 2
    else:
        found = -model.predict_log_proba(new)[np.arange(20_000), labels].mean()
    evidence = model.verdict_.evidence
    assert abs(evidence["loss"] - found) < 4 * evidence["standard_error"]


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("passes", [1, 3])
def test_a_number_of_passes_is_exactly_that(passes, task):
    X, y = problem(task)
    for stop in (passes, stopping.MaxPasses(passes)):
        model = fitted(task, X, y, stop=stop)
        assert (model.verdict_.step, model.verdict_.passes, model.n_iter_) == (600 * passes, passes, passes)
        assert (model.verdict_.status, model.verdict_.rule) == ("budget spent", "MaxPasses")


@pytest.mark.parametrize("rows", [600, 9000])
@pytest.mark.parametrize("samples", [1, 599, 600, 601, 1024])
def test_a_number_of_samples_is_exactly_that(samples, rows):
    X, y = problem("two", rows)
    verdict = fitted("two", X, y, stop=stopping.MaxSamples(samples)).verdict_
    assert (verdict.step, verdict.rule) == (samples, "MaxSamples")


@pytest.mark.parametrize(
    ("rule", "step"),
    [
        (stopping.MaxSamples(100) | stopping.MaxPasses(2), 100),
        (stopping.MaxSamples(100) & stopping.MaxPasses(2), 1200),
        (stopping.MaxPasses(1).then(3), 1800),
    ],
    ids=repr,
)
def test_budgets_compose(rule, step):
    X, y = problem("two")
    model = fitted("two", X, y, stop=rule)
    assert model.verdict_.step == step
    assert model.multinomial_ is False
    assert "step_gain" not in model.verdict_.evidence


def test_two_ways_to_say_the_same(same_model):
    X, y = problem("two")
    for first, second in (
        ({"stop": 3}, {"stop": stopping.MaxPasses(3)}),
        ({"solver": "auto"}, {}),
        ({"step": "auto", "average": None, "penalty": "l2", "monitors": None}, {}),
        ({"tol": np.float32(0.25)}, {"tol": 0.25}),
        ({"alpha": 0}, {"alpha": 0.0}),
    ):
        same_model(fitted("two", X, y, **first), fitted("two", X, y, **second))


@pytest.mark.parametrize(
    "options",
    fast_first(
        2,
        [
            {"solver": "asgd"},
            {"step": 0.01},
            {"step": "inverse_sqrt"},
            {"average": True},
            {"penalty": "l1"},
            {"center": True},
            {"monitors": ["margins"]},
            {"stop": "progressive"},
            {"stop": stopping.ProgressiveLoss() | stopping.MaxPasses(5)},
        ],
    ),
    ids=str,
)
def test_whoever_names_a_method_gets_it(options, same_model):
    X, y = problem("two")
    named = {"solver": "sgd" if options == {"penalty": "l1"} else "asgd"} | options
    same_model(fitted("two", X, y, **options), fitted("two", X, y, **named))


@pytest.mark.parametrize("task", TASKS)
def test_a_smaller_tol_never_makes_fewer_passes(task):
    X, y = problem(task)
    passes = [fitted(task, X, y, tol=tol).verdict_.passes for tol in (10.0, 1.0, 0.2, 0.05, 0.01, 0.0)]
    assert passes == sorted(passes)
    assert passes[0] < passes[-1] == 100


@pytest.mark.parametrize("tol", [-1, -1e-9, np.nan, np.inf, "small", None, True, [0.2]], ids=str)
@pytest.mark.parametrize("make", [LinearClassifier, LinearRegressor])
def test_a_bad_tol(make, tol):
    X, y = problem("two")
    for method, more in (("fit", {}), ("partial_fit", {} if make is LinearRegressor else {"classes": [0, 1]})):
        with pytest.raises(ValueError, match=r"tol=.* is not a non-negative number"):
            getattr(make(tol=tol), method)(X, y, **more)


def test_what_spent_passes_say():
    X, y = problem("numbers")
    verdict = fitted("numbers", X, y, tol=0.0).verdict_
    assert verdict.status is Status.BUDGET_SPENT
    assert "100 passes made" in str(verdict)
    assert set(verdict.evidence) >= EVIDENCE


@pytest.mark.parametrize("stop", [float("inf"), stopping.MaxPasses(float("inf"))], ids=str)
def test_endless_passes_end(stop):
    X, y = problem("two", 100)
    model = LinearClassifier(stop=stop, random_state=0)

    def watch(progress, _):
        assert progress.pass_number <= 1000

    model._progress_hook = watch
    assert model.fit(X, y).verdict_.passes <= 1000


def test_going_on_after_the_end(same_model):
    X, y = problem("two")
    model = fitted("two", X, y)
    steps = model.verdict_.step
    model.partial_fit(X, y).partial_fit(X, y)
    assert model.verdict_.step == steps + 1200
    ended = fitted("two", X, y, stop=2)
    with pytest.raises(ValueError, match=r"has ended this model .*: pass resume=True to partial_fit to go on"):
        ended.partial_fit(X, y)
    assert ended.partial_fit(X, y, resume=True).verdict_.step == 1800


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"loss": "hinge"}, "loss"),
        ({"solver": "sgd"}, "solver"),
        ({"average": True}, "solver"),
        ({"alpha": 3.0}, "alpha"),
        ({"fit_intercept": False}, "fit_intercept"),
    ],
)
def test_what_cannot_change_between_calls(change, what):
    X, y = problem("two")
    model = fitted("two", X, y, 200).set_params(**change)
    with pytest.raises(ValueError, match=f"{what} was .* and is .* now: partial_fit cannot go on, call fit anew"):
        model.partial_fit(X, y)
