import csv
import io
import re

import numpy as np
import pytest

from cli.files import write_csv, write_svmlight
from sgdone import load
from tiers import fast_first


def table(text):
    header, *rows = csv.reader(io.StringIO(text))
    return header, rows


def test_to_standard_output(sgdone, model, train, columns):
    result = sgdone("predict", model, train, "--no-proba")
    header, rows = table(result.stdout)
    assert header == ["prediction"]
    loaded = load(model)
    del loaded.feature_names_in_
    expected = loaded.predict(np.column_stack([columns["a"], columns["b"]]))
    assert [row[0] for row in rows] == expected.tolist()
    error = f"error {np.mean(expected != columns['passed']):.2%}"
    assert re.fullmatch(rf"80 rows · log loss [\d.e-]+ ± [\d.e-]+ · {re.escape(error)} · AUC [\d.]+\n", result.stderr)


def test_to_a_file_with_probabilities(sgdone, model, train, columns, tmp_path):
    out = tmp_path / "p.csv"
    result = sgdone("predict", model, train, "--out", out)
    assert result.stdout == ""
    assert result.stderr.endswith(f" · written to {out}\n")
    header, rows = table(out.read_text())
    assert header == ["prediction", "probability_no", "probability_yes"]
    loaded = load(model)
    del loaded.feature_names_in_
    expected = loaded.predict_proba(np.column_stack([columns["a"], columns["b"]]))
    np.testing.assert_array_equal(np.array([row[1:] for row in rows], dtype=float), expected)


def test_columns_are_found_by_name(sgdone, model, columns, tmp_path):
    straight = sgdone("predict", model, write_csv(tmp_path / "1.csv", columns)).stdout
    turned = {"other": columns["b"] * 9, "b": columns["b"], "passed": columns["passed"], "a": columns["a"]}
    assert sgdone("predict", model, write_csv(tmp_path / "2.csv", turned)).stdout == straight
    unlabelled = {name: columns[name] for name in ("b", "a")}
    result = sgdone("predict", model, write_csv(tmp_path / "3.csv", unlabelled))
    assert result.stdout == straight
    assert result.stderr == "80 rows\n"
    named = {"b": columns["b"], "a": columns["a"], "truth": columns["passed"]}
    result = sgdone("predict", model, write_csv(tmp_path / "4.csv", named), "--label", "truth")
    assert "error" in result.stderr


def test_json(sgdone, model, train, tmp_path):
    report = sgdone("predict", model, train, "--json").report
    assert len(report["predictions"]) == report["rows"] == report["scores"]["rows"] == 80
    assert np.shape(report["probabilities"]) == (80, 2)
    assert report["scores"]["accuracy"] > 0.9
    report = sgdone("predict", model, train, "--json", "--out", tmp_path / "p").report
    assert report["out"] == str(tmp_path / "p")
    assert "predictions" not in report


def test_svmlight_indices_are_read_as_in_training(sgdone, rng, tmp_path):
    X = rng.standard_normal((60, 3))
    train = write_svmlight(tmp_path / "train.svm", X, np.where(X[:, 0] > 0, 1, -1), zero_based=True)
    sgdone("fit", train, "--zero-based", "--model", tmp_path / "m")
    fewer = write_svmlight(tmp_path / "fewer.svm", X[:, :1], np.where(X[:, 0] > 0, 1, -1), zero_based=True)
    result = sgdone("predict", tmp_path / "m", fewer, "--no-proba")
    assert set(result.stdout.split()[1:]) == {"-1", "1"}
    assert float(re.search(r"error ([\d.]+)%", result.stderr)[1]) < 10
    unknown = write_svmlight(tmp_path / "unknown.svm", X, np.zeros(60), zero_based=True)
    assert sgdone("predict", tmp_path / "m", unknown).stderr == "60 rows\n"


@pytest.mark.parametrize("single", fast_first(1, [False, True]))
def test_a_regression(single, sgdone, columns, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    kind = np.float32 if single else np.float64
    columns = {"a": columns["a"].astype(kind), "b": columns["b"].astype(kind), "y": columns["a"] / 3}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    sgdone("fit", tmp_path / "t.parquet", "--task", "regression", "--model", tmp_path / "m", "--quiet")
    result = sgdone("predict", tmp_path / "m", tmp_path / "t.parquet")
    assert "R² " in result.stderr
    assert "RMSE " in result.stderr
    loaded = load(tmp_path / "m")
    del loaded.feature_names_in_
    expected = loaded.predict(np.column_stack([columns["a"], columns["b"]]))
    read = np.array(result.stdout.split()[1:], dtype=expected.dtype)
    np.testing.assert_array_equal(read, expected)
    message = sgdone("predict", tmp_path / "m", tmp_path / "t.parquet", "--proba", code=2).stderr
    assert "does not predict probabilities: train it with --loss logistic" in message


def test_a_data_set_by_name(sgdone, tmp_path):
    sgdone("fit", "iris", "--model", tmp_path / "m", "--quiet")
    report = sgdone("predict", tmp_path / "m", "iris", "--json").report
    assert (report["rows"], report["subset"]) == (30, "test")
    assert sgdone("predict", tmp_path / "m", "iris").stderr.startswith("the 30 test rows of iris · log loss ")
    message = sgdone("predict", tmp_path / "m", "digits", code=1).stderr
    assert "X has 64 features, but LinearClassifier is expecting 4 features" in message


def test_a_hinge_has_no_probabilities(sgdone, train, tmp_path):
    sgdone("fit", train, "--label", "passed", "--loss", "hinge", "--model", tmp_path / "m", "--quiet")
    message = sgdone("predict", tmp_path / "m", train, "--proba", code=2).stderr
    assert "Invalid value for '--proba'" in message
    assert sgdone("predict", tmp_path / "m", train).stdout.splitlines()[0] == "prediction"


def test_labels_with_commas_quotes_and_accents(sgdone, columns, tmp_path):
    columns["passed"] = ['"ja, gewiß"' if label == "yes" else '"no ""way"""' for label in columns["passed"]]
    path = write_csv(tmp_path / "t.csv", columns)
    sgdone("fit", path, "--label", "passed", "--model", tmp_path / "m", "--quiet")
    _, rows = table(sgdone("predict", tmp_path / "m", path).stdout)
    assert {row[0] for row in rows} == {"ja, gewiß", 'no "way"'}


def test_no_cell_is_a_formula_to_a_spreadsheet(sgdone, columns, tmp_path):
    names = ["=1+1", "+2", "-3", "-x", "@SUM(A1)", "\tcmd", "a=b", "+-1"] * 10
    labels = np.where(columns["passed"] == "yes", '=HYPERLINK("x")', "-1")
    train = write_csv(tmp_path / "t.csv", {"=name": names, "a": columns["a"], "b": columns["b"], "passed": labels})
    model = tmp_path / "m"
    sgdone("fit", train, "--label", "passed", "--drop", "=name", "--model", model)
    out = tmp_path / "p.csv"
    sgdone("predict", model, train, "--id", "=name", "--out", out)
    header, rows = table(out.read_text())
    assert header == ["'=name", "prediction", "probability_-1", 'probability_=HYPERLINK("x")']
    assert [row[0] for row in rows[:8]] == ["'=1+1", "+2", "-3", "'-x", "'@SUM(A1)", "'\tcmd", "a=b", "'+-1"]
    assert {row[1] for row in rows} == {'\'=HYPERLINK("x")', "-1"}


def test_large_indices_cost_nothing(sgdone, rng, tmp_path):
    labels, indices = rng.choice([-1, 1], 60), [5, 70_000, 2_147_483_647]

    def write(name, order, extra=""):
        rows = [
            " ".join(f"{j}:{label + x}" for j, x in zip(indices, rng.standard_normal(3), strict=True)) + extra
            for label in order
        ]
        (tmp_path / name).write_text("".join(f"{label} {row}\n" for label, row in zip(order, rows, strict=True)))
        return tmp_path / name

    model = tmp_path / "m"
    sgdone("fit", write("train.svm", labels), "--test", write("test.svm", labels), "--model", model, "--quiet")
    assert load(model).coef_.shape == (1, 3)
    (tmp_path / "new.svm").write_text("1 7:9 2147483647:3\n-1 5:-3 123456:-5\n")
    report = sgdone("predict", model, tmp_path / "new.svm", "--json").report
    assert report["predictions"] == [1, -1]
    assert "feature 2147483647" in sgdone("inspect", model).stdout
