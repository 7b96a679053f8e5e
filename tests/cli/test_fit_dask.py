"""`sgdone fit --dask`: on Dask's threads here, and once on a cluster of processes."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import nullcontext

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest

from cli.files import send_at_report, send_before, write_csv, write_svmlight

pytest.importorskip("distributed", reason="Dask is not installed")

import dask

from sgdone import load
from sgdone.cli import fit as cli_fit
from sgdone.cli.console import ProgressLine
from sgdone.interfaces.stop_rule import Progress
from table_files import content

LOCAL = ("--dask", "local")


@pytest.fixture
def threads(monkeypatch):
    """Dask's threads instead of worker processes."""
    monkeypatch.setattr("sgdone.dask.engine.connected", lambda address: nullcontext())


pytestmark = pytest.mark.usefixtures("threads")


def columns(rng, n_rows):
    a, b = rng.standard_normal((2, n_rows)).round(3)
    job = rng.choice(list("xyz"), n_rows)
    y = np.where(a - b + (job == "x") + rng.logistic(size=n_rows) > 0, "yes", "no")
    return {"a": a, "b": b, "job": job, "id": np.arange(n_rows), "w": rng.integers(1, 4, n_rows), "y": y}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three CSV files of 1,000 rows each."""
    rng, folder = np.random.default_rng(5), tmp_path_factory.mktemp("days")
    for day in range(3):
        write_csv(folder / f"day-{day}.csv", columns(rng, 1000))
    return folder


@pytest.fixture(scope="module")
def parquet(folder, tmp_path_factory):
    """The same rows in two Parquet files of two row groups each."""
    made = tmp_path_factory.mktemp("parquet")
    tables = [arrow_csv.read_csv(folder / f"day-{day}.csv") for day in range(3)]
    whole = pa.concat_tables(tables)
    pq.write_table(whole.slice(0, 1400), made / "1.parquet", row_group_size=700)
    pq.write_table(whole.slice(1400), made / "2.parquet", row_group_size=800)
    return made


def coefficients(path):
    model = load(path)
    names = model.coefficients()["name"].tolist()
    return dict(zip(names, model.coefficients()["value"].tolist(), strict=True))


def test_the_model_is_that_of_one_machine(sgdone, folder, parquet, tmp_path):
    options = ("--drop", "id", "--weight", "w", "--no-holdout", "--json", "--alpha", 0.01)
    whole = sgdone("fit", folder, *options, "--model", tmp_path / "1").report
    found = {}
    for name, data in (("csv", folder), ("parquet", parquet)):
        report = sgdone("fit", data, *options, *LOCAL, "--model", tmp_path / name).report
        found[name] = report["cluster"]["partitions"]
        for key in ("rows", "features", "classes", "label", "dropped", "task", "fitted_rows"):
            assert report[key] == whole[key]
        assert [column["kind"] for column in report["columns"]] == ["number", "number", "category"]
        expected, got = coefficients(tmp_path / "1"), coefficients(tmp_path / name)
        assert got.keys() == expected.keys()
        np.testing.assert_allclose([got[key] for key in expected], list(expected.values()), atol=1e-3)
        mine, theirs = (
            sgdone("predict", tmp_path / model, folder, "--json", "--out", tmp_path / "p.csv").report["scores"]
            for model in (name, "1")
        )
        assert mine["loss"] == pytest.approx(theirs["loss"], abs=1e-5)
    assert found == {"csv": 3, "parquet": 4}


def test_scores_are_those_of_held_out_rows(sgdone, folder, parquet):
    result = sgdone("fit", folder, "--drop", "id", *LOCAL)
    assert "of 3,000 rows for the scores; the model is not fitted again with them" in result.stdout.splitlines()[0]
    assert "rounds    " in result.stdout
    assert " over 3 partitions; " in result.stdout
    assert "MB sent, " in result.stdout
    assert "AUC" in result.stdout
    report = sgdone("fit", folder, "--drop", "id", *LOCAL, "--json").report
    held_out = report["held_out"]
    assert 200 < held_out["rows"] < 400
    assert report["fitted_rows"] == 3000 - held_out["rows"]
    assert held_out["loss"] < held_out["base"]["loss"]
    assert 0.7 < held_out["auc"] < 1
    # The rows are drawn by their values, wherever they are.
    other = sgdone("fit", parquet, "--drop", "id", *LOCAL, "--json").report
    assert other["held_out"]["rows"] == held_out["rows"]
    assert other["held_out"]["loss"] == pytest.approx(held_out["loss"], abs=1e-4)
    assert sgdone("fit", folder, "--drop", "id", *LOCAL, "--seed", 1, "--json").report["held_out"] != held_out


def test_test_rows(sgdone, folder):
    days = [folder / f"day-{day}.csv" for day in range(3)]
    options = ("--drop", "id,w", "--alpha", 0.01, "--json", "--test", days[2])
    whole = sgdone("fit", *days[:2], *options).report
    report = sgdone("fit", *days[:2], *options, *LOCAL).report
    assert report["held_out"] is None
    assert report["test"]["rows"] == 1000
    for key in ("loss", "error", "auc"):
        assert report["test"][key] == pytest.approx(whole["test"][key], abs=2e-3)
    assert report["test"]["base"]["error"] == pytest.approx(whole["test"]["base"]["error"])


def test_regression_and_its_r2(sgdone, rng, tmp_path):
    paths = []
    for k in range(2):
        a = rng.standard_normal(500)
        price = (3 * a + rng.standard_normal(500)).round(3)
        paths.append(write_csv(tmp_path / f"{k}.csv", {"a": a, "price": price}))
    result = sgdone("fit", *paths, "--label", "price", *LOCAL, code=2)
    assert "different numbers: say whether they are quantities or classes" in result.stderr
    assert "--dask local --task regression" in result.stderr
    report = sgdone("fit", *paths, "--label", "price", "--task", "regression", *LOCAL, "--json").report
    assert report["held_out"]["r2"] == pytest.approx(0.9, abs=0.05)
    report = sgdone("fit", *paths, "--label", "price > 0", *LOCAL, "--json").report
    assert (report["task"], report["classes"], report["label"]) == ("classification", [False, True], "price > 0")


def test_classes_and_their_weights(sgdone, folder, tmp_path):
    options = ("--drop", "id,w", "--no-holdout", "--alpha", 0.01, "--class-weight", "no=5", "--quiet")
    sgdone("fit", folder, *options, "--model", tmp_path / "1")
    sgdone("fit", folder, *options, *LOCAL, "--model", tmp_path / "2")
    expected, got = coefficients(tmp_path / "1"), coefficients(tmp_path / "2")
    np.testing.assert_allclose([got[key] for key in expected], list(expected.values()), atol=1e-3)
    assert "there is no class 'maybe'" in sgdone("fit", folder, *LOCAL, "--class-weight", "maybe=2", code=2).stderr


def test_numbers_in_one_file_and_text_in_another(sgdone, rng, tmp_path):
    """Levels are as they are written in all files, and a column may be empty in some."""
    n_rows = 300
    seen = [["1201", "0903", "5020.50"], ["1201", "5020.50", "7", "true"], ["1201", "7", "0.5e1"]]
    for k, levels in enumerate(seen):
        zips = rng.choice(levels, n_rows)
        a = [""] * n_rows if k == 1 else rng.standard_normal(n_rows).round(3)
        flag = ["?"] * n_rows if k == 0 else rng.choice(["true", "false"], n_rows)
        y = np.where((zips == "1201") | (rng.random(n_rows) < 0.3), 1, 0)
        write_csv(tmp_path / f"{k}.csv", {"zip": zips, "a": a, "flag": flag, "y": y})
    report = sgdone("fit", tmp_path, *LOCAL, "--json", "--model", tmp_path / "m").report
    assert {column["name"]: column["kind"] for column in report["columns"]} == {
        "zip": "category",
        "a": "number",
        "flag": "boolean",
    }
    names = set(load(tmp_path / "m").encoder_.get_feature_names_out())
    others = {"a", "a missing", "flag=True", "flag missing"}
    assert names == others | {f"zip={zip}" for levels in seen for zip in levels}
    assert report["classes"] == [0, 1]
    stated = sgdone("fit", tmp_path, *LOCAL, "--types", "zip=category,flag=drop", "--json").report
    assert [column["kind"] for column in stated["columns"]] == ["category", "number", "left out"]


@pytest.mark.parametrize("bits", [None, 3])
def test_svmlight_files_of_different_width(sgdone, rng, tmp_path, bits):
    X = rng.standard_normal((900, 5)).round(2)
    y = np.where(X[:, 0] > 0, 1, -1)
    for k, width in enumerate((3, 5, 2)):
        rows = slice(300 * k, 300 * k + 300)
        write_svmlight(tmp_path / f"{k}.svm", X[rows, :width], y[rows], zero_based=False)
    options = ("--no-holdout", "--alpha", 0.01, "--json") + (() if bits is None else ("--bits", bits))
    whole = sgdone("fit", tmp_path, *options, "--model", tmp_path / "m1").report
    report = sgdone("fit", tmp_path, *options, *LOCAL, "--model", tmp_path / "m2").report
    assert (report["features"], report["classes"]) == (5 if bits is None else 8, [-1, 1])
    assert (report["features"], report["rows"]) == (whole["features"], whole["rows"])
    np.testing.assert_allclose(load(tmp_path / "m2").coef_, load(tmp_path / "m1").coef_, atol=1e-3)


def test_vowpal_wabbit_files_need_bits(sgdone, rng, tmp_path):
    for k in range(2):
        lines = [f"{1 if x > 0 else -1} |f a:{x:.3f} {'bc'[k]}\n" for x in rng.standard_normal(200)]
        (tmp_path / f"{k}.vw").write_text("".join([*lines, "|f a:1\n"]))
    message = sgdone("fit", tmp_path, *LOCAL, code=2).stderr
    assert "Invalid value for '--bits': with --dask the names of Vowpal Wabbit files must be hashed" in message
    report = sgdone("fit", tmp_path, *LOCAL, "--bits", 6, "--json").report
    assert (report["features"], report["rows"], report["rows_without_label"]) == (64, 400, 2)


def test_json_lines_and_arrow_files(sgdone, rng, tmp_path):
    a = rng.standard_normal(400).round(3)
    y = np.where(a > 0, "yes", "no").tolist()
    lines = [f'{{"a": {x}, "y": "{label}"' for x, label in zip(a, y, strict=True)]
    (tmp_path / "1.jsonl").write_text("".join(f"{line}}}\n" for line in lines[:200]))
    (tmp_path / "2.jsonl").write_text("".join(f'{line}, "b": {k % 2}}}\n' for k, line in enumerate(lines[200:])))
    report = sgdone("fit", tmp_path / "*.jsonl", *LOCAL, "--json", "--no-holdout", "--model", tmp_path / "m").report
    assert report["rows"] == 400
    assert set(coefficients(tmp_path / "m")) == {"(intercept)", "a", "b", "b missing"}
    table = pa.table({"a": a, "y": y})
    (tmp_path / "t.arrow").write_bytes(content(table, "arrow", 150))
    report = sgdone("fit", tmp_path / "t.arrow", *LOCAL, "--json").report
    assert (report["rows"], report["cluster"]["partitions"]) == (400, 3)


def test_rows_without_labels_and_empty_files(sgdone, folder, tmp_path):
    rows = (folder / "day-0.csv").read_text().splitlines()
    (tmp_path / "0.csv").write_text("\n".join(rows) + "\n1,1,x,1,1,\n2,1,x,1,1,\n")
    (tmp_path / "1.csv").write_text(rows[0] + "\n")
    (tmp_path / "2.csv").write_text("\n".join(rows[:300]) + "\n")
    report = sgdone("fit", tmp_path, *LOCAL, "--json").report
    assert (report["rows"], report["rows_without_label"], report["cluster"]["partitions"]) == (1299, 2, 3)


def break_row_group(path):
    about = pq.read_metadata(path).row_group(1).column(0)
    data = bytearray(path.read_bytes())
    first = about.dictionary_page_offset or about.data_page_offset
    data[first + 4 : first + 40] = bytes(36)
    path.write_bytes(data)


def test_bad_input(sgdone, folder, parquet, tmp_path):
    days = [folder / f"day-{day}.csv" for day in range(2)]
    assert "nowhere.csv: no such file" in sgdone("fit", *days, folder / "nowhere.csv", *LOCAL, code=1).stderr
    assert "nowhere.csv" in sgdone("fit", *days, *LOCAL, "--test", folder / "nowhere.csv", code=1).stderr

    other = write_csv(tmp_path / "other.csv", {"a": [1.0], "y": ["no"]})
    message = sgdone("fit", *days, other, *LOCAL, code=1).stderr
    assert f"{other}: has no column 'b', 'job', 'id', 'w'" in message

    broken = tmp_path / "broken.parquet"
    broken.write_bytes((parquet / "1.parquet").read_bytes())
    break_row_group(broken)
    message = sgdone("fit", parquet / "2.parquet", broken, *LOCAL, code=1).stderr
    assert f"error: partition 3: {broken}, row group 2 of 2: cannot be read as Parquet" in message

    bad = tmp_path / "bad.csv"
    bad.write_text((folder / "day-1.csv").read_text() + "1,2\n")
    message = sgdone("fit", days[0], bad, *LOCAL, code=1).stderr
    assert f"error: partition 1: {bad}, line 1,002: found 2 fields" in message

    empty = tmp_path / "empty.csv"
    empty.write_text((folder / "day-0.csv").read_text().splitlines()[0] + "\n")
    assert "no partition has a row with a label" in sgdone("fit", empty, *LOCAL, code=1).stderr

    numbers = tmp_path / "numbers.csv"
    numbers.write_text((folder / "day-1.csv").read_text().replace("yes", "1").replace("no", "0"))
    message = sgdone("fit", days[0], numbers, *LOCAL, code=1).stderr
    assert f"partition 1 ({numbers}) has labels that are numbers, those of partition 0 ({days[0]}) are text" in message


USAGE = {
    "solver": (["--solver", "sgd"], "Invalid value for '--solver': a fit with --dask has its own solver"),
    "memory": (["--max-memory", "2GB"], "Invalid value for '--max-memory': it has no effect with --dask"),
    "cache": (["--cache", "."], "Invalid value for '--cache': it has no effect with --dask"),
    "tol": (["--tol", "1"], "Invalid value for '--tol': it has no effect with --dask"),
    "stop": (["--stop", "progressive"], "Invalid value for '--stop': a fit with --dask ends at the optimum"),
    "loss": (["--loss", "hinge"], "Invalid value for '--loss': a fit with --dask needs a smooth convex loss"),
    "bits": (["--bits", "18"], "Invalid value for '--bits': it hashes features of svmlight"),
    "types": (["--types", "jab=category"], "has no feature column 'jab'. Did you mean 'job'?"),
    "address": (["--dask", "nowhere"], "Invalid value for '--dask': 'nowhere' is neither local nor the address"),
}


@pytest.mark.parametrize("case", USAGE)
def test_usage(case, sgdone, folder):
    options, message = USAGE[case]
    assert message in sgdone("fit", folder, *LOCAL, *options, code=2).stderr


def test_data_that_workers_cannot_read(sgdone, monkeypatch):
    assert "breast-cancer is a data set" in sgdone("fit", "breast-cancer", *LOCAL, code=2).stderr
    assert "workers cannot read standard input" in sgdone("fit", "-", *LOCAL, code=2, stdin=b"a,y\n").stderr
    monkeypatch.setitem(sys.modules, "dask", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    message = sgdone("fit", "t.csv", *LOCAL, code=2).stderr
    assert "Invalid value for '--dask': Dask is not installed: pip install \"sgdone[dask]\"" in message


def test_rounds_as_budget(sgdone, folder):
    report = sgdone("fit", folder, *LOCAL, "--passes", 4, "--json").report
    assert report["verdict"]["status"] == "budget spent"
    assert report["verdict"]["passes"] < 8


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_fit_keeps_the_model_and_can_be_resumed(sgdone, folder, tmp_path, monkeypatch, number):
    options = ("fit", folder, *LOCAL, "--drop", "id", "--model", tmp_path / "m")
    sgdone(*options, "--quiet")
    expected = load(tmp_path / "m").coef_
    send_at_report(monkeypatch, 7, number)
    resumable = (*options, "--checkpoint", tmp_path / "c")
    result = sgdone(*resumable, code=130)
    assert "Interrupted after" in result.stdout
    assert result.stdout.endswith("To go on where it ended, give the same command with --resume.\n")
    assert load(tmp_path / "m").verdict_.status == "interrupted"
    result = sgdone(*resumable, "--resume")
    assert result.stdout.startswith(f"resumed from {tmp_path / 'c'}\n")
    np.testing.assert_array_equal(load(tmp_path / "m").coef_, expected)
    assert "belongs to another fit" in sgdone(*resumable, "--resume", "--seed", 3, code=1).stderr


def test_a_signal_after_training_leaves_the_model(sgdone, folder, tmp_path, monkeypatch):
    send_before(monkeypatch, cli_fit, "score")
    result = sgdone("fit", folder, *LOCAL, "--drop", "id", "--model", tmp_path / "m", code=130)
    assert result.stdout.endswith("It was interrupted after training: the model is complete.\n")
    assert load(tmp_path / "m").verdict_.status == "converged"


def test_test_rows_are_read_before_training(sgdone, folder, tmp_path):
    other = write_csv(tmp_path / "other.csv", columns(np.random.default_rng(0), 60) | {"y": ["maybe"] * 60})
    options = ("--drop", "id,w", "--test", other, "--model", tmp_path / "m")
    for more in ((), LOCAL):
        message = sgdone("fit", folder, *options, *more, code=1).stderr
        assert "no label is one of the training rows' ('no', 'yes'); it has 'maybe'" in message
        assert not (tmp_path / "m").exists()


def test_progress_of_rounds():
    line = ProgressLine(shown=False)
    line.now("training", counts="round")
    line.hook(0)(Progress(1, 0, None, 4, True, 0.25, 1.0))
    line.hook(0)(Progress(1, 0, None, 5, True, float("nan"), 1.0))
    assert line.text() == "training · round 5 · loss 0.25 · 0 s"


def test_an_unknown_scheduler(sgdone, folder, monkeypatch):
    monkeypatch.undo()
    with dask.config.set({"distributed.comm.timeouts.connect": "1s"}):
        message = sgdone("fit", folder, "--dask", "tcp://127.0.0.1:9", code=1).stderr
    assert message.startswith("error: tcp://127.0.0.1:9: no Dask scheduler answers within 1s (")
    assert "start a scheduler with `dask scheduler`" in message


@pytest.mark.slow
def test_worker_processes(parquet):
    """The command as users call it, whole, and interrupted by Ctrl-C in its terminal."""
    command = [sys.executable, "-m", "sgdone.cli", "fit", str(parquet), "--drop", "id", "--dask", "local"]
    whole = subprocess.run(command, capture_output=True, text=True, check=False)
    assert whole.returncode == 0, whole.stderr
    assert " over 4 partitions; " in whole.stdout
    assert whole.stderr == ""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    time.sleep(2.0)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors


@pytest.mark.slow
def test_a_cluster_without_workers_and_one_with_workers(sgdone, folder, monkeypatch):
    from distributed import LocalCluster

    monkeypatch.undo()
    with LocalCluster(n_workers=0, processes=False, dashboard_address=None, protocol="tcp") as cluster:
        address = cluster.scheduler_address
        with dask.config.set({"distributed.comm.timeouts.connect": "2s"}):
            message = sgdone("fit", folder, "--dask", address, code=1).stderr
        assert "has had no running workers for 2 seconds" in message
        late = threading.Timer(3.0, cluster.scale, args=(1,))
        late.start()
        report = sgdone("fit", folder, "--drop", "id", "--dask", address, "--json").report
        late.join()
    assert (report["rows"], report["cluster"]["dask"]) == (3000, address)
