from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from cli.files import write_csv, write_svmlight
from inference.summaries import summary_of
from sgdone.fit import summaries
from sgdone.inference import Refusal

INFINITE = Refusal("infinite", 'It tends to +∞. Use loss="huber".', 1)
COLLINEAR = Refusal("collinear", "It is a multiple of a.")


@pytest.fixture
def calls(monkeypatch):
    """Replace the computation by a summary made by hand; records the arguments of each call."""
    recorded = SimpleNamespace(
        made=[], result=summary_of(["(intercept)", "a", "b"], [1, 2, 0], [1, 0.5, 1], refused={2: INFINITE})
    )

    def summary(model, X, y, sample_weight, options, checks):
        recorded.made.append({"X": X, "y": y, "sample_weight": sample_weight, **vars(options)})
        return recorded.result

    monkeypatch.setattr(summaries, "summary", summary)
    return recorded


def test_text(sgdone, model, train, columns, calls):
    text = sgdone("summary", model, train).stdout
    assert text.rstrip("\n") == str(calls.result).replace('loss="huber"', "--loss huber")
    (call,) = calls.made
    np.testing.assert_array_equal(call.pop("X"), np.column_stack([columns["a"], columns["b"]]))
    np.testing.assert_array_equal(call.pop("y"), columns["passed"])
    assert call == {
        "sample_weight": None,
        "cov": "robust",
        "groups": None,
        "columns": None,
        "level": 0.95,
        "reference": None,
        "weights": "frequency",
    }


def test_json(sgdone, model, train, calls, tmp_path):
    report = sgdone("summary", model, train, "--json").report
    assert report.keys() == {
        "file", "data", "subset", "head", "level", "df", "monte_carlo_error", "coefficients", "column_tests",
        "left_out", "plot", "sgdone",
    }  # fmt: skip
    assert (report["level"], report["df"], report["head"]["rows"]) == (0.95, None, 1200)
    assert report["coefficients"][1] == {
        "feature": "a", "coef": 2, "std_err": 0.5, "z": 4, "p": pytest.approx(6.3e-5, rel=0.01),
        "low": pytest.approx(1.02, rel=1e-3), "high": pytest.approx(2.98, rel=1e-3),
    }  # fmt: skip
    assert report["coefficients"][2] == {
        "feature": "b", **dict.fromkeys(("coef", "std_err", "z", "p", "low", "high")),
        "refused": {"kind": "infinite", "reason": "It tends to +∞. Use --loss huber.", "sign": 1, "detail": ""},
    }  # fmt: skip
    calls.result = summary_of(["a", "a"], [1, 2], [1, 1], classes=np.array([3, 7]))
    assert [entry["class"] for entry in sgdone("summary", model, train, "--json").report["coefficients"]] == [3, 7]


def test_options_reach_the_model(sgdone, model, train, calls):
    sgdone("summary", model, train, "--columns", "b, a", "--columns", "(intercept)", "--cov", "classical",
           "--level", 0.9, "--reference", "yes")  # fmt: skip
    assert {name: calls.made[0][name] for name in ("columns", "cov", "level", "reference")} == {
        "columns": ["b", "a", "(intercept)"], "cov": "classical", "level": 0.9, "reference": "yes"
    }  # fmt: skip


def test_names_with_commas_and_classes_that_are_numbers(sgdone, calls, rng, tmp_path):
    a, b = rng.standard_normal((2, 60))
    table = pa.table({"a, in cm": a, "b": b, "y": (a + b > 0).astype(int)})
    parquet.write_table(table, tmp_path / "t.parquet")
    sgdone("fit", tmp_path / "t.parquet", "--model", tmp_path / "m", "--quiet")
    sgdone("summary", tmp_path / "m", tmp_path / "t.parquet", "--columns", "a, in cm", "--reference", 1)
    assert calls.made[0]["columns"] == ["a, in cm"]
    assert (calls.made[0]["reference"], calls.made[0]["y"].dtype) == (1, np.int64)


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_groups_are_a_column_and_may_be_a_feature(format, sgdone, model, columns, calls, tmp_path):
    columns |= {"site": [f"s{k % 40}" for k in range(80)]}
    path = tmp_path / f"more.{format}"
    if format == "csv":
        write_csv(path, columns)
    else:
        parquet.write_table(pa.table(columns), path)
    for column in ("site", "a"):
        sgdone("summary", model, path, "--cov", "cluster", "--groups", column)
        np.testing.assert_array_equal(calls.made[-1]["groups"], columns[column])
        assert calls.made[-1]["X"].shape == (80, 2)
    assert "(did you mean 'site'?)" in sgdone(
        "summary", model, path, "--cov", "cluster", "--groups", "sites", code=1
    ).stderr  # fmt: skip


def test_a_named_set_means_its_training_rows(sgdone, calls, tmp_path):
    sgdone("fit", "diabetes", "--model", tmp_path / "m", "--quiet")
    report = sgdone("summary", tmp_path / "m", "diabetes", "--json").report
    assert report["subset"] == "train"
    assert calls.made[0]["y"].dtype == np.float64
    message = sgdone("summary", tmp_path / "m", "breast-cancer", code=1).stderr
    assert "has 30 features, expected 10" in message
    assert "it has no classes" in sgdone("summary", tmp_path / "m", "diabetes", "--reference", "1", code=2).stderr


def test_plot(sgdone, model, train, calls, tmp_path):
    result = sgdone("summary", model, train, "--plot", tmp_path / "f.png")
    assert (tmp_path / "f.png").read_bytes().startswith(b"\x89PNG")
    assert result.stdout.rstrip().endswith("f.png")
    calls.result = summary_of(["a"], [1], [1], refused={0: COLLINEAR})
    result = sgdone("summary", model, train, "--plot", tmp_path / "g.png")
    assert "warning: no plot was drawn: nothing to plot, because all are refused" in result.stderr
    assert "all coefficients: It is a multiple" in result.stdout
    assert not (tmp_path / "g.png").exists()


def test_coefficients_left_out_are_found_in_the_json(sgdone, model, train, calls):
    calls.result = summary_of([f"x{k}" for k in range(70)], np.ones(70), np.ones(70))
    text = " ".join(sgdone("summary", model, train).stdout.split())
    assert "30 others are left out: --json has all of them." in text


BAD_USAGE = {
    "a level": (["--level", "95"], "'--level': 95 is not between 0 and 1"),
    "a covariance": (["--cov", "HC3"], "'HC3' is not one of 'classical', 'robust', 'cluster'"),
    "no groups": (["--cov", "cluster"], "'--cov': cluster needs the groups: name their column with --groups"),
    "groups of no cluster": (["--groups", "site"], "'--groups': groups are used with --cov cluster only"),
    "groups by the label": (["--cov", "cluster", "--groups", "passed"], "'--groups': 'passed' is the label"),
    "a column": (["--columns", "a,passes"], "'--columns': the model has no feature 'passes'"),
    "no column": (["--columns", " , "], "'--columns': name at least one feature"),
    "a class": (["--reference", "maybe"], "'--reference': the model has no class 'maybe': its classes are 'no', 'yes'"),
    "a picture": (["--plot", "f.docx"], "'--plot': f.docx has no file extension of an image"),
    "a picture over the data": (["--plot", "{train}"], "'--plot': {train} is read by this command"),
}


@pytest.mark.parametrize("case", BAD_USAGE)
def test_bad_usage(case, sgdone, model, train, calls):
    arguments, message = BAD_USAGE[case]
    result = sgdone("summary", model, train, *(text.format(train=train) for text in arguments), code=2)
    assert message.format(train=train) in result.stderr
    assert not calls.made
    assert result.stdout == ""


def test_groups_need_a_file_with_columns(sgdone, model, calls, rng, tmp_path):
    path = write_svmlight(tmp_path / "t.svm", rng.standard_normal((60, 2)), [1, -1] * 30, zero_based=False)
    sgdone("fit", path, "--model", tmp_path / "m", "--quiet")
    for data in (path, "breast-cancer"):
        result = sgdone("summary", tmp_path / "m", data, "--cov", "cluster", "--groups", "site", code=2)
        assert "has no column with groups: use a CSV or Parquet file" in " ".join(result.stderr.split())


def test_the_data_must_have_labels(sgdone, model, columns, calls, tmp_path):
    del columns["passed"]
    path = write_csv(tmp_path / "t.csv", columns)
    assert "no column is named 'passed'" in sgdone("summary", model, path, code=1).stderr


def test_a_plot_that_fails_leaves_the_old_one(sgdone, model, train, calls, tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    def full(figure, path, **options):
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Figure, "savefig", full)
    (tmp_path / "f.png").write_bytes(b"old")
    assert "No space left" in sgdone("summary", model, train, "--plot", tmp_path / "f.png", code=1).stderr
    assert (tmp_path / "f.png").read_bytes() == b"old"
    assert not list(tmp_path.glob(".f.*"))
