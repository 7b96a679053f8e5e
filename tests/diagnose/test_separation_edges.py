"""Separation of odd data, errors, and what is drawn."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from sgdone.diagnose import SeparationByClass, separation

OVERLAP = np.array([[1.0], [2.0], [3.0], [4.0]])
ALTERNATING = np.array([0, 1, 0, 1])


def test_one_class_is_separated_by_the_intercept():
    shape = separation(OVERLAP, np.zeros(4))
    assert shape.kind == "complete"
    assert shape.infinite_intercept in (1, 2)
    assert shape.infimum == 0.0
    assert shape.certificate.check(OVERLAP, np.zeros(4))


def test_one_class_of_a_constant_feature_only_moves_the_intercept():
    X = np.array([[-1.0], [1.0]])
    shape = separation(X, [1, 1])
    assert (shape.infinite.tolist(), shape.infinite_intercept) == ([2], 1)
    assert shape.direction.intercept == pytest.approx(1.0)


def test_one_class_without_an_intercept_is_a_question_like_any_other():
    shape = separation([[-1.0], [1.0]], [1, 1], fit_intercept=False)
    assert shape.kind == "none"


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_rows_of_zeros_are_never_separated_without_an_intercept(make):
    X = make(np.array([[0.0, 0.0], [1.0, 0.0], [-2.0, 0.0]]))
    y = np.array([0, 1, 0])
    shape = separation(X, y, fit_intercept=False)
    assert shape.kind == "quasi-complete"
    assert shape.separable_rows.tolist() == [False, True, True]
    assert shape.infinite.tolist() == [1, 0]
    assert shape.infimum == pytest.approx(np.log(2) / 3)
    assert shape.certificate.check(X, y)


def test_nothing_but_zeros_has_an_optimum():
    shape = separation(np.zeros((4, 2)), ALTERNATING, fit_intercept=False)
    assert shape.kind == "none"
    assert shape.subspace.rank == 0
    assert shape.infimum == pytest.approx(np.log(2))


def test_rows_of_weight_zero_are_no_part_of_the_problem():
    weights = np.array([1.0, 0.0, 2.0, 1.0])
    shape = separation(OVERLAP, ALTERNATING, sample_weight=weights)
    assert shape.kind == "complete"
    assert shape.separable_rows.tolist() == [True, False, True, True]
    assert shape.certificate.check(OVERLAP, ALTERNATING)
    kept = weights > 0
    same = separation(OVERLAP[kept], ALTERNATING[kept])
    assert shape.margin == pytest.approx(same.margin)


def test_weights_change_the_finite_part_and_nothing_else():
    X = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0], [0.0, 4.0], [1.0, 2.0]])
    y = np.array([0, 1, 0, 1, 1])
    weights = np.array([1.0, 2.0, 1.0, 1.0, 3.0])
    once, weighted = separation(X, y), separation(X, y, sample_weight=weights)
    repeated = separation(np.repeat(X, weights.astype(int), axis=0), np.repeat(y, weights.astype(int)))
    np.testing.assert_allclose(weighted.finite_part.coef, repeated.finite_part.coef, atol=1e-12)
    assert weighted.infimum == pytest.approx(repeated.infimum, abs=1e-13)
    assert weighted.direction.coef == pytest.approx(once.direction.coef)


def test_fewer_rows_than_features_are_separable(rng):
    X = rng.standard_normal((20, 300))
    y = rng.integers(0, 2, 20)
    shape = separation(X, y)
    assert shape.kind == "complete"
    assert shape.certificate.check(X, y)
    assert (shape.margins >= shape.margin * (1 - 1e-9)).all()


def test_many_more_features_than_rows_are_handled_in_the_span_of_the_rows(rng):
    X = rng.standard_normal((30, 3000))
    X[1] = X[0]
    y = np.arange(30) % 2
    shape = separation(X, y)
    assert shape.kind == "quasi-complete"
    assert np.flatnonzero(~shape.separable_rows).tolist() == [0, 1]
    assert shape.certificate.check(X, y)


def test_units_of_features_and_rows_do_not_matter(rng):
    X = rng.standard_normal((400, 5))
    X[:, 0] = rng.random(400) < 0.05
    y = (rng.random(400) < 0.5) | (X[:, 0] == 1)
    units = 10.0 ** np.array([-6, 6, 3, -3, 0])
    plain, scaled = separation(X, y), separation(X * units, y)
    assert plain.kind == scaled.kind == "quasi-complete"
    np.testing.assert_array_equal(plain.separable_rows, scaled.separable_rows)
    assert scaled.infinite.tolist() == [1, 0, 0, 0, 0]
    assert scaled.certificate.check(X * units, y)
    np.testing.assert_allclose(scaled.finite_part.coef[1:] * units[1:], plain.finite_part.coef[1:], rtol=1e-8)
    assert scaled.infimum == pytest.approx(plain.infimum, abs=1e-12)


def test_columns_that_repeat_share_the_direction():
    X = np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 0.0], [-1.0, -1.0, 0.0]])
    shape = separation(X, [1, 1, 0], fit_intercept=False)
    assert shape.infinite.tolist() == [1, 1, 0]
    np.testing.assert_allclose(shape.direction.coef, [np.sqrt(0.5), np.sqrt(0.5), 0.0], atol=1e-12)


@pytest.mark.parametrize("dtype", [str, object])
def test_several_classes_give_one_answer_each(dtype):
    X = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 0.0], [4.0, 1.0], [5.0, 0.0], [6.0, 1.0]])
    shapes = separation(X, np.array(["a", "a", "b", "b", "c", "c"], dtype))
    assert isinstance(shapes, SeparationByClass)
    assert {label: shape.kind for label, shape in shapes.items()} == {"a": "complete", "b": "none", "c": "complete"}
    assert shapes.kind == "complete"
    assert "Class b against the rest. No separation" in str(shapes)
    assert shapes["a"].certificate.check(X, ["a", "a", "b", "b", "c", "c"])


def test_names_come_from_a_data_frame():
    frame = pd.DataFrame({"age": [1.0, 2.0, 3.0, 4.0], "dose": [0.0, 0.0, 0.0, 1.0]})
    shape = separation(frame, ["no", "yes", "no", "yes"])
    assert shape.feature_names == ["age", "dose"]
    assert "dose tends to +∞" in str(shape)
    assert shape.classes == ("no", "yes")


def test_integers_lists_and_single_precision_are_accepted():
    for X in (OVERLAP.astype(int), OVERLAP.tolist(), OVERLAP.astype(np.float32)):
        assert separation(X, ALTERNATING).kind == "none"


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_a_value_that_is_not_finite_is_located(make, value, word):
    X = np.ones((3, 2))
    X[1, 0] = value
    with pytest.raises(ValueError, match=f"row 1 of X holds {word} in column 0"):
        separation(make(X), [0, 1, 0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sample_weight": [0, 0, 0, 0]}, "all sample weights are 0"),
        ({"sample_weight": [1, -1, 1, 1]}, "sample_weight of row 1 is -1.0"),
        ({"sample_weight": [1, 1]}, "sample_weight has the shape"),
        ({"loss": "hinge"}, "loss must be 'logistic' or 'exponential'"),
        ({"feature_names": ["a", "b"]}, "X has 1 features, but feature_names has 2 names"),
        ({"start": ([1.0, 2.0], 0.0)}, "start has 2 coefficients"),
    ],
)
def test_invalid_arguments_raise(arguments, message):
    with pytest.raises(ValueError, match=message):
        separation(OVERLAP, ALTERNATING, **arguments)


def test_labels_must_be_classes_and_as_many_as_rows():
    with pytest.raises(ValueError, match="X has 4 rows, but y has 3 labels"):
        separation(OVERLAP, [0, 1, 0])
    with pytest.raises(ValueError, match="the label of row 2 is not finite"):
        separation(OVERLAP, [0.0, 1.0, np.nan, 1.0])
    with pytest.raises(ValueError, match="continuous"):
        separation(OVERLAP, [0.1, 0.2, 0.3, 0.4])


@pytest.mark.parametrize("scale", [1.0, 1e6, 1e8, 1e-8])
def test_columns_of_other_units_do_not_blur_which_coefficients_run_away(scale, rng):
    """Two columns alike can only go together; the last column is finite in any unit."""
    age, smoker = rng.integers(20, 80, 60).astype(float), (rng.random(60) < 0.3).astype(float)
    X = np.column_stack([age, age, smoker, scale * rng.standard_normal(60)])
    y = (smoker == 1) | (rng.random(60) < 0.3)
    shape = separation(X, y)
    assert shape.kind == "quasi-complete"
    assert shape.infinite.tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize("scale", [1.0, 1e9, 1e12])
def test_signs_are_right_where_units_are_very_far_apart_and_a_margin_lost_in_rounding_says_so(scale):
    shape = separation(np.array([[-2.0, 1], [2, 1], [2, 0]]) * [1, scale], [0, 1, 0])
    assert shape.infinite.tolist() == [1, 1]
    if scale > 1e10:
        with pytest.raises(ValueError, match="below rounding errors"):
            _ = shape.margin
    else:
        assert shape.margin > 0


def test_no_features_and_values_below_the_normal_ones(rng):
    assert separation(np.zeros((4, 0)), [1, 0, 1, 1], fit_intercept=False).kind == "none"
    assert separation(rng.standard_normal((30, 2)) * 1e-310, np.arange(30) % 2).kind == "none"


def test_text_in_a_table_is_named_with_what_encodes_it():
    with pytest.raises(ValueError, match=r"row 0, column 'city' of X holds the text 'Rome'.*TableEncoder\(\)"):
        separation(pd.DataFrame({"age": [1.0, 2.0], "city": ["Rome", "Oslo"]}), [0, 1])


# ---- text and plots of a separation ----


mpl.use("Agg")

X = np.array([[0, 1], [0, 2], [0, 3], [0, 4], [1, 2], [1, 3]])
Y = np.array([0, 1, 0, 1, 1, 1])


def test_plot_shows_margins_and_coefficients(tmp_path):
    axes = separation(X, Y, feature_names=["treated", "age"]).plot()
    margins, coefficients = axes
    assert margins.get_title() == "quasi-complete separation"
    assert [text.get_text() for text in coefficients.get_yticklabels()] == ["treated", "age", "intercept"]
    assert "tends to +∞" in [text.get_text() for text in coefficients.get_legend().get_texts()]
    assert sum(bar.get_height() for bar in margins.patches) == 6
    axes[0].figure.savefig(tmp_path / "separation.png")
    mpl.pyplot.close("all")


def test_there_is_nothing_to_draw_where_an_optimum_exists():
    with pytest.raises(ValueError, match="'none': there is no separating direction to plot"):
        separation([[1.0], [2.0], [3.0]], [0, 1, 0]).plot()


def test_text_of_each_kind(rng):
    assert str(separation([[1.0], [2.0], [3.0]], [0, 1, 0])) == (
        "No separation: the logistic loss has a finite optimum on these 3 rows. The certificate is exact."
    )
    assert str(separation([[-1.0], [2.0]], [0, 1], fit_intercept=False, feature_names=["dose"])) == (
        "Complete separation: one direction classifies all 2 rows without error, so there is no finite optimum. "
        "dose tends to +∞. The loss tends to 0. The certificate is exact."
    )
    assert str(separation([[-1.0], [1.0]], [1, 1])).startswith(
        "Complete separation: one direction classifies all 2 rows without error, so there is no finite optimum. "
        "The intercept tends to +∞; x0 may tend to +∞ or −∞."
    )


def test_many_features_are_named_by_their_part_in_the_direction(rng):
    Z = rng.standard_normal((40, 300))
    said = str(separation(Z, np.arange(40) % 2))
    assert "The largest coefficients of the direction: x" in said
