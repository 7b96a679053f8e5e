"""Tables as they come: categories, missing values, dates and text, and the options that say what columns are."""

import warnings

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from cli.files import write_csv
from sgdone import load
from sgdone.fit.loaded_rows import LoadedRows
from sgdone.model_file import read_header

N = 300


@pytest.fixture
def people(rng):
    """Columns of every kind; `hours` is a number but for ``?``."""
    hours = rng.integers(10, 60, N)
    job = rng.choice(["Sales", "Tech", "?"], N)
    rich = hours / 20 + (job == "Tech") * 2 + rng.standard_normal(N) > 3
    return {
        "id": [f"p{k}" for k in range(N)],
        "hours": np.where(rng.random(N) < 0.1, "?", hours.astype(str)),
        "job": job,
        "zip": rng.choice(["02134", "94110"], N),
        "since": [f"2024-0{k % 9 + 1}-15" for k in range(N)],
        "one": np.ones(N, dtype=int),
        "w": rng.integers(1, 4, N),
        "income": np.where(rich, ">50K", "<=50K"),
    }


@pytest.fixture
def file(people, tmp_path):
    return write_csv(tmp_path / "people.csv", people)


def kinds(report):
    return {column["name"]: column["kind"] for column in report["columns"]}


def test_a_file_as_it_came(sgdone, file):
    arguments = ["fit", file, "--label", "income", "--drop", "id,w"]
    report = sgdone(*arguments, "--json").report
    assert kinds(report) == {
        "hours": "number", "job": "category", "zip": "category", "since": "date", "one": "left out"
    }  # fmt: skip
    hours = report["columns"][0]
    assert hours["missing"] > 0
    assert "missing values replaced by the mean" in hours["features"]
    assert report["dropped"] == ["id", "w"]
    assert report["held_out"]["error"] < report["held_out"]["base"]["error"]
    text = sgdone(*arguments).stdout
    for line in ("columns   5: 1 number, 2 categories, 1 date\n", "left out  one (constant)\n",
                 f"missing   hours {hours['missing']}; replaced by the mean, with an indicator\n"):  # fmt: skip
        assert line in text


def test_other_formats_give_the_same_scores(sgdone, file, tmp_path):
    import gzip

    import pandas as pd

    frame = pd.read_csv(file, dtype={"zip": str}, na_values={"hours": "?"}, parse_dates=["since"])
    frame.to_parquet(tmp_path / "people.parquet")
    (tmp_path / "people.tsv").write_text(file.read_text().replace(",", "\t"))
    (tmp_path / "people.csv.gz").write_bytes(gzip.compress(file.read_bytes()))
    names = ["people.csv", "people.tsv", "people.csv.gz", "people.parquet"]
    arguments = ["--label", "income", "--drop", "id", "--json"]
    reports = [sgdone("fit", tmp_path / name, *arguments).report for name in names]
    for report in reports[1:]:
        assert report["held_out"] == reports[0]["held_out"]
        assert report["features"] == reports[0]["features"]


def test_types(sgdone, file, people, tmp_path):
    path = write_csv(tmp_path / "t.csv", {'"hours, a week"': people["w"], **people})
    report = sgdone(
        "fit", path, "--label", "income", "--types", "hours, a week=category,id=text", "--types", "zip=number", "--json"
    ).report
    found = kinds(report)
    assert (found["hours, a week"], found["id"], found["zip"]) == ("category", "text", "number")


def test_codes_stay_codes_in_files_that_have_only_numbers(sgdone, people, rng, tmp_path):
    people |= {"code": rng.choice(["A1", "17", "18"], N)}
    train, rows = write_csv(tmp_path / "train.csv", people), people["code"] != "A1"
    few = {name: np.array(values)[rows] for name, values in people.items()}
    test = write_csv(tmp_path / "test.csv", few)
    arguments = ["--label", "income", "--drop", "id", "--model", tmp_path / "m", "--json"]
    report = sgdone("fit", train, "--test", test, *arguments).report
    assert report["test"]["rows"] == rows.sum()
    assert sgdone("predict", tmp_path / "m", test, "--json").report["scores"]["loss"] == report["test"]["loss"]


def test_the_command_fits_as_the_library(sgdone, file, people, monkeypatch):
    """Weights of rows and classes, and kinds of columns."""
    made = []
    to_fit = LoadedRows.for_fit

    def recorded(X, y, weights, options, **others):
        made.append((options.parameters, X.column_names, weights))
        return to_fit(X, y, weights, options, **others)

    monkeypatch.setattr(LoadedRows, "for_fit", recorded)
    sgdone("fit", file, "--label", "income", "--drop", "id", "--weight", "w", "--types", "zip=category",
           "--class-weight", "<=50K=2,>50K=1", "--no-holdout", "--quiet")  # fmt: skip
    ((parameters, names, weights),) = made
    assert names == ["hours", "job", "zip", "since", "one"]
    np.testing.assert_array_equal(weights, people["w"])
    assert parameters["columns"] == {"zip": "category"}
    assert parameters["class_weight"] == {"<=50K": 2, ">50K": 1}
    sgdone("fit", file, "--label", "income", "--class-weight", "balanced", "--quiet")
    assert made[-1][0]["class_weight"] == "balanced"


def test_weights_count_in_the_scores(sgdone, rng, tmp_path):
    a, weights = rng.standard_normal(80), rng.integers(0, 4, 80)
    columns = {"a": a, "b": rng.standard_normal(80), "y": (a + rng.standard_normal(80) > 0).astype(int)}
    once = write_csv(tmp_path / "once.csv", columns | {"w": weights})
    often = write_csv(tmp_path / "often.csv", {name: np.repeat(values, weights) for name, values in columns.items()})
    first = sgdone("fit", once, "--weight", "w", "--no-holdout", "--json").report["train"]
    second = sgdone("fit", often, "--no-holdout", "--json").report["train"]
    for name in ("loss", "error", "auc"):
        assert first[name] == pytest.approx(second[name], rel=1e-3)
    assert first["base"]["loss"] == pytest.approx(second["base"]["loss"])


def test_without_a_header(sgdone, people, tmp_path):
    path = write_csv(tmp_path / "t.data", people)
    path.write_text("\n".join(path.read_text().splitlines()[1:]).replace(",", "|"))
    arguments = ["--no-header", "--separator", "|", "--label", 8, "--drop", "1,7", "--types", "4=category"]
    report = sgdone("fit", path, *arguments, "--json").report
    assert report["label"] == "x8"
    assert report["dropped"] == ["x1", "x7"]
    assert list(kinds(report)) == ["x2", "x3", "x4", "x5", "x6"]


def test_other_files_have_no_header_either(sgdone, people, tmp_path):
    path = write_csv(tmp_path / "t.csv", people)
    path.write_text("\n".join(path.read_text().splitlines()[1:]))
    model = tmp_path / "m"
    sgdone("fit", path, "--no-header", "--label", "x8", "--drop", "1", "--weight", "7", "--model", model, "--quiet")
    lines = sgdone("predict", model, path, "--id", "1").stdout.splitlines()
    assert lines[0].startswith("x1,prediction,")
    assert (len(lines), lines[1][:3]) == (N + 1, "p0,")
    (tmp_path / "few.csv").write_text("p0,50,Tech\n")
    message = sgdone("predict", model, tmp_path / "few.csv", code=1).stderr
    assert "2 features not found ('x4', 'x5'): the columns are 'x1', 'x2', 'x3', by their order" in message


def test_numbers_with_more_than_twenty_values_ask_for_the_task(sgdone, people, tmp_path):
    path = write_csv(tmp_path / "my people.csv", people | {"income": np.arange(N) % 30})
    message = sgdone("fit", path, "--label", "income", code=2).stderr
    assert "'--task': income has 30 different numbers" in message
    for task in ("regression", "classification"):
        assert f"\n  sgdone fit '{path}' --label income --task {task}\n" in message
    path = write_csv(tmp_path / "t.csv", people | {"income": np.arange(N) / 7})
    assert "--task classification" not in sgdone("fit", path, "--label", "income", code=2).stderr


BAD_USAGE = {
    "an unknown column's type": (["--types", "jop=category"], "has no feature column 'jop'. Did you mean 'job'?"),
    "the label's type": (["--types", "income=category"], "has no feature column 'income'"),
    "a type": (["--types", "job=categry"], "unknown kind 'categry' of column 'job'. Did you mean 'category'?"),
    "no type": (["--types", "job"], "'--types': 'job' is not a list like zip=category"),
    "types of a named solver": (["--types", "job=category", "--solver", "asgd"], "by the automatic solver only"),
    "a separator": (["--separator", "||"], "'||' is neither one character nor tab, comma, semicolon, space"),
    "a class": (["--class-weight", "<=50k=2"], "there is no class '<=50k'. Did you mean '<=50K'? Classes: '<=50K'"),
    "a weight of a class": (["--class-weight", ">50K=much"], "the weight 'much' of class '>50K' is not a number"),
    "weights of classes": (["--class-weight", "fair"], "'fair' is not a list like no=1,yes=5, and is not balanced"),
}
BAD_DATA = {
    "a column to drop": (["--drop", "jobs"], "no column is named 'jobs' (did you mean 'job'?)"),
    "a column of weights": (["--weight", "ww"], "no column is named 'ww' (did you mean 'w'?)"),
    "weights that are text": (["--weight", "job"], "column 'job': weights must be numbers"),
    "the label dropped": (["--drop", "income"], "the label 'income' is also listed in --drop: remove it there"),
    "a named solver": (["--solver", "asgd", "--drop", "id"],
                       "column 'hours' of X has no value in the row, and a named solver takes numbers only: remove"),
    "a column that is no number": (["--types", "job=number"], "people.csv, line 2: column 'job' is a column of"),
    "what to do about it": (["--types", "job=number"], "Correct the cell, or fit with --types 'job=category'"),
}  # fmt: skip


@pytest.mark.parametrize(("cases", "code"), [(BAD_USAGE, 2), (BAD_DATA, 1)])
def test_what_is_wrong_is_said(cases, code, sgdone, file):
    for arguments, message in cases.values():
        result = sgdone("fit", file, "--label", "income", *arguments, code=code)
        assert message in " ".join(result.stderr.split())
        assert result.stdout == ""


def test_diagnose_encodes_a_table(sgdone, file, rng, tmp_path):
    result = sgdone("diagnose", file, "--label", "income", "--drop", "id")
    assert "6 columns encoded as" in result.stdout.splitlines()[0]
    assert "the most frequent level of each category" in result.stdout
    report = sgdone("diagnose", file, "--label", "income", "--drop", "id,since", "--json").report
    assert report["encoding"].startswith("5 columns encoded as")
    assert {column["name"]: column["kind"] for column in report["columns"]}["one"] == "left out"
    assert "\nleft out" in result.stdout
    assert result.stdout.count("\nmissing") == 1  # of the columns: the features have none
    assert report["rank"]["value"] == report["features"] + 1


def test_a_model_is_saved_and_reads_other_files_alike(sgdone, file, people, tmp_path):
    model = tmp_path / "m"
    sgdone("fit", file, "--label", "income", "--drop", "id", "--weight", "w", "--model", model, "--quiet")
    notes = read_header(model)["extra"]
    assert (notes["label"], notes["weight"], notes["dropped"]) == ("income", "w", '["id"]')
    assert load(model).encoder_.feature_names_in_.tolist() == ["hours", "job", "zip", "since", "one"]
    bare = {name: people[name] for name in ("since", "zip", "job", "hours", "id")}  # neither label, weight nor `one`
    whole = sgdone("predict", model, file).stdout
    assert sgdone("predict", model, write_csv(tmp_path / "bare.csv", bare)).stdout == whole
    parquet.write_table(pa.table({"city": [1]}), tmp_path / "other.parquet")
    assert "4 features not found" in sgdone("predict", model, tmp_path / "other.parquet", code=1).stderr


def test_predict_copies_columns_and_says_what_is_new(sgdone, file, people, tmp_path):
    model = tmp_path / "m"
    sgdone("fit", file, "--label", "income", "--drop", "id", "--model", model, "--quiet")
    new = {name: values[:3] for name, values in people.items() if name != "income"}
    new |= {"id": ["NA", "007", '"a,b"'], "job": ["Clown", "", "Tech"], "zip": ["1", "2", "3"], "w": ["", 1, 2]}
    path = write_csv(tmp_path / "new.csv", new)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        result = sgdone("predict", model, path, "--id", "id", "--id", "w")
        report = sgdone("predict", model, path, "--id", "id", "--json").report
    lines = result.stdout.splitlines()
    assert lines[0] == "id,w,prediction,probability_<=50K,probability_>50K"
    assert [line.rpartition("K,")[0].rsplit(",", 1)[0] for line in lines[1:]] == ["NA,", "007,1", '"a,b",2']
    assert "warning: missing values in columns that had none in fit: 'w'" in result.stderr
    assert result.stderr.count("warning") == 1
    assert report["ids"] == {"id": ["NA", "007", "a,b"]}
    message = sgdone("predict", model, path, "--id", "idd", code=1).stderr
    assert "no column is named 'idd' (did you mean 'id'?)" in message


def test_a_column_of_another_type_is_an_error(sgdone, file, people, tmp_path):
    model = tmp_path / "m"
    sgdone("fit", file, "--label", "income", "--drop", "id", "--model", model, "--quiet")
    table = pa.table({name: list(values) for name, values in people.items()} | {"job": [1.5] * N})
    parquet.write_table(table, tmp_path / "t.parquet")
    message = sgdone("predict", model, tmp_path / "t.parquet", code=1).stderr
    assert "t.parquet: column 'job' was a category (string) when the encoder was fitted" in message


def test_a_condition_as_label_and_rows_without_one(sgdone, tmp_path):
    rng = np.random.default_rng(0)
    hour = rng.integers(0, 24, 200)
    delay = [f"{h + rng.normal():.2f}" if k % 20 else "" for k, h in enumerate(hour)]
    file = tmp_path / "flights.csv"
    file.write_text("hour,delay\n" + "\n".join(f"{h},{d}" for h, d in zip(hour, delay, strict=True)) + "\n")
    model = tmp_path / "late"
    result = sgdone("fit", file, "--label", "delay > 12", "--model", model)
    assert "190 (17 held out); 10 others without a label are left out" in result.stdout
    assert "classes   False, True" in result.stdout
    lines = sgdone("predict", model, file).stdout.splitlines()
    assert len(lines) == 201
    assert lines[0] == "prediction,probability_False,probability_True"
    late = [line.startswith("True") for line in lines[1:]]
    assert np.mean(late == (hour > 12)) > 0.9
    assert "delay > 12" in sgdone("inspect", model).stdout
    file.write_text("hour\n3\n20\n")
    assert [line.split(",")[0] for line in sgdone("predict", model, file).stdout.splitlines()[1:]] == ["False", "True"]


def test_a_cell_that_is_no_number(sgdone, tmp_path, rng):
    ages = rng.integers(18, 80, 2000)
    cells = {"age": [*map(str, ages[:1500]), "abc", *map(str, ages[1501:])], "label": (ages > 50).astype(int)}
    file = write_csv(tmp_path / "t.csv", cells)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        found = sgdone("fit", file, "--json")
    assert kinds(found.report) == {"age": "number"}
    assert "'abc' in line 1,502 of" in found.stderr
    assert "--types 'age=category'" in found.stderr
    assert kinds(sgdone("fit", file, "--types", "age=category", "--json").report) == {"age": "category"}
