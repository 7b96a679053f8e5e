"""Training goes on after save and load with the bits it has without: what rules and methods remember is stored."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import sgdone
from sgdone import SGDClassifier, SGDRegressor, solvers, steps
from sgdone.solvers import SVRG, Halving
from sgdone.stopping import (
    Distance,
    MarginTest,
    MaxPasses,
    MaxSamples,
    MaxSeconds,
    MinPasses,
    Pflug,
    ProgressiveLoss,
    SmallValidationSet,
)
from tiers import fast_first, grid, interpreted

pytestmark = grid

FORMS = {"dense": np.asarray, "csr": sparse.csr_array, "single": np.float32}


def model(stop="auto", **options):
    options = {"solver": "sgd", "step": 0.05, "alpha": 0.01, "shuffle": False} | options
    return SGDClassifier(stop=stop, **options)


#: None of these has fired after 60 rows of the fixture, and most have by the last.
MODELS = {
    "margin": model(MarginTest(3.0)),
    "fresh margin": model(MarginTest(1.5, fresh=True)),
    "validation set": model(SmallValidationSet(8, 70)),
    "pflug": model(Pflug(80), step=0.5),
    "distance": model(Distance(first=10, threshold=1.5)),
    "then": model(MarginTest(0.2).then(12)),
    "both": model((MarginTest(0.2) & Pflug(80)) | MaxSamples(250)),
    "two sets": model(SmallValidationSet(4, 70) & (SmallValidationSet(12, 90) | MinPasses(3))),
    "centred": model(MarginTest(2.0), center=True, step=steps.ClassScale(0.05)),
    "centred set": model(SmallValidationSet(8, 70), center=True),
    "sgd-half": model(solver="sgd-half"),
    "isgd-half": model(MaxSamples(200), solver=Halving(detector=Pflug(30))),
    "half by distance": model(solver=Halving(solvers.SGD(), Distance(first=3) | MaxPasses(1), smallest=1e-6)),
    "half by margin": model(solver=Halving(solvers.SGD(), MarginTest(0.3) & ProgressiveLoss(0.5))),
    "searching": SGDClassifier(random_state=0, step="xu", average=True),
    "late average": model(solver=solvers.Averaged(after=75), shuffle=True, random_state=0),
}


@pytest.fixture
def rows(rng):
    X = rng.standard_normal((300, 5)) * (rng.random((300, 5)) < 0.8)
    return X, (X[:, 0] + 0.5 * rng.standard_normal(300) > 0.1).astype(int)


@interpreted
@pytest.mark.parametrize("form", fast_first(1, FORMS))
@pytest.mark.parametrize("name", fast_first(2, MODELS))
def test_partial_fit_goes_on_as_if_never_stored(name, form, rows, stored):
    X, y = FORMS[form](rows[0]), rows[1]
    first = SGDClassifier(**MODELS[name].get_params())
    first.partial_fit(X[:60], y[:60], classes=[0, 1])
    assert first.verdict_.rule == ""
    second = stored(first)
    assert repr(second.get_params()) == repr(first.get_params())
    assert second.verdict_ == first.verdict_
    for start in range(60, 300, 40):
        part = slice(start, start + 40)
        first.partial_fit(X[part], y[part])
        second = stored(second.partial_fit(X[part], y[part]))
        assert second.verdict_ == first.verdict_
        assert second.coef_.tobytes() == first.coef_.tobytes()
        assert second.intercept_.tobytes() == first.intercept_.tobytes()
        if first.verdict_.rule not in ("", "Halving"):
            with pytest.raises(ValueError, match="has ended this model"):
                second.partial_fit(X[part], y[part])
            break


@interpreted
@pytest.mark.slow
def test_most_of_these_rules_do_fire_after_they_were_stored(rows):
    fired = []
    for name, given in MODELS.items():
        learner = SGDClassifier(**given.get_params()).partial_fit(rows[0], rows[1], classes=[0, 1])
        fired += [name] if learner.verdict_.rule else []
    assert set(fired) >= {"margin", "fresh margin", "validation set", "pflug", "distance", "then", "both", "centred"}


@interpreted
@pytest.mark.parametrize("name", fast_first(2, MODELS))
def test_three_classes(name, rows, stored):
    X, y = rows[0], np.digitize(rows[0][:, 0], [-0.5, 0.5])
    first = SGDClassifier(**MODELS[name].get_params()).partial_fit(X[:150], y[:150], classes=[0, 1, 2])
    second = stored(first)
    resume = any(result.verdict.rule for result in first._fitted.results)
    first.partial_fit(X[150:], y[150:], resume=resume)
    second.partial_fit(X[150:], y[150:], resume=resume)
    assert second.coef_.tobytes() == first.coef_.tobytes()
    assert second.verdict_ == first.verdict_


@interpreted
@pytest.mark.parametrize("name", fast_first(2, MODELS))
def test_a_model_that_has_ended(name, rows, stored):
    """fit, then the file, then rows although the rule has fired."""
    X, y = rows
    first = SGDClassifier(**MODELS[name].get_params()).fit(X, y)
    second = stored(first)
    assert second.verdict_ == first.verdict_
    assert second.predict(X).tolist() == first.predict(X).tolist()
    first.partial_fit(X, y, resume=True)
    second.partial_fit(X, y, resume=True)
    assert second.coef_.tobytes() == first.coef_.tobytes()
    assert second.verdict_ == first.verdict_


@interpreted
@pytest.mark.parametrize("option", fast_first(1, ["I", "II"]))
@pytest.mark.parametrize("form", fast_first(1, FORMS))
@pytest.mark.slow
def test_svrg(option, form, rows, stored):
    X, y = FORMS[form](rows[0]), rows[1]
    first = model(4.5, solver=SVRG(150, option, seed=2), warm_start=True).fit(X, y)
    second = stored(first)
    assert second.verdict_ == first.verdict_
    assert second.verdict_.evidence["anchors"] == first.verdict_.evidence["anchors"]
    assert repr(second.solver) == repr(first.solver)
    assert second.fit(X, y).coef_.tobytes() == first.fit(X, y).coef_.tobytes()
    with pytest.raises(ValueError, match="Use fit, not partial_fit"):
        second.partial_fit(X, y, resume=True)


@interpreted
@pytest.mark.slow
def test_from_sparse_rows_to_dense_ones(rows, stored):
    X, y = rows
    for name in ("validation set", "pflug", "centred", "centred set", "isgd-half"):
        first = SGDClassifier(**MODELS[name].get_params())
        first.partial_fit(sparse.csr_array(X[:60]), y[:60], classes=[0, 1])
        second = stored(first)
        first.partial_fit(X[60:], y[60:])
        assert second.partial_fit(X[60:], y[60:]).coef_.tobytes() == first.coef_.tobytes()
        assert second.verdict_ == first.verdict_


@interpreted
def test_what_is_held_out_stays_held_out(rows, stored):
    """Not other rows, of those that come next."""
    X, y = rows
    first = model(SmallValidationSet(8, 10**6)).partial_fit(X[:60], y[:60], classes=[0, 1])
    second = stored(first).partial_fit(X[60:], y[60:])
    assert second.verdict_.step == 300 - 8
    (held,) = (result.rule_state for result in second._fitted.results)
    assert np.array_equal(held.matrix(5), X[:8])
    assert np.array_equal(held.labels, 2.0 * y[:8] - 1.0)


@interpreted
def test_halvings_in_the_verdict(rows, stored):
    X, y = rows
    fitted = SGDRegressor(solver=Halving(detector=MaxSamples(50)), step=0.3, stop=2, random_state=0).fit(X, y)
    assert len(fitted.verdict_.evidence["halvings"]) == 12
    assert stored(fitted).verdict_.evidence == fitted.verdict_.evidence
    assert stored(fitted)._fitted.results[0].state.extra.done == fitted._fitted.results[0].state.extra.done


def test_partial_fit_after_fit_and_a_warm_start(rows, stored):
    X, y = rows
    model = SGDClassifier(solver="asgd", random_state=0, warm_start=True).fit(X, y)
    loaded = stored(model)
    for goes_on in (SGDClassifier.partial_fit, SGDClassifier.fit):
        assert goes_on(loaded, X, y).coef_.tobytes() == goes_on(model, X, y).coef_.tobytes()


def test_seconds_used_are_kept(rows, tmp_path):
    X, y = rows
    model = SGDClassifier(stop=MaxSeconds(100) | MaxSamples(10**6)).partial_fit(X, y, [0, 1])
    model._fitted.results[0].rule_state.states[0].earlier_runs = 200.0
    sgdone.save(model, tmp_path / "m")
    loaded = sgdone.load(tmp_path / "m")
    assert loaded._fitted.results[0].rule_state == model._fitted.results[0].rule_state
    with pytest.raises(ValueError, match="100 seconds allowed and used"):
        loaded.partial_fit(X, y)


def test_what_a_rule_remembers_and_cannot_be_stored_is_not_dropped(rows, tmp_path):
    X, y = rows
    model = SGDClassifier(stop="progressive", random_state=0).partial_fit(X, y, [0, 1])
    model._fitted.results = [replace(result, rule_state=object()) for result in model._fitted.results]
    with pytest.raises(ValueError, match=r"cannot be stored .the state of ProgressiveLoss.* is not valid"):
        sgdone.save(model, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_another_rule_starts_again_after_it_was_stored(rows, stored):
    X, y = rows
    model = SGDClassifier(stop=MaxSamples(20), random_state=0).fit(X, y).set_params(stop="progressive")
    loaded = stored(model)
    assert loaded.partial_fit(X, y).coef_.tobytes() == model.partial_fit(X, y).coef_.tobytes()
    assert loaded.verdict_ == model.verdict_


def test_another_method_cannot_be_stored_with_the_state_of_the_last(rows, tmp_path):
    model = SGDClassifier(solver="asgd", random_state=0).fit(*rows).set_params(solver="sgd")
    with pytest.raises(ValueError, match=r"cannot be stored .*set the parameters back, or fit it again"):
        sgdone.save(model, tmp_path / "m")
