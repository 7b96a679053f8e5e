"""Weights of rows and of classes."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.utils.class_weight import compute_sample_weight

from sgdone import LinearClassifier, LinearRegressor, SGDClassifier, SGDRegressor
from sgdone.fit.labels import Frequencies
from tiers import fast_first

FORMS = {"dense": np.asarray, "csr": sparse.csr_array}


@pytest.mark.parametrize("form", fast_first(1, FORMS))
@pytest.mark.parametrize("solver", fast_first(1, ["sgd", "asgd", "isgd", "aisgd"]))
@pytest.mark.parametrize("stop", [1, 3, "auto"])
def test_a_row_of_weight_zero_is_as_if_absent(stop, solver, form, rng, same_model):
    X = rng.standard_normal((3000, 3))
    # The largest row is beyond the first 1000 rows, but among the first 1000 of positive weight.
    X[1500] *= 30.0
    y = (X[:, 0] + rng.standard_normal(3000) > 0).astype(int)
    weight = rng.uniform(0.5, 2.0, 3000) * (rng.random(3000) < 0.3)
    weight[1500] = 1.0
    used = weight > 0
    options = {"solver": solver, "stop": stop, "shuffle": False}
    zeros = SGDClassifier(**options).fit(FORMS[form](X), y, sample_weight=weight)
    absent = SGDClassifier(**options).fit(FORMS[form](X[used]), y[used], sample_weight=weight[used])
    same_model(zeros, absent)
    assert zeros.verdict_.step == absent.verdict_.step
    assert zeros.verdict_.passes == absent.verdict_.passes
    assert zeros._fitted.results[0].state.objective.alpha == 1 / used.sum()


def test_rows_of_weight_zero_beyond_a_block(rng, same_model):
    X = rng.standard_normal((40_000, 2))
    y = X[:, 0] - 2 * X[:, 1] + 1.0
    weight = (np.arange(40_000) % 3 == 0).astype(float)
    zeros = SGDRegressor(solver="asgd", shuffle=False, stop=1).fit(X, y, sample_weight=weight)
    same_model(zeros, SGDRegressor(solver="asgd", shuffle=False, stop=1).fit(X[::3], y[::3]))
    assert zeros.verdict_.step == 13_334


def test_the_clock_counts_rows_of_positive_weight(binary):
    X, y = binary
    weight = np.where(np.arange(300) < 100, 0.0, 1e-9)
    model = LinearClassifier(tol=0, stop=2).fit(X, y, sample_weight=weight)
    assert model.verdict_.step == 400
    assert model.verdict_.passes == 2.0


@pytest.mark.parametrize("container", [list, tuple, pd.Series, lambda w: w.astype(np.float32), lambda w: w.astype(int)])
def test_containers(container, binary, same_model):
    X, y = binary
    weight = np.tile([1.0, 2.0, 3.0], 100)
    given = LinearClassifier(random_state=0).fit(X, y, sample_weight=container(weight))
    same_model(given, LinearClassifier(random_state=0).fit(X, y, sample_weight=weight))


def test_weights_of_one_change_nothing(binary, several, numbers, same_model):
    for X, y in (binary, several):
        plain = LinearClassifier(random_state=0).fit(X, y)
        for weight in (1, 1.0, np.ones(len(y)), [True] * len(y)):
            same_model(LinearClassifier(random_state=0).fit(X, y, sample_weight=weight), plain)
    X, y = numbers
    same_model(
        LinearRegressor(random_state=0).fit(X, y, sample_weight=np.ones(300)), LinearRegressor(random_state=0).fit(X, y)
    )


@pytest.mark.parametrize("class_weight", [{0: 3.0, 1: 0.5}, {1: 2.0}, {}, {0: 1, 1: 2, 9: 5}, "balanced"], ids=str)
def test_class_weights_are_sample_weights(class_weight, binary, same_model):
    X, y = binary
    known = {label: weight for label, weight in class_weight.items() if label != 9} if class_weight != "balanced" else 0
    expected = compute_sample_weight(known or (class_weight or None), y)
    weighted = LinearClassifier(class_weight=class_weight, random_state=0).fit(X, y)
    same_model(weighted, LinearClassifier(random_state=0).fit(X, y, sample_weight=expected))


def test_class_weights_multiply_sample_weights(several, same_model):
    X, y = several
    weight = np.tile([1.0, 2.0], 200)
    model = LinearClassifier(class_weight={0: 0.5, 3: 4.0}, random_state=0).fit(X, y, sample_weight=weight)
    factors = np.array([0.5, 1.0, 1.0, 4.0])[y]
    same_model(model, LinearClassifier(random_state=0).fit(X, y, sample_weight=weight * factors))


@pytest.mark.parametrize("labels", [["0", "1"], [True, False], ["no", "yes"], [-1.0, 1.0]], ids=str)
def test_class_weights_of_labels_of_any_kind(labels, binary, same_model):
    X, y = binary
    y = np.sort(labels)[y]
    model = LinearClassifier(class_weight={labels[1]: 3.0}, random_state=0).fit(X, y)
    same_model(model, LinearClassifier(random_state=0).fit(X, y, sample_weight=np.where(y == labels[1], 3.0, 1.0)))


def test_balanced_counts_weights(several, same_model):
    X, y = several
    weight = np.where(y == 2, 5.0, 1.0)
    counts = np.bincount(y, weights=weight)
    factors = counts.sum() / (4 * counts)
    model = LinearClassifier(class_weight="balanced", random_state=0).fit(X, y, sample_weight=weight)
    expected = LinearClassifier(random_state=0).fit(X, y, sample_weight=weight * factors[y])
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-12)
    same_model(LinearClassifier(class_weight="balanced", random_state=0).fit(X, y, sample_weight=weight), model)


def test_balanced_with_a_class_of_weight_zero(several):
    X, y = several
    used = y != 3
    options = {"solver": "asgd", "class_weight": "balanced", "shuffle": False}
    model = SGDClassifier(**options).fit(X, y, sample_weight=used)
    absent = SGDClassifier(**options).fit(X[used], y[used])
    np.testing.assert_array_equal(model.coef_[:3], absent.coef_)


def test_class_weights_in_partial_fit(binary, same_model):
    X, y = binary
    model = LinearClassifier(class_weight={1: 3.0}, random_state=0).partial_fit(X, y, classes=[0, 1])
    plain = LinearClassifier(random_state=0).partial_fit(X, y, classes=[0, 1], sample_weight=np.where(y, 3.0, 1.0))
    same_model(model, plain)
    with pytest.raises(ValueError, match="class_weight='balanced' needs all labels at once"):
        LinearClassifier(class_weight="balanced").partial_fit(X, y, classes=[0, 1])


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ({0: -1.0}, r"class_weight\[0\] is -1\.0: give a number, 0 or more"),
        ({0: np.nan}, r"class_weight\[0\] is nan"),
        ({0: np.inf}, r"class_weight\[0\] is inf"),
        ({0: "heavy"}, r"class_weight\[0\] is 'heavy'"),
        ({7: 2.0}, r"class_weight names 7, which is not one of the classes \[0, 1\]"),
        ({"1": 2.0}, r"class_weight names '1', which is not one of the classes \[0, 1\]"),
        ({0: 0.0}, "only the class 1 has rows of positive weight"),
        ({0: 0.0, 1: 0.0}, "all sample weights are zero"),
        ("equal", 'give a dict of class weights, "balanced" or None'),
        ([1.0, 2.0], 'give a dict of class weights, "balanced" or None'),
    ],
)
def test_bad_class_weights(class_weight, message, binary):
    with pytest.raises(ValueError, match=message):
        LinearClassifier(class_weight=class_weight).fit(*binary)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.r_[np.ones(299), -1.0], r"sample_weight\[299\] is -1, which is negative: weights must be 0 or more"),
        (np.r_[np.ones(4), np.nan, np.ones(295)], r"sample_weight\[4\] is nan, which is not finite"),
        (np.r_[np.inf, np.ones(299)], r"sample_weight\[0\] is inf, which is not finite"),
        (np.zeros(300), "all sample weights are zero: there is nothing to fit"),
        (0.0, "all sample weights are zero"),
        (np.ones(299), "sample_weight has 299 entries for 300 rows of X"),
        (np.ones((300, 1)), r"Sample weights must be 1D array or scalar: sample_weight has shape \(300, 1\)"),
        (["a"] * 300, "sample_weight cannot be read as numbers"),
    ],
)
@pytest.mark.parametrize("make", [LinearClassifier, LinearRegressor])
def test_bad_sample_weights(make, weight, message, binary):
    with pytest.raises(ValueError, match=message):
        make().fit(*binary, sample_weight=weight)
    with pytest.raises(ValueError, match=message):
        make().partial_fit(*binary, **({"classes": [0, 1]} if make is LinearClassifier else {}), sample_weight=weight)


@pytest.mark.parametrize("unit", [1e-310, 1e308])
@pytest.mark.parametrize("make", [LinearClassifier, LinearRegressor])
def test_the_unit_of_weights_does_not_matter_to_a_default_fit(make, unit, binary):
    X, y = binary
    weight = np.random.default_rng(0).uniform(0.1, 1.0, 300)
    expected = make(alpha=0.1, stop=1, random_state=0).fit(X, y, sample_weight=weight)
    model = make(alpha=0.1, stop=1, random_state=0).fit(X, y, sample_weight=unit * weight)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9)  # 1e-310 has ten digits
    assert model.alpha_ == 0.1


@pytest.mark.parametrize(("unit", "extreme"), [(1e-310, "small"), (1e308, "large")])
def test_weights_beyond_floating_point_arithmetic(unit, extreme, binary):
    """Where the unit matters: in a named method, and in parts of a stream."""
    X, y = binary
    message = f"the sample weights are too {extreme} for floating-point arithmetic: the largest is .* the largest"
    with pytest.raises(ValueError, match=message):
        SGDClassifier().fit(X, y, sample_weight=np.full(300, unit))
    with pytest.raises(ValueError, match=message):
        LinearClassifier().partial_fit(X, y, classes=[0, 1], sample_weight=np.full(300, unit))


def test_a_class_weight_that_overflows_a_row_weight(binary):
    X, y = binary
    with pytest.raises(ValueError, match=r"the weight of row \d+ times that of its class is too large"):
        LinearClassifier(class_weight={0: 1.0, 1: 1e10}).fit(X, y, sample_weight=np.full(300, 1e305))


def test_a_class_of_negligible_weight(binary):
    X, y = binary
    with pytest.raises(ValueError, match="only the class 1 has rows of positive weight"):
        LinearClassifier().fit(X, y, sample_weight=np.where(y == 1, 1e308, 1e-310))


# ---- sample weights as numbers of rows ----


def test_no_weights_stay_none():
    assert Frequencies.of(None) == Frequencies(None)


@pytest.mark.parametrize("unit", [1.0, 1e-2, 1e10])
def test_weights_have_mean_1_and_keep_what_1_stands_for(unit):
    weights = unit * np.arange(200.0)
    found = Frequencies.of(weights)
    assert found.weights[found.weights > 0].mean() == pytest.approx(1.0)
    np.testing.assert_allclose(found.weights * found.mean, weights, rtol=1e-14)
    assert found.note == ""


@pytest.mark.parametrize(("total", "inside"), [(0.99, False), (1.0, True), (1e15, True), (1.01e15, False)])
def test_sums_that_cannot_be_numbers_of_rows_are_noted(total, inside):
    found = Frequencies.of(np.full(4, total / 4))
    np.testing.assert_array_equal(found.weights, 1.0)
    assert found.mean == (total / 4 if inside else 1.0)
    assert ("divided by their mean" in found.note) is not inside


@pytest.mark.parametrize("unit", [5e-324, 1e308])
def test_the_smallest_and_the_largest_floats(unit):
    found = Frequencies.of(np.array([unit, 0.0, unit, unit]))
    np.testing.assert_allclose(found.weights, [1.0, 0.0, 1.0, 1.0])
    assert found.mean == 1.0
