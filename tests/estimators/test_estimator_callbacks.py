"""scikit-learn's callbacks (its version 1.9 and later)."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sgdone import LinearClassifier, LinearRegressor, SGDClassifier, SGDRegressor, stopping
from tiers import fast_first

callback = pytest.importorskip("sklearn.callback", reason="this scikit-learn has no callbacks")


class Recorder:
    """Keeps what it is told; raises or stops when asked to."""

    def __init__(self, *, stop_at=None, interrupt_at=None):
        self.events, self.scores = [], []
        self.stop_at, self.interrupt_at = stop_at, interrupt_at

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.events.append(("begin", context.task_name, context.task_id))

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, metadata=None, fitted_estimator=None):
        place = (context.task_name, context.task_id)
        self.events.append(("end", *place))
        self.metadata = metadata
        self.last = fitted_estimator
        self.scores.append(fitted_estimator.score(X, y))
        if place == self.interrupt_at:
            raise KeyboardInterrupt
        return place == self.stop_at


def passes(count):
    return [(what, "pass", k) for k in range(count) for what in ("begin", "end")]


def test_a_task_a_pass(binary, same_model):
    recorder = Recorder()
    model = LinearClassifier(tol=0, stop=3, random_state=0).set_callbacks(recorder).fit(*binary)
    assert recorder.events == ["setup", ("begin", "fit", 0), *passes(3), ("end", "fit", 0), "teardown"]
    same_model(model, LinearClassifier(tol=0, stop=3, random_state=0).fit(*binary))
    same_model(recorder.last, model)
    assert recorder.scores[-1] == recorder.scores[-2] == model.score(*binary)
    assert recorder.scores[0] > 0.8


def test_a_task_a_class(several, same_model):
    recorder = Recorder()
    model = SGDClassifier(solver="asgd", stop=2, random_state=0, n_jobs=2).set_callbacks(recorder).fit(*several)
    classes = [[("begin", f"class {k}", k), *passes(2), ("end", f"class {k}", k)] for k in range(4)]
    assert recorder.events == [
        "setup",
        ("begin", "fit", 0),
        *[event for events in classes for event in events],
        ("end", "fit", 0),
        "teardown",
    ]
    same_model(model, SGDClassifier(solver="asgd", stop=2, random_state=0).fit(*several))
    # Classes that are trained already stay so: the last snapshot is the whole model.
    assert recorder.scores[-1] == recorder.scores[-2] == model.score(*several)


def test_a_regression(numbers):
    recorder = Recorder()
    model = LinearRegressor(tol=0, stop=2).set_callbacks(recorder).fit(*numbers)
    assert recorder.events[2:-2] == passes(2)
    assert recorder.scores[-1] == model.score(*numbers)


def test_a_pass_that_is_cut_short_is_closed(binary):
    recorder = Recorder()
    LinearClassifier(tol=0, stop=stopping.MaxSamples(450)).set_callbacks(recorder).fit(*binary)
    assert recorder.events[2:-2] == passes(2)


def test_passes_of_many_blocks(rng):
    X = rng.standard_normal((40_000, 2))
    recorder = Recorder()
    LinearClassifier(tol=0, stop=2).set_callbacks(recorder).fit(X, X[:, 0] > 0)
    assert recorder.events[2:-2] == passes(2)


@pytest.mark.usefixtures("without_finish")
def test_one_that_stops_the_fit(binary, same_model):
    model = LinearClassifier(tol=0, stop=50, random_state=0).set_callbacks(Recorder(stop_at=("pass", 4))).fit(*binary)
    assert model.verdict_.status == "stopped by a callback"
    assert model.verdict_.rule == ""
    assert model.verdict_.passes == 5.0
    assert "a callback asked to stop after pass 5" in str(model.verdict_)
    same_model(model, LinearClassifier(tol=0, stop=5, random_state=0).fit(*binary))
    model.set_callbacks().partial_fit(*binary)
    assert model.verdict_.step == 1800


def test_one_that_stops_every_class(several):
    model = SGDClassifier(solver="asgd", stop=50, random_state=0)
    model.set_callbacks(Recorder(stop_at=("pass", 1))).fit(*several)
    assert model.verdict_.status == "stopped by a callback"
    assert [verdict.passes for verdict in model.verdict_.per_class.values()] == [2.0] * 4


def test_a_rule_that_fires_in_the_same_pass_wins(binary):
    model = LinearClassifier(tol=0, stop=5, random_state=0).set_callbacks(Recorder(stop_at=("pass", 4))).fit(*binary)
    assert model.verdict_.status == "budget spent"


@pytest.mark.parametrize("data", ["binary", "several"])
def test_ctrl_c_in_a_callback(data, request):
    X, y = request.getfixturevalue(data)
    recorder = Recorder(interrupt_at=("pass", 1))
    model = LinearClassifier(tol=0, stop=50, random_state=0).set_callbacks(recorder).fit(X, y)
    assert model.verdict_.status == "interrupted"
    assert model.score(X, y) > 0.6
    assert recorder.events[-2:] == [("end", "fit", 0), "teardown"]
    # A task that has ended is not told so twice.
    classes = [event for event in recorder.events if event[0] == "end" and event[1] == "pass"]
    assert classes.count(("end", "pass", 1)) == 1


def test_an_error_in_a_callback_is_the_users(binary):
    class Broken(Recorder):
        def on_fit_task_end(self, estimator, context):
            raise RuntimeError("out of paper")

    broken = Broken()
    with pytest.raises(RuntimeError, match="out of paper"):
        LinearClassifier().set_callbacks(broken).fit(*binary)
    assert broken.events[-1] == "teardown"


def test_bad_data_are_torn_down(binary):
    X, y = binary
    X[5] = np.nan
    recorder = Recorder()
    with pytest.raises(ValueError, match="row 5 of X holds NaN"):
        LinearClassifier().set_callbacks(recorder).fit(X, y)
    assert recorder.events[-1] == "teardown"


def test_names_of_features_and_the_users_own_weights(binary):
    X, y = binary
    recorder = Recorder()
    weight = np.tile([1.0, 2.0], 150)
    model = LinearClassifier(class_weight="balanced").set_callbacks(recorder)
    model.fit(pd.DataFrame(X, columns=list("abcde")), np.where(y, "yes", "no"), sample_weight=weight)
    assert recorder.last.feature_names_in_.tolist() == list("abcde")
    np.testing.assert_array_equal(recorder.metadata["sample_weight"], weight)
    model.fit(X, y)
    assert recorder.metadata is None


@pytest.mark.parametrize("dtype", fast_first(1, [np.float64, np.float32]))
def test_the_fitted_estimator_is_of_the_same_type(dtype, several):
    X, y = several
    seen = []

    class Looker(Recorder):
        def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
            seen.append((fitted_estimator.coef_.dtype, fitted_estimator.coef_.shape))
            fitted_estimator.predict_proba(X.astype(dtype))

    LinearClassifier(tol=0, stop=1).set_callbacks(Looker()).fit(X.astype(dtype), y)
    assert set(seen) == {(np.dtype(dtype), (4, 6))}


def test_partial_fit_tells_nobody(binary):
    recorder = Recorder()
    LinearClassifier().set_callbacks(recorder).partial_fit(*binary, classes=[0, 1])
    assert recorder.events == []


@pytest.mark.parametrize("stop", ["auto", 2, 2.5, stopping.MaxSamples(500), stopping.MaxSeconds(0.01)], ids=str)
@pytest.mark.parametrize("data", ["binary", "several", "numbers"])
@pytest.mark.slow
def test_the_progress_bar(data, stop, request, capsys):
    make = SGDRegressor if data == "numbers" else SGDClassifier
    model = make(solver="asgd", stop=stop).set_callbacks(callback.ProgressBar())
    model.fit(*request.getfixturevalue(data))
    shown = capsys.readouterr().out
    assert f"{make.__name__} - fit" in shown
    assert ("class 3" in shown) == (data == "several")


@pytest.mark.parametrize("data", ["binary", "several", "numbers"])
def test_the_scoring_monitor(data, request):
    monitor = callback.ScoringMonitor(scoring="r2" if data == "numbers" else "accuracy")
    make = SGDRegressor if data == "numbers" else SGDClassifier
    model = make(solver="asgd", stop=3, random_state=0)
    X, y = request.getfixturevalue(data)
    model.set_callbacks(monitor).fit(X, y, sample_weight=np.ones(len(y)))
    log = monitor.get_logs().data_as_pandas
    score = log.set_index("task_id_path")["r2" if data == "numbers" else "accuracy"]
    assert score[[(0,)]].item() == model.score(X, y)
    assert len(score) == (1 + 4 * (1 + 3) if data == "several" else 1 + 3)


def test_in_a_grid_search(several):
    search = GridSearchCV(LinearClassifier(random_state=0), {"alpha": [0.1, 0.01]}, cv=2)
    search.set_callbacks(callback.ProgressBar(max_propagation_depth=None)).fit(*several)
    assert search.best_score_ > 0.8
    recorder = Recorder()
    search = GridSearchCV(LinearClassifier(tol=0, stop=2).set_callbacks(recorder), {"alpha": [0.1]}, cv=2).fit(*several)
    assert recorder.events.count("teardown") == 3
    assert search.best_score_ > 0.8


def test_in_a_pipeline(binary, capsys):
    pipeline = make_pipeline(StandardScaler(), LinearClassifier())
    pipeline.set_callbacks(callback.ProgressBar()).fit(*binary)
    assert pipeline.score(*binary) > 0.9
    assert "LinearClassifier" in capsys.readouterr().out


def test_a_model_with_callbacks_is_fitted_again(binary):
    recorder = Recorder()
    model = LinearClassifier(tol=0, stop=1).set_callbacks(recorder)
    model.fit(*binary).fit(*binary)
    assert recorder.events.count(("end", "pass", 0)) == 2
