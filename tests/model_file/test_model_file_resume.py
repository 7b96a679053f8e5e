"""partial_fit after save and load gives the bits it gives without."""

import copy
from dataclasses import replace

import numpy as np
import pytest

import sgdone
from sgdone import SGDClassifier, solvers, stopping
from tiers import fast_first

MODELS = {
    "asgd": SGDClassifier(solver="asgd", random_state=0),
    "sgd": SGDClassifier("hinge", solver="sgd", random_state=1, alpha=0.01),
    "aisgd": SGDClassifier("squared_hinge", solver="aisgd", random_state=2),
    "isgd": SGDClassifier(solver="isgd", step=0.5, random_state=3, fit_intercept=False),
    "searching": SGDClassifier(random_state=0, step="xu", average=True),
    "late average": SGDClassifier(solver=solvers.Averaged(after=75), random_state=0),
    "a rule": SGDClassifier(solver="asgd", stop=stopping.MaxSamples(130), random_state=0),
    "rules": SGDClassifier(stop=stopping.MaxPasses(3) & stopping.ProgressiveLoss(0.9), random_state=0),
    "a generator": SGDClassifier(solver="asgd", random_state=np.random.RandomState(3)),
}


def bits(model):
    arrays = [model.coef_, model.intercept_]
    for result in model._fitted.results:
        arrays += [result.state.weights, result.state.offsets, result.state.numbers, result.model.coef]
    numbers = [(r.state.step, r.state.phase, r.state.average_start, r.rows_read) for r in model._fitted.results]
    return [array.tobytes() for array in arrays], numbers, repr([r.rule_state for r in model._fitted.results])


@pytest.mark.parametrize("dtype", fast_first(1, [np.float64, np.float32]))
@pytest.mark.parametrize("classes", fast_first(1, [2, 3]))
@pytest.mark.parametrize("name", fast_first(1, MODELS))
def test_partial_fit_goes_on(name, classes, dtype, rng, stored):
    model = copy.deepcopy(MODELS[name])
    X = rng.standard_normal((150, 5)).astype(dtype)
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0) * (classes - 2)
    model.partial_fit(X[:50], y[:50], classes=np.arange(classes))
    loaded = stored(model)
    assert bits(loaded) == bits(model)
    for part in (slice(50, 100), slice(100, 150)):
        model.partial_fit(X[part], y[part])
        loaded.partial_fit(X[part], y[part])
        assert bits(loaded) == bits(model)


def test_partial_fit_after_fit_and_a_warm_start(rows, stored):
    X, y = rows
    model = SGDClassifier(solver="asgd", random_state=0, warm_start=True).fit(X, y)
    loaded = stored(model)
    assert bits(loaded.partial_fit(X, y)) == bits(model.partial_fit(X, y))
    assert bits(loaded.fit(X, y)) == bits(model.fit(X, y))


def test_seconds_used_are_kept(rows, tmp_path):
    X, y = rows
    model = SGDClassifier(stop=stopping.MaxSeconds(100) | stopping.MaxSamples(10**6)).partial_fit(X, y, ["no", "yes"])
    model._fitted.results[0].rule_state.states[0].earlier_runs = 200.0
    sgdone.save(model, tmp_path / "m")
    loaded = sgdone.load(tmp_path / "m")
    assert loaded._fitted.results[0].rule_state == model._fitted.results[0].rule_state
    with pytest.raises(ValueError, match="100 seconds allowed and used"):
        loaded.partial_fit(X, y)


def test_what_a_rule_remembers_and_cannot_be_stored_is_not_dropped(rows, tmp_path):
    X, y = rows
    model = SGDClassifier(stop="progressive", random_state=0).partial_fit(X, y, ["no", "yes"])
    model._fitted.results = [replace(result, rule_state=object()) for result in model._fitted.results]
    with pytest.raises(ValueError, match=r"cannot be stored .the state of ProgressiveLoss.* is not valid"):
        sgdone.save(model, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_another_rule_starts_again_after_it_was_stored(rows, stored):
    X, y = rows
    model = SGDClassifier(stop=stopping.MaxSamples(20), random_state=0).fit(X, y).set_params(stop="progressive")
    loaded = stored(model)
    assert bits(loaded.partial_fit(X, y)) == bits(model.partial_fit(X, y))


def test_another_method_cannot_be_stored_with_the_state_of_the_last(rows, tmp_path):
    model = SGDClassifier(solver="asgd", random_state=0).fit(*rows).set_params(solver="sgd")
    with pytest.raises(ValueError, match=r"cannot be stored .*set the parameters back, or fit it again"):
        sgdone.save(model, tmp_path / "m")
