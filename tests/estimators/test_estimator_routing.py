"""Inside scikit-learn's meta-estimators."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, StackingClassifier
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline

from sgdone import LinearClassifier, LinearRegressor, SGDClassifier, losses, stopping


@pytest.fixture
def routing():
    with config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
def test_weights_reach_fit_through_a_search(binary, same_model):
    X, y = binary
    weight = np.where(y, 5.0, 1.0)
    model = LinearClassifier(random_state=0).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    search = GridSearchCV(model, {"alpha": [0.1, 1e-3]}, cv=3).fit(X, y, sample_weight=weight)
    best = LinearClassifier(random_state=0, **search.best_params_).fit(X, y, sample_weight=weight)
    same_model(search.best_estimator_, best)


@pytest.mark.usefixtures("routing")
def test_every_argument_can_be_requested():
    model = LinearClassifier()
    model.set_fit_request(sample_weight=True, coef_init=True, intercept_init=True)
    model.set_partial_fit_request(classes=True, sample_weight=True, resume=True)
    model.set_score_request(sample_weight=True)
    LinearRegressor().set_fit_request(sample_weight=True, coef_init=True, intercept_init=True)
    LinearRegressor().set_partial_fit_request(sample_weight=True, resume=True)


@pytest.mark.slow
def test_a_search_over_objects_and_names(several):
    grid = {
        "loss": ["logistic", losses.Hinge()],
        "stop": [1, stopping.MaxSamples(500)],
        "solver": ["asgd", "isgd"],
        "fit_intercept": np.array([True, False]),
        "average": [None],
    }
    search = GridSearchCV(SGDClassifier(random_state=0), grid, cv=2).fit(*several)
    assert search.best_score_ > 0.8
    assert not np.isnan(search.cv_results_["mean_test_score"]).any()


def test_averages_from_an_array(binary):
    grid = {"average": np.array([True, False])}
    search = GridSearchCV(SGDClassifier(solver="sgd", random_state=0), grid, cv=2, error_score="raise").fit(*binary)
    assert search.best_score_ > 0.8


def test_class_weights_of_a_class_that_a_fold_misses(binary):
    X, y = binary
    y = y.copy()
    y[:3] = 2
    model = LinearClassifier(class_weight={0: 1.0, 1: 1.0, 2: 5.0}, random_state=0)
    assert model.fit(X[3:], y[3:]).classes_.tolist() == [0, 1]
    cross_validate(model, X, y, cv=[(np.arange(3, 300), np.arange(3, 300))], error_score="raise")


def test_cross_validation(binary, numbers):
    assert cross_validate(LinearClassifier(random_state=0), *binary, scoring="neg_log_loss")["test_score"].mean() > -0.4
    assert cross_validate(LinearRegressor(random_state=0), *numbers, scoring="r2")["test_score"].mean() > 0.95
    assert cross_val_predict(LinearClassifier(), *binary, method="predict_proba").shape == (300, 2)


@pytest.mark.parametrize(
    "wrap",
    [
        OneVsRestClassifier,
        CalibratedClassifierCV,
        lambda model: BaggingClassifier(model, n_estimators=3, random_state=0),
        lambda model: StackingClassifier([("linear", model)], final_estimator=LinearClassifier(random_state=0)),
        lambda model: make_pipeline(SelectFromModel(model), LinearClassifier(random_state=0)),
    ],
    ids=["one-vs-rest", "calibrated", "bagging", "stacking", "selected"],
)
def test_meta_estimators(wrap, several):
    assert wrap(LinearClassifier(random_state=0)).fit(*several).score(*several) > 0.7


@pytest.mark.slow
def test_an_early_stop_in_processes(several):
    """A model, verdict and trace travel between processes."""
    model = SGDClassifier(solver="asgd", random_state=0)
    scores = cross_validate(model, *several, n_jobs=2, return_estimator=True)
    assert all("classes" in str(model.verdict_) for model in scores["estimator"])
