"""verdict_ and trace_: why a fit ended, and how it went."""

import math

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from sgdone import LinearClassifier, LinearRegressor, SGDClassifier, SGDRegressor, solvers, stopping
from sgdone.interfaces.method import by_name, names
from sgdone.interfaces.stop_rule import Status
from sgdone.run.result import Verdict
from sgdone.solvers import SingleModel
from tiers import fast_first, interpreted


@pytest.mark.parametrize("passes", [0.5, 2.25])
def test_a_budget_of_passes(passes, binary):
    model = SGDClassifier(stop=passes).fit(*binary)
    verdict = model.verdict_
    assert verdict.status == "budget spent"
    assert verdict.rule == "MaxPasses"
    assert verdict.step == math.ceil(300 * passes)
    assert verdict.passes == verdict.step / 300
    assert model.n_iter_ == math.ceil(passes)
    assert verdict.evidence == {"passes": passes}


def test_stopped_in_the_middle_is_as_if_there_had_been_no_more_rows(binary, same_model):
    X, y = binary
    options = {"shuffle": False, "alpha": 0.01, "step": 0.1}
    stopped = SGDClassifier(stop=stopping.MaxSamples(123), **options).fit(X, y)
    same_model(stopped, SGDClassifier(stop=1, **options).fit(X[:123], y[:123]))


@pytest.mark.usefixtures("without_finish")
def test_a_budget_of_seconds(binary):
    model = LinearClassifier(tol=0, stop=stopping.MaxSeconds(0.05)).fit(*binary)
    assert model.verdict_.rule == "MaxSeconds"
    assert model.verdict_.status == Status.BUDGET_SPENT
    assert model.trace_[-1].seconds > 0.04
    assert "0.05 seconds allowed and used" in str(model.verdict_)


def test_converged(binary):
    model = SGDClassifier(stop="progressive", random_state=0).fit(*binary)
    verdict = model.verdict_
    assert verdict.status == "converged"
    assert verdict.rule == "ProgressiveLoss"
    assert str(verdict).startswith("Converged after")
    assert verdict.evidence["gain"] < verdict.evidence["tol"] == 1e-3
    assert verdict.passes == int(verdict.passes) >= 2


def test_the_default_allows_ten_passes(several):
    model = SGDClassifier(solver="asgd", random_state=0).fit(*several)
    assert all(2 <= verdict.passes <= 10 for verdict in model.verdict_.per_class.values())


@interpreted
@pytest.mark.parametrize("dtype", fast_first(1, [np.float64, np.float32]))
@pytest.mark.parametrize("solver", fast_first(1, ["sgd", "asgd"]))
def test_diverged(solver, dtype, numbers):
    X, y = numbers
    model = SGDRegressor(step=1e3, solver=solver, random_state=0)
    with pytest.warns(
        ConvergenceWarning, match=r"Diverged after \d+ samples .*the last finite weights are kept"
    ) as seen:
        model.fit(X.astype(dtype), y)
    assert seen[0].filename == __file__
    assert model.verdict_.status is Status.DIVERGED
    assert model.verdict_.rule == ""
    assert 'use step="auto"' in model.verdict_.advice
    assert "scale the features" in str(model.verdict_)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.predict(X)).all()


@interpreted
def test_diverged_in_partial_fit_points_at_the_caller(numbers):
    with pytest.warns(ConvergenceWarning, match="Diverged") as seen:
        SGDRegressor(step=1e3, solver="sgd").partial_fit(*numbers)
    assert seen[0].filename == __file__


@interpreted
def test_one_class_of_several_diverges(several):
    X, y = several
    with pytest.warns(ConvergenceWarning, match=r"\d of 4 classes; class \d"):
        model = SGDClassifier("squared", step=1e3, solver="sgd").fit(X, y)
    assert model.verdict_.status == "diverged"
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize(
    ("rule", "step", "name"),
    [
        (stopping.MaxSamples(100) | stopping.MaxPasses(2), 100, "MaxSamples"),
        (stopping.MaxPasses(2) | stopping.MaxSamples(100), 100, "MaxSamples"),
        (stopping.MaxSamples(100) & stopping.MaxPasses(2), 600, "MaxPasses"),
        (stopping.MaxPasses(2) & stopping.MaxSamples(100), 600, "MaxPasses"),
        (stopping.MaxPasses(2) & stopping.MaxSamples(1000), 1000, "MaxSamples"),
        ((stopping.MaxSamples(100) | stopping.MaxSamples(200)) & stopping.MaxSamples(150), 150, "MaxSamples"),
        (stopping.MaxSamples(100) & stopping.MaxSamples(50) | stopping.MaxSamples(700), 100, "MaxSamples"),
    ],
    ids=repr,
)
def test_rules_compose(rule, step, name, binary):
    verdict = LinearClassifier(tol=0, stop=rule).fit(*binary).verdict_
    assert verdict.step == step
    assert verdict.rule == name


def test_all_of_gives_all_reasons(binary):
    rule = stopping.ProgressiveLoss(0.99) & stopping.MaxPasses(4)
    verdict = SGDClassifier(stop=rule).fit(*binary).verdict_
    assert verdict.status == Status.BUDGET_SPENT
    assert verdict.reason.startswith("pass 2 ")
    assert verdict.reason.endswith(" and 4 passes allowed and made")


def test_one_class_a_verdict(several):
    X, y = several
    model = SGDClassifier(solver="asgd", random_state=0, stop=2).fit(X, y)
    assert list(model.verdict_.per_class) == [0, 1, 2, 3]
    assert all(isinstance(verdict, Verdict) for verdict in model.verdict_.per_class.values())
    assert "4 of 4 classes" in str(model.verdict_)
    assert model.verdict_.step == 800


def test_two_classes_have_one_verdict(binary):
    assert LinearClassifier().fit(*binary).verdict_.per_class == {}


@pytest.mark.parametrize(
    ("stop", "sentence"),
    [
        (1, "Budget spent after 300 samples (1 pass): 1 pass allowed and made."),
        (stopping.MaxSamples(1), "Budget spent after 1 sample (0.00333 passes): MaxSamples allows 1"),
        pytest.param(
            2000,
            "Budget spent after 600,000 samples (2,000 passes): 2,000 passes allowed and made.",
            marks=pytest.mark.slow,
        ),
        (stopping.MaxSamples(1500), "Budget spent after 1,500 samples (5 passes): MaxSamples allows 1,500."),
    ],
)
def test_it_reads_well(stop, sentence, binary):
    assert str(SGDClassifier(stop=stop, random_state=0).fit(*binary).verdict_).startswith(sentence)


UPDATES = {"catoni", "gd", "margin_moments", "median_of_means", "newton", "olbfgs", "svrg"}


@pytest.mark.parametrize("name", sorted(names(SingleModel, solvers)))
def test_an_update_is_a_sample_only_if_it_uses_one(name):
    assert by_name(name, SingleModel, solvers, "solver").counts == ("update" if name in UPDATES else "sample")


@interpreted
def test_updates_of_all_rows_are_not_called_samples(binary):
    verdict = SGDClassifier(solver="gd", stop=stopping.MaxSamples(4)).fit(*binary).verdict_
    assert str(verdict).startswith("Budget spent after 4 updates (4 passes): MaxSamples allows 4")
    assert "sample" not in str(verdict).replace("MaxSamples", "")


def test_parts_of_a_stream_are_not_passes(binary, several):
    X, y = binary
    for model in (LinearClassifier(random_state=0), SGDClassifier(random_state=0)):
        for rows in np.array_split(np.arange(300), 34):
            model.partial_fit(X[rows], y[rows], classes=[0, 1])
        assert str(model.verdict_).startswith("In progress after 300 samples: all rows given to partial_fit are used.")
        assert model.verdict_.status is Status.IN_PROGRESS
        assert model.n_iter_ == 1
    model = SGDClassifier(stop=stopping.MaxSamples(20)).partial_fit(X, y, classes=[0, 1])
    assert str(model.verdict_).startswith("Budget spent after 20 samples: MaxSamples allows 20.")


def test_a_budget_that_was_spent_earlier_does_not_contradict_the_passes(binary):
    rule = stopping.MaxPasses(1) & stopping.MaxSamples(600)
    verdict = SGDClassifier(stop=rule, random_state=0).fit(*binary).verdict_
    assert str(verdict).startswith("Budget spent after 600 samples (2 passes): MaxSamples allows 600, after MaxPasses.")


def test_a_gain_that_never_fires_says_so(binary):
    verdict = LinearClassifier(stop=stopping.Gain(tol=0) | stopping.MaxPasses(2), random_state=0).fit(*binary).verdict_
    assert "Gain never fires with tol=0: 2 more passes would lower the validation loss" in verdict.reason
    assert "did not fire" not in verdict.reason


def test_features_that_say_nothing_are_not_blamed_on_their_scales(rng):
    y = rng.integers(0, 2, 400)
    verdict = SGDClassifier(solver="sgd", step=0.5, random_state=0).fit(np.ones((400, 3)), y).verdict_
    assert "worse than predicting 0 for every row" in verdict.advice
    assert "scale" not in verdict.advice


def test_advice_to_go_on(binary):
    verdict = SGDClassifier(solver="asgd", step=0.01, stop=3, random_state=0).fit(*binary).verdict_
    assert "The last pass still lowered the progressive loss by" in verdict.advice
    assert verdict.advice.endswith("allow more passes.")


def test_advice_to_scale(binary):
    X, y = binary
    model = SGDClassifier(solver="sgd", step=1e-3, random_state=0, stop=3).fit(X * [1, 1, 1, 1e6, 1], y)
    assert "worse than predicting 0 for every row" in model.verdict_.advice


def test_the_trace_is_a_table(binary, several, numbers):
    columns = ["step", "passes", "loss", "error", "step_size", "seconds"]
    frame = LinearClassifier(tol=0, stop=3).fit(*binary).trace_.to_frame()
    assert frame.columns.tolist() == columns
    assert frame["step"].tolist() == [300, 600, 900]
    assert frame["passes"].tolist() == [1.0, 2.0, 3.0]
    assert frame["error"].between(0, 1).all()
    frame = LinearRegressor(tol=0, stop=3).fit(*numbers).trace_.to_frame()
    assert frame.columns.tolist() == columns
    assert frame["seconds"].is_monotonic_increasing
    frame = SGDClassifier(solver="asgd", stop=3).fit(*several).trace_.to_frame()
    assert frame.columns.tolist() == [*columns, "label"]
    assert frame["label"].tolist() == [label for label in range(4) for _ in range(3)]


@interpreted
def test_the_trace_measures_what_it_says(binary):
    """With steps of no size every row is predicted by the weights given."""
    X, y = binary
    coef = np.array([1.0, -1.0, 0.5, 0.0, 0.5])
    options = {"step": 1e-300, "alpha": 0.0, "solver": "sgd", "stop": 1}
    row = SGDClassifier(**options).fit(X, y, coef_init=coef).trace_[-1]
    margins = X @ coef * (2 * y - 1)
    assert row.loss == pytest.approx(np.mean(np.log1p(np.exp(-margins))), rel=1e-9)
    assert row.error == pytest.approx(np.mean(margins <= 0), rel=1e-12)
    row = SGDRegressor(**options).fit(X, y, coef_init=coef).trace_[-1]
    assert row.loss == pytest.approx(np.mean((y - X @ coef) ** 2) / 2, rel=1e-9)
    assert row.error == pytest.approx(np.sqrt(np.mean((y - X @ coef) ** 2)), rel=1e-9)


def test_the_trace_knows_its_verdict(binary):
    model = LinearClassifier().fit(*binary)
    assert model.trace_.verdict is model.verdict_
    assert len(model.trace_) == model.n_iter_
    with pytest.raises(KeyError, match="no column 'speed' in the trace: step, passes"):
        model.trace_["speed"]
