"""Where a fit starts."""

import re

import numpy as np
import pytest

from sgdone import LinearClassifier, LinearRegressor, SGDClassifier, SGDRegressor
from tiers import interpreted


@pytest.fixture
def frozen():
    """Steps so small that a fit stays where it starts."""
    return {"step": 1e-300, "alpha": 0.0, "solver": "sgd", "stop": 1}


@pytest.mark.parametrize("shape", [(5,), (1, 5)])
@pytest.mark.parametrize("offset", [2.0, [2.0]])
def test_initial_weights_of_two_classes(shape, offset, binary, frozen):
    start = np.arange(1.0, 6.0)
    model = SGDClassifier(**frozen).fit(*binary, coef_init=start.reshape(shape), intercept_init=offset)
    np.testing.assert_array_equal(model.coef_, [start])
    assert model.intercept_.tolist() == [2.0]


def test_initial_weights_of_several_classes(several, frozen):
    start, offsets = np.arange(1.0, 25.0).reshape(4, 6), np.arange(1.0, 5.0)
    model = SGDClassifier(**frozen).fit(*several, coef_init=start.tolist(), intercept_init=offsets.tolist())
    np.testing.assert_array_equal(model.coef_, start)
    np.testing.assert_array_equal(model.intercept_, offsets)


@interpreted
def test_initial_weights_of_a_regression(numbers, frozen):
    model = SGDRegressor(**frozen).fit(*numbers, coef_init=np.arange(1.0, 6.0), intercept_init=-1.0)
    np.testing.assert_array_equal(model.coef_, np.arange(1.0, 6.0))
    assert model.intercept_.tolist() == [-1.0]


@pytest.mark.parametrize(
    ("make", "name", "needed", "shapes"),
    [
        (LinearClassifier, "coef_init", (4, 6), [(6,), (6, 4), (24,), (4, 7), (1, 24), ()]),
        (LinearClassifier, "intercept_init", (4,), [(), (1,), (5,), (4, 1)]),
        (LinearRegressor, "coef_init", (6,), [(4,), (6, 1), (2, 6)]),
    ],
)
def test_a_start_of_another_shape(make, name, needed, shapes, several):
    for shape in shapes:
        with pytest.raises(ValueError, match=rf"{name} has shape .*, but this problem needs {re.escape(str(needed))}"):
            make().fit(*several, **{name: np.zeros(shape)})


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_initial_weights_that_are_not_finite(bad, binary):
    with pytest.raises(ValueError, match="coef_init contains NaN or infinity"):
        LinearClassifier().fit(*binary, coef_init=np.full(5, bad))
    with pytest.raises(ValueError, match="intercept_init contains NaN or infinity"):
        LinearClassifier().fit(*binary, intercept_init=bad)


@pytest.mark.parametrize("data", ["binary", "several"])
def test_warm_start_goes_on_from_the_last_solution(data, request, frozen):
    X, y = request.getfixturevalue(data)
    model = SGDClassifier(warm_start=True, random_state=0).fit(X, y)
    coef = model.coef_.copy()
    model.set_params(**frozen).fit(X, y)
    np.testing.assert_array_equal(model.coef_, coef)


def test_warm_start_is_the_same_as_giving_the_weights(numbers, same_model):
    X, y = numbers
    warm = LinearRegressor(warm_start=True, random_state=0, stop=1).fit(X, y)
    coef, intercept = warm.coef_.copy(), warm.intercept_.copy()
    given = LinearRegressor(random_state=0, stop=1).fit(X, y, coef_init=coef, intercept_init=intercept)
    same_model(warm.fit(X, y), given)


def test_given_weights_win_over_the_last_solution(binary, frozen):
    X, y = binary
    model = SGDClassifier(warm_start=True).fit(X, y).set_params(**frozen)
    model.fit(X, y, coef_init=np.ones(5))
    np.testing.assert_array_equal(model.coef_, np.ones((1, 5)))


def test_warm_start_on_another_problem(binary, several):
    model = LinearClassifier(warm_start=True).fit(*binary)
    with pytest.raises(ValueError, match=r"warm_start=True: coef_ of the last fit has shape \(1, 5\), but this"):
        model.fit(*several)


@pytest.mark.parametrize("make", [LinearClassifier, LinearRegressor, SGDClassifier])
@pytest.mark.parametrize("start", [{"intercept_init": [1e300]}, {"coef_init": [1e300, 0.0, 0.0, 0.0, 0.0]}])
def test_a_start_beyond_floating_point_arithmetic(start, make, binary):
    X, y = binary
    message = r"coef_init and intercept_init: the start predicts .*e\+\d+ for row 0 of X, beyond 1e\+150"
    with pytest.raises(ValueError, match=message):
        make().fit(X, y, **start)


def test_the_last_solution_is_too_far_for_other_units(binary):
    X, y = binary
    model = SGDClassifier(warm_start=True, stop=1, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"warm_start=True: coef_ of the last fit.*predicts .* for row"):
        model.fit(1e152 * X, y)


def test_a_start_is_not_tried_on_rows_of_weight_zero(binary):
    X, y = binary
    far = np.vstack([X, np.full((1, 5), 1e200)])
    weight = np.r_[np.ones(300), 0.0]
    SGDClassifier(stop=1).fit(far, np.r_[y, 0], coef_init=np.ones(5), sample_weight=weight)


@pytest.mark.parametrize("phase", ["exact", "bank"])
@pytest.mark.parametrize("data", ["binary", "several", "numbers"])
def test_warm_start_on_the_same_rows_stays_where_it_is(data, phase, request):
    """The validation rows are those that the model was trained on: nothing that is trained without them is better."""
    if phase == "bank":
        request.getfixturevalue("without_finish")
    X, y = request.getfixturevalue(data)
    kind = LinearRegressor if data == "numbers" else LinearClassifier
    model = kind(warm_start=True, random_state=0).fit(X, y)
    coef, intercept, passes = model.coef_.copy(), model.intercept_.copy(), model.verdict_.passes
    for seed in (0, 1):
        model.set_params(random_state=seed).fit(X, y)
        np.testing.assert_allclose(model.coef_, coef, rtol=1e-6)
        np.testing.assert_allclose(model.intercept_, intercept, rtol=1e-6)
        # Another order of the rows may take one evaluation more, and these are after 1, 2, 4, 8, … passes.
        assert model.verdict_.passes <= 2 * passes
    assert ("the model to start from is kept" in model.verdict_.reason) == (phase == "bank")


def test_a_start_that_further_training_improves_is_left(binary, without_finish):
    X, y = binary
    model = LinearClassifier(random_state=0)
    found = model.fit(X, y).coef_.copy()
    model.fit(X, y, coef_init=0.5 * found, intercept_init=0.5 * model.intercept_)
    assert "is kept" not in model.verdict_.reason
    assert np.linalg.norm(model.coef_ - found) < 0.1 * np.linalg.norm(found)
