"""Rows held out for the scores, and the scores themselves."""

import math
from contextlib import nullcontext

import numpy as np
import pytest
from scipy.stats import rankdata
from sklearn.metrics import confusion_matrix, log_loss, roc_auc_score

from cli.files import write_csv
from sgdone import LinearClassifier, load
from sgdone.cli import fit_data
from sgdone.cli.held_out import HeldOutInput
from sgdone.cli.input_data import open_data
from sgdone.cli.scores import area_under_roc, average_ranks
from sgdone.fit.hold_out import held_out_rows
from sgdone.fit.loaded_rows import LoadedRows
from sgdone.readers.table import ReadOptions


@pytest.fixture
def rows(rng):
    a, b = rng.standard_normal((2, 200))
    return {"a": a, "b": b, "y": np.where(a + b + rng.standard_normal(200) > 1, "yes", "no")}


@pytest.fixture
def file(rows, tmp_path):
    return write_csv(tmp_path / "t.csv", rows)


def test_a_tenth_is_held_out_and_the_saved_model_has_all_rows(sgdone, file, rows, tmp_path):
    result = sgdone("fit", file, "--model", tmp_path / "m")
    n_held_out = held_out_rows(np.column_stack([rows["a"], rows["b"]]), rows["y"], "classification", 0).sum()
    announced = f"held out {n_held_out} of 200 rows for the scores; the saved model is then fitted on all rows"
    assert result.stdout.splitlines()[0] == announced
    report = sgdone("fit", file, "--model", tmp_path / "m", "--json").report
    assert (report["rows"], report["fitted_rows"], report["held_out"]["rows"]) == (200, 200, n_held_out)
    X = np.column_stack([rows["a"], rows["b"]])
    np.testing.assert_array_equal(load(tmp_path / "m").coef_, LinearClassifier(random_state=0).fit(X, rows["y"]).coef_)


def test_which_of_the_two_fits_has_which_scores(sgdone, file, rows, tmp_path):
    result = sgdone("fit", file, "--model", tmp_path / "m")
    table = [line.split("   ") for line in result.stdout.splitlines() if "held-out rows  " in line]
    assert [name.strip() for name in table[0] if name.strip()] == [
        "held-out rows", "training rows", "saved model, all rows", "base rate"
    ]  # fmt: skip
    report = sgdone("fit", file, "--model", tmp_path / "m", "--json").report
    alone, scored = sgdone("fit", file, "--json").report, report["scored_fit"]
    assert alone["scored_fit"] is None
    for key in ("alpha", "fitted_rows", "passes", "samples", "train", "verdict"):
        assert scored[key] == alone[key]
    assert report["held_out"] == alone["held_out"]
    assert report["verdict"]["sentence"] == str(load(tmp_path / "m").verdict_) != scored["verdict"]["sentence"]
    assert f"Saved model: {report['verdict']['sentence']}" in result.stdout
    assert f"Fit without the held-out rows: {scored['verdict']['sentence']}" in result.stdout
    assert not scored["differs"]
    assert result.stderr == ""


def test_fits_that_differ_by_more_than_noise_are_warned_of(sgdone, file, tmp_path, monkeypatch):
    to_fit = LoadedRows.for_fit

    def without_features(X, y, weights, options, **others):
        options.parameters["alpha"] = 1e6 if len(y) < 200 else "auto"
        return to_fit(X, y, weights, options, **others)

    monkeypatch.setattr(LoadedRows, "for_fit", without_features)
    result = sgdone("fit", file, "--model", tmp_path / "m")
    report = sgdone("fit", file, "--model", tmp_path / "m", "--json").report
    ours, saved = report["scored_fit"]["train"]["loss"], report["train"]["loss"]
    assert report["scored_fit"]["differs"]
    assert f"its log loss on training rows is {ours:.3g}, that of the saved model {saved:.3g};" in result.stderr
    assert sgdone("fit", file).stderr == ""


def test_the_scores_are_those_of_the_held_out_rows(sgdone, file, rows):
    report = sgdone("fit", file, "--seed", 3, "--json").report
    held_out = held_out_rows(np.column_stack([rows["a"], rows["b"]]), rows["y"], "classification", 3)
    assert report["fitted_rows"] == 200 - held_out.sum()
    X = np.column_stack([rows["a"], rows["b"]])
    model = LinearClassifier(random_state=3).fit(X[~held_out], rows["y"][~held_out])
    y, found = rows["y"][held_out], report["held_out"]
    probabilities = model.predict_proba(X[held_out])
    assert found["loss"] == pytest.approx(log_loss(y, probabilities))
    assert found["auc"] == pytest.approx(roc_auc_score(y, probabilities[:, 1]))
    assert found["error"] == pytest.approx(np.mean(model.predict(X[held_out]) != y))
    assert found["confusion"] == confusion_matrix(y, model.predict(X[held_out])).tolist()
    share = np.mean(rows["y"][~held_out] == "yes")
    constant = np.tile([1 - share, share], (held_out.sum(), 1))
    assert found["base"] == {
        "loss": pytest.approx(log_loss(y, constant)), "error": pytest.approx(np.mean(y != "no")), "auc": 0.5
    }  # fmt: skip


def test_a_regression_beside_the_mean(sgdone, rng, tmp_path):
    a = rng.standard_normal(100)
    y = 2 * a + 0.1 * rng.standard_normal(100)
    b = rng.standard_normal(100)
    path = write_csv(tmp_path / "t.csv", {"a": a, "b": b, "y": y})
    report = sgdone("fit", path, "--task", "regression", "--json").report
    held_out = held_out_rows(np.column_stack([a, b]), y, "regression", 0)
    base = np.sqrt(np.mean((y[held_out] - y[~held_out].mean()) ** 2))
    assert report["held_out"]["base"]["rmse"] == pytest.approx(base)
    assert report["held_out"]["rmse"] < 0.2 < base


def test_few_rows_and_no_holdout(sgdone, rows, tmp_path):
    few = write_csv(tmp_path / "few.csv", {name: values[:49] for name, values in rows.items()})
    first = sgdone("fit", few).stdout.splitlines()[0]
    assert first == "fewer than 50 rows: none are held out, and the scores are those of the training rows"
    assert sgdone("fit", few, "--json").report["held_out"] is None
    text = sgdone("fit", few, "--no-holdout").stdout
    assert text.startswith("task ")
    assert "held" not in text


def test_a_tenth_of_the_rows_and_never_a_whole_class(rng):
    labels, X = np.repeat(["a", "b", "c"], [9000, 990, 10]), rng.standard_normal((10_000, 2))
    for seed in range(20):
        held_out = held_out_rows(X, labels, "classification", seed)
        assert 900 < held_out.sum() < 1100
        assert 60 < np.count_nonzero(held_out & (labels == "b")) < 140
        assert np.count_nonzero(held_out & (labels == "c")) < 10
    one = np.repeat(["a", "c"], [9999, 1])
    found = {held_out_rows(X[::-1], one, "classification", seed)[-1] for seed in range(30)}
    assert found == {np.False_}
    assert held_out_rows(X[:49], labels[:49], "classification", 0).sum() == 0


def test_copies_are_held_out_together_unless_few_rows_differ(rng):
    X = np.repeat(rng.standard_normal((500, 2)), 4, axis=0)
    held_out = held_out_rows(X, np.zeros(2000), "regression", 0).reshape(-1, 4)
    assert set(held_out.sum(axis=1)) == {0, 4}
    X = np.repeat(rng.standard_normal((10, 2)), 200, axis=0)
    held_out = held_out_rows(X, np.zeros(2000), "regression", 0).reshape(-1, 200)
    assert held_out.sum(axis=1).min() > 5


@pytest.fixture
def reports(sgdone, tmp_path, monkeypatch):
    """Reports of a fit to the same file in memory, in parts and on Dask."""
    pytest.importorskip("distributed", reason="Dask is not installed")
    monkeypatch.setattr("sgdone.dask.engine.connected", lambda address: nullcontext())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def reported(columns, *options):
        path = write_csv(tmp_path / "t.csv", columns)
        return {name: sgdone("fit", path, *options, *more, "--json").report for name, more in PLACES_OF_ROWS.items()}

    return reported


PLACES_OF_ROWS = {"memory": (), "parts": ("--max-memory", "1MB"), "dask": ("--dask", "local")}


@pytest.mark.parametrize("seed", [0, 1])
def test_files_in_parts_and_partitions_hold_out_the_same_rows(sgdone, reports, rng, tmp_path, seed):
    a, b, c = rng.standard_normal((3, 12_000)).round(3)
    columns = {"a": a, "b": b, "c": c, "y": a + b + rng.standard_normal(12_000)}
    options = ("--task", "regression", "--seed", seed)
    found = reports(columns, *options)
    assert [report["streamed"] for report in found.values()] == [False, True, False]
    chosen = held_out_rows(np.column_stack([a, b, c]), columns["y"], "regression", seed)
    spread = np.std(columns["y"][chosen])
    for report in found.values():
        scores = report["held_out"]
        assert (scores["rows"], report["fitted_rows"]) == (chosen.sum(), 12_000 - chosen.sum())
        # The spread of the labels of these rows, which others do not have.
        assert scores["rmse"] / np.sqrt(1 - scores["r2"]) == pytest.approx(spread, rel=1e-12)
    for name, more in PLACES_OF_ROWS.items():
        first = sgdone("fit", tmp_path / "t.csv", *options, *more, "--model", tmp_path / "m").stdout.splitlines()[0]
        said = "the saved model is then fitted on all rows"
        assert first.endswith(said if name == "memory" else "the model is not fitted again with them")


def test_copies_and_rare_classes_are_treated_alike_everywhere(reports, rng):
    """Few different rows, and classes of one or two rows, in memory, in parts and on Dask."""
    n = 40_000
    a, b = rng.integers(0, 4, n), rng.integers(0, 5, n)
    y = np.where(a + b + rng.standard_normal(n) > 4, "yes", "no").astype(object)
    rare = rng.choice(n, 30, replace=False)
    y[rare] = [f"rare{k // 2}" for k in range(30)]
    chosen = held_out_rows(np.column_stack([a, b]), y, "classification", 0)
    assert set(y[~chosen]) == set(y)
    assert 0.08 < chosen.mean() < 0.12
    for report in reports({"a": a, "b": b, "y": y}, "--stop", 1).values():
        assert report["held_out"]["rows"] == chosen.sum()
        assert report["fitted_rows"] == n - chosen.sum()


def test_rows_whose_number_is_not_known(rng, tmp_path, monkeypatch):
    """The share falls as rows are read; in the end those are scored that are held out if the number is known."""
    monkeypatch.setattr("sgdone.fit.hold_out.MOST_HELD_OUT", 100)
    path = write_csv(tmp_path / "t.csv", {"a": rng.standard_normal(60_000), "y": rng.standard_normal(60_000)})
    opened = open_data([str(path)], ReadOptions(skip_unlabelled=True, max_memory=10**6))
    assert opened.others is not None
    rows = HeldOutInput(opened.others, "t", "regression", 0)
    fitted = sum(table.X.shape[0] for table in rows.tables())
    held_out = rows.held_out_rows(1)
    X = np.loadtxt(path, delimiter=",", skiprows=1)
    expected = held_out_rows(X[:, :1], X[:, 1], "regression", 0)
    assert 50 < expected.sum() < 150
    np.testing.assert_array_equal(np.sort(held_out.labels), np.sort(X[expected, 1]))
    assert fitted == 60_000 - rows.reading.n_held_out < 60_000 - expected.sum()


def test_rows_that_are_fitted_keep_their_places(rng, tmp_path):
    path = write_csv(tmp_path / "t.csv", {"a": rng.standard_normal(60_000), "y": rng.standard_normal(60_000)})
    opened = open_data([str(path)], ReadOptions(skip_unlabelled=True, max_memory=10**6))
    table = next(HeldOutInput(opened.others, "t", "regression", 0).tables())
    lines = path.read_text().splitlines()
    for row in (0, 100, table.n_rows - 1):
        line = int(table.place(row).rpartition(" ")[2].replace(",", ""))
        assert float(lines[line - 1].split(",")[0]) == table.X.column("a")[row].as_py()


def test_confusion_of_few_classes_only(sgdone, rng, tmp_path):
    n = 240
    columns = {"a": rng.standard_normal(n), "b": rng.standard_normal(n)}
    path = write_csv(tmp_path / "t.csv", columns | {"y": [f"c{k % 3}" for k in range(n)]})
    text = sgdone("fit", path, "--stop", 1).stdout
    assert "Held-out rows by true class (lines) and predicted class (columns):\n     c0   c1   c2\nc0 " in text
    assert "AUC" not in text
    path = write_csv(tmp_path / "t.csv", columns | {"y": [f"c{k % 11}" for k in range(n)]})
    assert "predicted class" not in sgdone("fit", path, "--stop", 1).stdout


@pytest.mark.parametrize("when", ["running", "encoding"])
def test_ctrl_c_in_the_second_fit(when, sgdone, file, tmp_path, monkeypatch):
    """The model so far is saved; before there is one, that of the first fit."""
    to_fit, fit, calls = LoadedRows.for_fit, fit_data.fit, []

    def encoded(X, y, *others, **options):
        calls.append(len(y))
        if len(calls) == 2 and when == "encoding":
            raise KeyboardInterrupt
        return to_fit(X, y, *others, **options)

    def fitted(rows, options, hook):
        return fit(rows, options, hook=hook if len(calls) < 2 else lambda number: press)

    def press(progress):
        raise KeyboardInterrupt

    monkeypatch.setattr(LoadedRows, "for_fit", encoded)
    monkeypatch.setattr(fit_data, "fit", fitted)
    result = sgdone("fit", file, "--model", tmp_path / "m", "--stop", 3, code=130)
    assert calls[0] < calls[1] == 200
    assert "held-out rows" in result.stdout
    status = load(tmp_path / "m").verdict_.status
    if when == "running":
        assert status == "interrupted"
        assert "Interrupted after" in result.stdout
        assert "The model was fitted on" not in result.stdout
    else:
        assert status != "interrupted"
        assert result.stdout.endswith(f"The model was fitted on {calls[0]} of the 200 rows.\n")


# ---- the area under the ROC curve ----


@pytest.mark.parametrize("decimals", [0, 1, 10])
def test_as_scikit_learn_and_scipy(rng, decimals):
    """With many equal scores, some and none; with weights, some of them 0, and without."""
    scores, positive = rng.standard_normal(500).round(decimals), rng.random(500) < 0.3
    weights = rng.integers(0, 3, 500).astype(float)
    np.testing.assert_array_equal(average_ranks(scores), rankdata(scores))
    assert area_under_roc(positive, scores) == pytest.approx(roc_auc_score(positive, scores), abs=1e-12)
    expected = roc_auc_score(positive, scores, sample_weight=weights)
    assert area_under_roc(positive, scores, weights) == pytest.approx(expected, abs=1e-12)


def test_of_one_class_there_is_no_area():
    assert math.isnan(area_under_roc(np.array([True, True]), np.array([1.0, 2.0])))
    assert math.isnan(area_under_roc(np.array([True, False]), np.array([1.0, 2.0]), np.array([1.0, 0.0])))
