"""Margins of fitted models, and of each block in the trace."""

import dataclasses
import math
import sys

import numpy as np
import pytest
from matplotlib.colors import same_color
from scipy import sparse, stats
from sklearn import linear_model
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sgdone
from running import run
from sgdone import LinearClassifier, LinearRegressor, SGDClassifier, diagnose
from sgdone.diagnose import Margins, catoni_location, margins
from sgdone.interfaces.margin_statistics import MarginStatistics
from sgdone.losses import Hinge, MarginPursuit
from sgdone.rows import ArraySource
from sgdone.run.result import Trace
from sgdone.solvers import GD, Pegasos
from sgdone.stopping import MarginTest, MaxPasses
from tiers import fast_first, interpreted


class Fixed:
    """A classifier whose scores are given."""

    def __init__(self, scores, classes=(-1, 1)):
        self.scores, self.classes_ = np.asarray(scores), np.asarray(classes)

    def decision_function(self, X):
        return self.scores


@pytest.fixture(autouse=True)
def _no_window():
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def two():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((300, 4))
    return X, np.where(X @ [1.0, -1.0, 0.5, 0.0] + 0.5 * rng.standard_normal(300) > 0, "yes", "no")


def test_the_statistics_are_those_of_numpy_and_scipy():
    values = np.random.default_rng(0).gamma(2.0, size=501) - 1.0
    found = margins(Fixed(values), None, np.ones(501), gamma=0.5)
    assert found.values is not values
    np.testing.assert_allclose(found.values, values)
    assert found.mean == pytest.approx(values.mean(), rel=1e-12)
    assert found.standard_deviation == pytest.approx(values.std(), rel=1e-12)
    assert found.skew == pytest.approx(stats.skew(values), rel=1e-10)
    assert found.median == np.median(values)
    assert (found.lower_quartile, found.upper_quartile) == tuple(np.quantile(values, [0.25, 0.75]))
    assert found.wrong == np.mean(values <= 0)
    assert found.below == np.mean(values < 0.5)
    s = math.sqrt(501 * values.var() / (2 * math.log(2 / 0.05)))
    assert found.scale == pytest.approx(s, rel=1e-12)
    assert found.location == pytest.approx(catoni_location(values, s), rel=1e-12)
    assert isinstance(found.statistics, MarginStatistics)


@pytest.mark.parametrize("scale", [None, 0.3])
def test_whole_weights_count_as_repeated_rows(scale):
    rng = np.random.default_rng(1)
    values, counts = rng.standard_normal(60), rng.integers(0, 4, 60)
    weighted = margins(Fixed(values), None, np.ones(60), sample_weight=0.7 * counts, scale=scale or 2.0)
    repeated = margins(Fixed(np.repeat(values, counts)), None, np.ones(counts.sum()), scale=scale or 2.0)
    for name in ("mean", "median", "standard_deviation", "lower_quartile", "upper_quartile", "skew", "wrong", "below"):
        assert getattr(weighted, name) == pytest.approx(getattr(repeated, name), rel=1e-10), name
    assert weighted.location == pytest.approx(repeated.location, rel=1e-9)


def test_rows_of_weight_0_do_not_matter():
    found = margins(Fixed([-9.0, 1.0, 2.0, 9.0]), None, np.ones(4), sample_weight=[0.0, 2.0, 2.0, 0.0])
    assert (found.mean, found.median, found.wrong) == (1.5, 1.5, 0.0)


def test_two_classes_have_the_label_times_the_score(two):
    X, y = two
    model = LinearClassifier(random_state=0).fit(X, y)
    found = margins(model, X, y)
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    np.testing.assert_allclose(found.values, signs * model.decision_function(X))
    assert found.wrong == pytest.approx(1 - model.score(X, y))
    assert found.n_classes == 2
    np.testing.assert_allclose(margins(model, sparse.csr_array(X), y).values, found.values)


def test_several_classes_have_their_own_score_minus_the_best_other():
    scores = np.array([[3.0, 1.0, 2.0], [0.0, 4.0, 5.0], [1.0, 1.0, 7.0]])
    found = margins(Fixed(scores, ["a", "b", "c"]), None, ["a", "b", "c"])
    np.testing.assert_array_equal(found.values, [1.0, -1.0, 6.0])
    assert found.n_classes == 3
    assert "score of the true class minus the best other score" in str(found)
    assert found.wrong == pytest.approx(1 / 3)


def test_models_of_scikit_learn_and_pipelines_have_margins(two):
    X, y = two
    for model in (
        LogisticRegression(),
        linear_model.SGDClassifier(random_state=0),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ):
        found = margins(model.fit(X, y), X, y)
        assert found.wrong == pytest.approx(1 - model.score(X, y))
        assert found.gamma == 1.0


@pytest.mark.slow
def test_level_and_scale_are_those_of_the_loss_unless_given(two):
    X, y = two
    model = LinearClassifier(MarginPursuit(gamma=2.0, scale=0.5), random_state=0).fit(X, y)
    found = margins(model, X, y)
    assert (found.gamma, found.scale) == (2.0, 0.5)
    assert found.below == np.mean(found.values < 2.0)
    assert found.location == pytest.approx(catoni_location(found.values, 0.5))
    other = margins(model, X, y, gamma=0.0, scale=3.0)
    assert (other.gamma, other.scale) == (0.0, 3.0)
    adaptive = SGDClassifier(MarginPursuit(scale="adaptive"), random_state=0).fit(X, y)
    assert margins(adaptive, X, y).scale == pytest.approx(margins(adaptive, X, y, gamma=1.0).scale)


def test_equal_margins_have_no_spread_and_no_skew():
    found = margins(Fixed(np.full(7, 0.1)), None, np.ones(7))
    assert (found.mean, found.median, found.location) == pytest.approx((0.1, 0.1, 0.1))
    assert (found.standard_deviation, found.skew, found.scale) == (0.0, 0.0, 0.0)
    assert "nearly symmetric" in str(found)
    found.plot()


def test_a_margin_of_0_is_wrong():
    assert margins(Fixed([0.0, 0.0]), None, [1, -1]).wrong == 1.0


def test_text():
    text = str(margins(Fixed([-3.0, 0.5, 1.0, 1.5]), None, np.ones(4)))
    assert text.splitlines() == [
        "Margins of 4 rows (label times score):",
        "25.00% are misclassified (margin ≤ 0), 50.00% are below γ = 1.",
        "Median 0.75, quartiles -1.25 and 1.25.",
        "Mean 0, standard deviation 1.768, Catoni's location 0.561 (s = 1.3).",
        "The tail of small margins is longer (skewness -1.02).",
    ]
    assert repr(margins(Fixed([2.0]), None, [1])) == "Margins(1 row, mean 2, median 2, 0.00% misclassified)"
    assert str(margins(Fixed([2.0]), None, [1])).startswith("Margins of 1 row (")


@pytest.mark.parametrize(
    ("model", "y", "options", "error", "words"),
    [
        (Fixed([]), [], {}, ValueError, "y is empty: give at least one row"),
        (Fixed([1.0, np.nan]), [1, 1], {}, ValueError, "the score of row 1 is not finite"),
        (Fixed([1.0, 2.0]), [1], {}, ValueError, r"returned the shape \(2,\) for 1 labels of 2 classes"),
        (Fixed([[1.0, 2.0]], [0, 1, 2]), [1], {}, ValueError, r"expected \(1, 3\)"),
        (Fixed([1.0]), [[1]], {}, ValueError, r"y has the shape \(1, 1\)"),
        (Fixed([1.0, 2.0]), [1, 7], {}, ValueError, r"row 1 is 7, which is not one of the model's classes \[-1, 1\]"),
        (Fixed([1.0]), [1], {"gamma": np.nan}, ValueError, "gamma=nan is not a finite number"),
        (Fixed([1.0]), [1], {"gamma": "one"}, ValueError, "gamma='one' is not a finite number"),
        (Fixed([1.0]), [1], {"scale": 0.0}, ValueError, "scale=0.0 is not a positive finite number"),
        (Fixed([1.0]), [1], {"sample_weight": [1.0, 2.0]}, ValueError, "sample_weight has the shape"),
        (Fixed([1.0]), [1], {"sample_weight": [-1.0]}, ValueError, "sample_weight of row 0 is -1.0"),
        (Fixed([1.0]), [1], {"sample_weight": [0.0]}, ValueError, "all sample weights are 0"),
        (GaussianNB(), [1], {}, TypeError, "GaussianNB has no decision_function"),
    ],
)
def test_invalid_arguments_raise(model, y, options, error, words):
    with pytest.raises(error, match=words):
        margins(model, None, y, **options)


def test_a_regression_has_no_classes(two):
    X, _ = two
    with pytest.raises(TypeError, match="LinearRegressor has no decision_function"):
        margins(LinearRegressor().fit(X, X[:, 0]), X, X[:, 0])


def test_histogram(two):
    X, y = two
    found = margins(LinearClassifier(random_state=0).fit(X, y), X, y)
    axis = found.plot()
    axis.figure.canvas.draw()
    bars = [bar.get_height() for bar in axis.patches if bar.get_width() > 0 and bar.get_height() != 1]
    assert sum(bars) == pytest.approx(100)
    names = " ".join(text.get_text() for text in axis.get_legend().get_texts())
    for name in ("mean", "Catoni's location", "median", "level γ", "middle half", "skew"):
        assert name in names
    red = [bar.get_height() for bar in axis.patches if same_color(bar.get_facecolor(), "tab:red")]
    assert sum(red) == pytest.approx(100 * found.wrong)


def test_outliers_do_not_stretch_the_histogram():
    values = np.append(np.random.default_rng(0).standard_normal(500), [1e6, -1e6])
    axis = margins(Fixed(values), None, np.ones(502)).plot()
    assert axis.get_xlim()[1] - axis.get_xlim()[0] < 100
    assert "0.40% beyond the edges" in axis.get_xlabel()


def test_without_matplotlib_it_says_what_to_install(monkeypatch):
    found = margins(Fixed([1.0, 2.0]), None, [1, 1])
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'sgdone\[plot\]'"):
        found.plot()


def test_it_is_public():
    assert sgdone.diagnose is diagnose
    assert diagnose.margins is margins
    assert isinstance(margins(Fixed([1.0]), None, [1]), Margins)


# Margins in the trace.


def labels_of(y):
    return np.where(y == "yes", 1.0, -1.0)


def watched(X, y, weights=None, passes=1, **options):
    """A run of SGD, and the predictions of each stretch before its rows are learnt from."""
    seen = []
    source = ArraySource(X, labels_of(y), weights, shuffle=False)
    result = run(
        source, Hinge(), sgdone.solvers.SGD(), MaxPasses(passes), alpha=0.1, monitors=["margins"],
        hook=lambda progress: seen.append(progress.predictions.copy()), **options,
    )  # fmt: skip
    return result, seen


@interpreted
def test_a_stretch_has_the_margins_of_its_rows_before_they_are_learnt_from(two):
    X, y = two
    result, seen = watched(X, y, passes=2, block_size=100)
    assert len(seen) == len(result.trace) == 6
    for k, (predictions, row) in enumerate(zip(seen, result.trace, strict=True)):
        own = labels_of(y)[100 * (k % 3) : 100 * (k % 3) + 100] * predictions
        assert row.margins == MarginStatistics.of(own, 1.0)
        assert row.margins.wrong == pytest.approx(row.error)
    np.testing.assert_array_equal(result.trace["margin_mean"], [row.margins.mean for row in result.trace])


@interpreted
@pytest.mark.parametrize("solver", fast_first(1, [GD(), Pegasos(minibatch=7)]), ids=["gd", "minibatches"])
def test_where_an_update_has_more_rows_they_are_those_of_the_iterate_afterwards(two, solver):
    X, y = two
    source, options = ArraySource(X, labels_of(y), shuffle=False), {"block_size": 100, "fit_intercept": False}
    result = run(source, Hinge(), solver, MaxPasses(2), alpha=0.1, monitors=["margins"], **options)
    rows = X if isinstance(solver, GD) else X[200:]
    expected = labels_of(y)[-len(rows) :] * (rows @ result.coef)
    assert result.trace[-1].margins.mean == pytest.approx(expected.mean(), rel=1e-10)
    assert result.trace[-1].margins.median == pytest.approx(np.median(expected), rel=1e-10)


SOLVERS = ["sgd", "asgd", "isgd", "aisgd", "sgd_half", "svrg", "sgd2", "sgdqn", "pegasos", "olbfgs", "liblinear", "gd"]


@pytest.mark.parametrize("solver", fast_first(1, SOLVERS))
def test_every_solver_keeps_margins_and_learns_the_same(two, solver):
    X, y = two
    options = {"solver": solver, "stop": "auto" if solver == "liblinear" else 3, "alpha": 0.1, "random_state": 0}
    plain = SGDClassifier(**options).fit(X, y)
    recorded = SGDClassifier(**options, monitors=["margins"]).fit(X, y)
    np.testing.assert_array_equal(plain.coef_, recorded.coef_)
    assert np.all(np.isfinite(recorded.trace_["margin_standard_deviation"]))
    assert not plain.trace_.has_margins
    assert recorded.trace_["margin_wrong"][-1] < 0.3


@interpreted
def test_rows_count_by_their_weights(two):
    X, y = two
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    result, seen = watched(X, y, weights)
    used = weights > 0
    expected = MarginStatistics.of(labels_of(y)[used] * np.concatenate(seen), 1.0, weights[used])
    assert result.trace[0].margins.mean == pytest.approx(expected.mean, rel=1e-12)
    assert result.trace[0].margins.median == expected.median


@interpreted
def test_a_rule_that_fires_within_a_stretch_leaves_margins(two):
    X, y = two
    model = SGDClassifier("hinge", solver="sgd", step=0.05, stop=MarginTest(), monitors=["margins"], random_state=0)
    assert math.isfinite(model.fit(X, y).trace_["margin_mean"][-1])


def test_several_classes_have_a_course_each():
    X = np.random.default_rng(0).standard_normal((200, 3))
    y = np.argmax(X, axis=1)
    model = SGDClassifier(stop=3, random_state=0, monitors=["margins"]).fit(X, y)
    assert model.trace_.labels() == [0, 1, 2]
    axes = model.trace_.plot_margins()
    axes[0].figure.canvas.draw()
    assert len([line for line in axes[1].lines if len(line.get_xdata()) == 3]) == 3


def test_data_frame_plot_and_model_file_keep_the_margins(two, tmp_path):
    X, y = two
    model = SGDClassifier(stop=4, random_state=0, monitors=["margins"]).fit(X, y)
    frame = model.trace_.to_frame()
    assert list(frame.columns[:7]) == ["step", "passes", "loss", "error", "step_size", "seconds", "margin_mean"]
    assert "label" not in frame.columns
    axes = model.trace_.plot_margins()
    assert [axis.get_ylabel() for axis in axes] == ["margin", "standard deviation", "skew"]
    np.testing.assert_array_equal(axes[0].lines[0].get_ydata(), model.trace_["margin_mean"])
    sgdone.save(model, tmp_path / "model.safetensors")
    loaded = sgdone.load(tmp_path / "model.safetensors")
    assert list(loaded.trace_) == list(model.trace_)
    assert loaded.monitors == ["margins"]


def test_rows_without_margins_stay_without_in_a_file(two, tmp_path):
    X, y = two
    model = SGDClassifier(stop=2, random_state=0, monitors=["margins"]).fit(X, y)
    first, second = model.trace_
    model.trace_ = Trace([dataclasses.replace(first, margins=None), second])
    sgdone.save(model, tmp_path / "model.safetensors")
    again = sgdone.load(tmp_path / "model.safetensors").trace_
    assert again[0].margins is None
    assert again[1].margins == second.margins
    assert math.isnan(again["margin_mean"][0])


def test_a_trace_without_margins_says_how_to_get_them(two):
    X, y = two
    trace = LinearClassifier(stop=2, random_state=0).fit(X, y).trace_
    with pytest.raises(ValueError, match=r"fit with monitors=\['margins'\]"):
        trace.plot_margins()
    with pytest.raises(KeyError, match="needs monitors"):
        trace["margin_mean"]
    assert not any(name.startswith("margin") for name in trace.to_frame().columns)


@pytest.mark.parametrize(
    ("monitors", "error", "words"),
    [
        ("margins", TypeError, r"give monitors=\['margins'\]"),
        (3, TypeError, "monitors=3 is not a list of names"),
        (["margin"], ValueError, r"unknown monitor 'margin'\. Did you mean 'margins'\?"),
    ],
)
def test_unknown_monitors_raise(two, monitors, error, words):
    with pytest.raises(error, match=words):
        SGDClassifier(monitors=monitors).fit(*two)


@pytest.mark.slow
def test_a_loss_given_by_its_name_is_that_loss(two):
    X, y = two
    model = SGDClassifier("margin-pursuit", stop=1, random_state=0).fit(X, y)
    assert margins(model, X, y).scale == MarginPursuit().scale
