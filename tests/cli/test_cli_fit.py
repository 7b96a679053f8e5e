import re

import numpy as np
import pytest
from sklearn.metrics import log_loss

from cli.files import write_csv, write_svmlight
from sgdone import datasets, load
from sgdone.cli.report import score_lines
from sgdone.model_file import read_header
from sgdone.stopping import MaxPasses, ProgressiveLoss
from tiers import interpreted


def test_a_table(sgdone, train, columns, tmp_path):
    test = write_csv(tmp_path / "test.csv", {name: columns[name][:30] for name in ("passed", "b", "a")})
    result = sgdone("fit", train, "--label", "passed", "--solver", "asgd", "--test", test)
    lines = dict(line.split("  ", 1) for line in result.stdout.splitlines() if "  " in line)
    lines = {name: text.strip() for name, text in lines.items()}
    assert lines["task"] == "classification with the logistic loss, solver asgd"
    assert lines["rows"] == "80 (and 30 to test)"
    assert lines["features"] == "2"
    assert lines["classes"] == "no, yes"
    assert re.search(r"\n +test rows +training rows +base rate\n", result.stdout)
    errors = [float(text) for text in re.findall(r"([\d.]+)%", lines["error"])]
    assert max(errors[:2]) < 10 < errors[2]
    assert float(lines["passes"]) <= 10
    (_, _), (loss, error) = re.findall(r"([\d.]+) ± ([\d.]+)", lines["log loss"])
    assert 0 < float(error) < float(loss) < 0.4
    total, *parts = map(float, re.findall(r"\d[\d.e+-]*", lines["seconds"]))
    assert total >= 0.9 * sum(parts) > 0
    assert re.sub(r"[\d.e+-]*\d", "#", lines["seconds"]) == "# (starting #, reading #, fitting #)"
    sentence = result.stdout.splitlines()[-1]
    assert "samples" in sentence
    assert "passes): " in sentence
    assert "\x1b" not in result.stdout
    sentence = sgdone("fit", "breast-cancer", "--solver", "asgd", "--stop", 1).stdout.splitlines()[-1]
    assert "Standardise the features, or use --solver auto, which scales them itself." in sentence
    assert result.stderr == ""
    assert not any(line.endswith(" ") for line in result.stdout.splitlines())


def test_json(sgdone, train):
    report = sgdone("fit", train, "--label", "passed", "--solver", "asgd", "--no-holdout", "--json").report
    assert report["data"] == str(train)
    assert (report["rows"], report["features"], report["classes"]) == (80, 2, ["no", "yes"])
    assert (report["task"], report["loss"], report["solver"], report["seed"]) == (
        "classification",
        "logistic",
        "asgd",
        0,
    )
    assert report["alpha"] == 1 / 80
    assert report["test"] is report["held_out"] is None
    assert report["model"] is None
    assert report["train"]["accuracy"] > 0.9
    assert report["verdict"]["status"] in ("converged", "budget spent")
    assert report["verdict"]["sentence"].startswith(report["verdict"]["status"].capitalize())


@pytest.mark.parametrize("name", ["iris", "digits"])
def test_the_loss_is_the_log_loss_of_the_probabilities(name, sgdone, tmp_path):
    report = sgdone("fit", name, "--passes", 2, "--no-holdout", "--model", tmp_path / "m", "--json").report
    model = load(tmp_path / "m")
    del model.feature_names_in_
    for part, subset in (("train", "train"), ("test", "test")):
        if report[part] is None:
            continue
        rows = datasets.load(name, subset=subset)
        probabilities = model.predict_proba(rows.X)
        assert report[part]["loss"] == pytest.approx(log_loss(rows.y, probabilities), rel=1e-9)
        each = -np.log(probabilities[np.arange(len(rows.y)), np.searchsorted(model.classes_, rows.y)])
        error = np.std(each, ddof=1) / np.sqrt(len(each))
        assert report[part]["loss_standard_error"] == pytest.approx(error, rel=1e-9)


def test_test_rows_of_another_class_count_as_wrong(sgdone, train, columns, tmp_path):
    """They have no probability, so the loss is that of the others."""
    few = {name: columns[name][:30] for name in ("passed", "b", "a")}
    scores = []
    for labels in (few["passed"], np.append(few["passed"][:-1], "perhaps")):
        test = write_csv(tmp_path / "test.csv", few | {"passed": labels})
        scores.append(sgdone("fit", train, "--label", "passed", "--test", test, "--json").report["test"])
    assert scores[1]["rows"] == 30
    assert scores[1]["accuracy"] < scores[0]["accuracy"]
    assert np.isfinite(scores[1]["loss"])


def test_the_model_is_that_of_the_library(sgdone, train, model, columns):
    from sgdone import LinearClassifier

    X = np.column_stack([columns["a"], columns["b"]])
    expected = LinearClassifier(random_state=0).fit(X, columns["passed"])
    loaded = load(model)
    np.testing.assert_array_equal(loaded.coef_, expected.coef_)
    assert loaded.feature_names_in_.tolist() == ["a", "b"]
    assert read_header(model)["extra"] == {"data": str(train), "zero_based": "false", "label": "passed"}


@interpreted
def test_options_reach_the_model(sgdone, train, tmp_path):
    path = tmp_path / "m"
    options = ["--loss", "hinge", "--solver", "sgd", "--step", 0.5, "--stop", 2.5, "--alpha", 0.25, "--seed", 7]
    sgdone("fit", train, "--label", "passed", "--model", path, *options)
    parameters = load(path).get_params()
    wanted = {"loss": "hinge", "solver": "sgd", "step": 0.5, "stop": 2.5, "alpha": 0.25, "random_state": 7}
    assert wanted.items() <= parameters.items()


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ([], "auto"),
        (["--stop", "3"], 3),
        (["--stop", "one-pass"], "one-pass"),
        (["--passes", "40"], MaxPasses(40)),
        (["--passes", "1.5", "--alpha", "0.1"], MaxPasses(1.5)),
        (["--passes", "40", "--solver", "asgd"], ProgressiveLoss() | MaxPasses(40)),
        (["--passes", "40", "--solver", "sgd", "--step", "0.1"], ProgressiveLoss() | MaxPasses(40)),
        (["--passes", "1.5", "--stop", "progressive"], ProgressiveLoss() | MaxPasses(1.5)),
    ],
)
def test_when_to_stop(options, rule, sgdone, train, tmp_path):
    sgdone("fit", train, "--label", "passed", "--model", tmp_path / "m", *options)
    assert load(tmp_path / "m").stop == rule


def test_passes_cap_the_default_fit(sgdone, train):
    report = sgdone("fit", train, "--label", "passed", "--tol", 0, "--passes", 3, "--json").report
    assert report["solver"] == "auto"
    assert report["verdict"]["rule"] == "MaxPasses"
    assert report["passes"] == 3
    report = sgdone("fit", train, "--label", "passed", "--passes", 99, "--json").report
    assert report["verdict"]["rule"] == "Decrement"
    assert report["passes"] < 99


def test_an_error_that_is_rounding_is_not_shown():
    scores = {"loss": 0.455, "loss_standard_error": 8.8e-17, "error": 0.0}
    assert score_lines(scores, "logistic")[0] == ("log loss", "0.455", "")
    assert score_lines({**scores, "loss_standard_error": 0.0032}, "hinge")[0] == ("hinge loss", "0.455 ± 0.0032", "")


@pytest.mark.parametrize("zero_based", [False, True])
def test_svmlight(zero_based, sgdone, rng, tmp_path):
    X = rng.standard_normal((60, 3))
    y = np.where(X[:, 0] > 0, 1, -1)
    train = write_svmlight(tmp_path / "train.svm", X[:, :2], y, zero_based)
    test = write_svmlight(tmp_path / "test.svm", X, y, zero_based)
    flags = ["--zero-based"] if zero_based else []
    message = sgdone("fit", train, "--test", test, *flags, code=1).stderr
    assert "with the same --n-features and --zero-based" in message
    report = sgdone("fit", train, "--test", test, "--n-features", 3, "--json", *flags).report
    assert report["features"] == 3
    assert report["classes"] == [-1, 1]
    assert report["test"]["accuracy"] == report["train"]["accuracy"] > 0.9


@pytest.mark.slow
def test_parquet(sgdone, columns, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = {"a": columns["a"].astype(np.float32), "b": columns["b"].astype(np.float32), "y": columns["passed"]}
    pq.write_table(pa.table(table), tmp_path / "t.parquet")
    sgdone("fit", tmp_path / "t.parquet", "--model", tmp_path / "m")
    assert load(tmp_path / "m").coef_.dtype == np.float32


def test_a_regression(sgdone, columns, tmp_path):
    columns["passed"] = 3 * columns["a"] + 1
    path = write_csv(tmp_path / "r.csv", columns)
    result = sgdone("fit", path, "--label", "passed", "--task", "regression", "--test", path, "--passes", 50)
    assert "regression with the squared loss, automatic solver" in result.stdout
    for line in ("\nRMSE ", "\nR² ", " test rows ", " training rows ", " base rate\n"):
        assert line in result.stdout
    assert "classes" not in result.stdout
    assert "loss " not in result.stdout.partition("base rate")[2].partition("\n\n")[0]
    report = sgdone("fit", path, "--label", "passed", "--loss", "huber", "--json").report
    assert report["loss"] == "huber"
    assert report["train"]["r2"] > 0.5
    assert report["train"]["rmse"] > 0


@pytest.mark.parametrize(
    ("labels", "options", "task"),
    [
        ([0.0, 1.0] * 40, [], "classification"),
        ([3, 5, 9, 11] * 20, [], "classification"),
        (range(80), ["--task", "regression"], "regression"),
        (range(80), ["--loss", "huber"], "regression"),
        (list(range(20)) * 4, [], "regression"),
        ([0.5, 1.5] * 40, [], "regression"),
        (["true", "false"] * 40, [], "classification"),
        ([0, 1] * 40, ["--task", "regression"], "regression"),
        (["007", "7"] * 40, [], "classification"),
        (["007", "012"] * 40, ["--task", "regression"], "regression"),
        pytest.param([0, 1] * 40, ["--loss", "huber"], "regression", marks=pytest.mark.slow),
        pytest.param([0, 1] * 40, ["--loss", "squared"], "classification", marks=pytest.mark.slow),
        pytest.param(
            [k // 3 for k in range(80)], ["--loss", "hinge", "--stop", "1"], "classification", marks=pytest.mark.slow
        ),
    ],
)
def test_the_task(labels, options, task, sgdone, columns, tmp_path):
    columns["passed"] = list(labels)
    path = write_csv(tmp_path / "t.csv", columns)
    assert sgdone("fit", path, "--label", "passed", "--json", *options).report["task"] == task


def test_data_sets_by_name(sgdone, tmp_path):
    report = sgdone("fit", "iris", "--solver", "asgd", "--json", "--model", tmp_path / "m").report
    data = datasets.load("iris", subset="test")
    assert report["test"]["rows"] == len(data.y)
    assert report["test"]["accuracy"] == load(tmp_path / "m").set_params(n_jobs=None).score(_frame(data), data.y)
    assert report["class_names"] == ["setosa", "versicolor", "virginica"]
    assert len(report["verdict"]["per_class"]) == 3
    assert "0 (setosa), 1 (versicolor)" in sgdone("fit", "iris", "--stop", 1).stdout
    assert sgdone("fit", "iris-setosa-vs-rest", "--json").report["classes"] == [-1, 1]
    assert sgdone("fit", "diabetes", "--json").report["task"] == "regression"


def _frame(data):
    import pandas as pd

    return pd.DataFrame(data.X, columns=data.feature_names)


def test_a_file_goes_before_a_data_set_of_its_name(sgdone, train, monkeypatch, tmp_path):
    (tmp_path / "iris").write_text(train.read_text())
    monkeypatch.chdir(tmp_path)
    assert sgdone("fit", "iris", "--label", "passed", "--json").report["rows"] == 80
    (tmp_path / "digits").mkdir()
    assert sgdone("fit", "digits", "--stop", 1, "--json").report["features"] == 64


def test_quiet(sgdone, train):
    assert sgdone("fit", train, "--label", "passed", "--quiet").output == ""


@pytest.mark.slow
def test_a_diverged_fit_says_so(sgdone, tmp_path, columns):
    columns["passed"] = columns["a"] * 1e3
    path = write_csv(tmp_path / "t.csv", columns)
    report = sgdone(
        "fit", path, "--label", "passed", "--task", "regression", "--step", 1e9, "--solver", "sgd", "--json"
    ).report
    assert report["verdict"]["status"] == "diverged"
    assert "use --step auto, a smaller step, --solver aisgd" in report["verdict"]["advice"]


@pytest.mark.parametrize("classes", [2, 3])
def test_after_ctrl_c_there_is_a_model(classes, sgdone, train, columns, tmp_path, monkeypatch):
    from sgdone.cli.console import ProgressLine

    calls = []

    def press(progress):
        calls.append(progress)
        if len(calls) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(ProgressLine, "hook", lambda self, number: press)
    columns["passed"] = np.arange(80) % classes
    path = write_csv(tmp_path / "t.csv", columns)
    result = sgdone("fit", path, "--label", "passed", "--model", tmp_path / "m", "--stop", 9, code=130)
    assert "Interrupted after" in result.stdout
    assert "partial_fit" not in result.stdout
    assert "held-out rows" in result.stdout
    assert result.stdout.endswith("The model was fitted on 71 of the 80 rows.\n")
    assert load(tmp_path / "m").verdict_.status == "interrupted"


def test_ctrl_c_while_reading(sgdone, train, monkeypatch):
    def press(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("sgdone.cli.input_data.read", press)
    result = sgdone("fit", train, code=130)
    assert result.stderr == "error: interrupted\n"
