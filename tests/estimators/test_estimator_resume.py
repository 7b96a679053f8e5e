"""After a stop: when partial_fit refuses to go on."""

import copy

import numpy as np
import pytest

from sgdone import LinearClassifier, SGDClassifier, stopping

RULES = {
    "passes": {"tol": 0, "stop": 2},
    "samples": {"tol": 0, "stop": stopping.MaxSamples(450)},
    "seconds": {"stop": stopping.MaxSeconds(1e-9)},
    "progressive": {"stop": stopping.ProgressiveLoss(0.9)},
    "any": {"tol": 0, "stop": stopping.MaxSamples(450) | stopping.MaxPasses(9)},
    "all": {"tol": 0, "stop": stopping.MaxSamples(450) & stopping.MaxPasses(1)},
}
ENDED = r"the rule stop=.* has ended this model \(.*\): pass resume=True to partial_fit to continue, or call fit again"


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_of_the_users_own_ends_the_model(rule, binary, same_model):
    model = LinearClassifier(**RULES[rule], random_state=0).fit(*binary)
    before = copy.deepcopy(model)
    with pytest.raises(ValueError, match=ENDED):
        model.partial_fit(*binary)
    same_model(model, before)


@pytest.mark.parametrize("rule", ["passes", "samples", "seconds", "any", "all"])
def test_it_also_ends_a_stream(rule, binary):
    X, y = binary
    model = LinearClassifier(**RULES[rule], random_state=0)
    while not hasattr(model, "verdict_") or model.verdict_.rule == "":
        model.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match=ENDED):
        model.partial_fit(X, y)
    assert 0 < model.verdict_.step <= 600
    if rule == "samples":
        assert model.verdict_.step == 450


@pytest.mark.parametrize("rule", RULES)
def test_resume_goes_on_all_the_same(rule, binary):
    X, y = binary
    model = LinearClassifier(**RULES[rule], random_state=0).fit(X, y)
    for _ in range(3):
        steps, before = model._fitted.results[0].state.steps, model.coef_.copy()
        model.partial_fit(X, y, resume=True)
        assert model.verdict_.step == steps + 300
        assert not np.array_equal(model.coef_, before)


@pytest.mark.parametrize("rule", ["passes", "samples", "seconds", "any", "all"])
def test_a_budget_that_was_spent_stays_spent(rule, binary):
    X, y = binary
    model = LinearClassifier(**RULES[rule], random_state=0).fit(X, y).partial_fit(X, y, resume=True)
    with pytest.raises(ValueError, match=ENDED):
        model.partial_fit(X, y)


def test_the_default_rule_never_refuses(binary):
    X, y = binary
    model = SGDClassifier(solver="asgd", random_state=0).fit(X, y)
    assert model.verdict_.rule in ("MaxPasses", "ProgressiveLoss")
    model.partial_fit(X, y).partial_fit(X, y)


def test_another_rule_starts_again(binary):
    X, y = binary
    model = SGDClassifier(solver="asgd", random_state=0).fit(X, y)
    done = model.verdict_.step
    model.set_params(stop=stopping.MaxSamples(done + 100)).partial_fit(X, y)
    assert model.verdict_.step == done + 100
    assert model.verdict_.rule == "MaxSamples"
    model.set_params(stop="progressive").partial_fit(X, y)
    assert model.verdict_.step == done + 400
    with pytest.raises(ValueError, match=ENDED):
        model.set_params(stop=stopping.MaxSamples(done)).partial_fit(X, y)


def test_fit_starts_again(binary, same_model):
    model = LinearClassifier(stop=2, random_state=0).fit(*binary)
    same_model(copy.deepcopy(model).fit(*binary), model)


@pytest.mark.parametrize(
    ("make", "change", "what"),
    [
        (SGDClassifier, {"loss": "hinge"}, "loss"),
        (SGDClassifier, {"solver": "sgd"}, "solver"),
        (SGDClassifier, {"average": 10}, "solver"),
        (SGDClassifier, {"alpha": 3.0}, "alpha"),
        (SGDClassifier, {"fit_intercept": False}, "fit_intercept"),
        (LinearClassifier, {"loss": "hinge"}, "loss"),
        (LinearClassifier, {"alpha": 3.0}, "alpha"),
        (LinearClassifier, {"fit_intercept": False}, "fit_intercept"),
    ],
)
def test_another_objective_or_solver_cannot_go_on(make, change, what, binary):
    model = make(random_state=0).fit(*binary).set_params(**change)
    with pytest.raises(ValueError, match=f"{what} was .* and is .* now: partial_fit cannot continue, call fit again"):
        model.partial_fit(*binary)
