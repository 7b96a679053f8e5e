"""`sgdone fit` on rows that do not fit into --max-memory."""

import numpy as np
import pytest

import sgdone as package
from cli.files import send_at_report, send_before, write_csv, write_svmlight
from sgdone import load
from sgdone.cli import fit as cli_fit
from sgdone.cli.console import ProgressLine, reading_text
from sgdone.cli.held_out import HeldOutInput
from sgdone.interfaces.stop_rule import Progress
from sgdone.newton.exact_phase import ExactFromDisk
from sgdone.readers import numeric_lines, text_blocks
from sgdone.state_file.checkpoint import read_checkpoint
from tiers import fast_first

SMALL = ("--max-memory", "1MB")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three files of 4,000 rows each: more than a quarter of a megabyte in all."""
    rng, folder = np.random.default_rng(5), tmp_path_factory.mktemp("days")
    for day in range(3):
        a, b, c = rng.standard_normal((3, 4000)).round(3)
        y = np.where(a - b + rng.logistic(size=4000) > 0, "yes", "no")
        write_csv(folder / f"day-{day}.csv", {"a": a, "b": b, "c": c, "job": rng.choice(list("xyz"), 4000), "y": y})
    return folder


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


pytestmark = pytest.mark.usefixtures("cache")


def coefficients(path):
    model = load(path)
    return np.append(model.coef_, model.intercept_)


def test_files_patterns_and_folders_are_the_same(sgdone, folder, tmp_path):
    days = [folder / f"day-{day}.csv" for day in range(3)]
    found = []
    for data in (days, [folder / "day-*.csv"], [folder]):
        result = sgdone("fit", *data, *SMALL, "--model", tmp_path / "m")
        found.append(coefficients(tmp_path / "m"))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
    announced = result.stdout.splitlines()[0]
    assert announced.endswith(" of 12,000 rows for the scores; the model is not fitted again with them")
    assert "columns   4: 3 numbers, 1 category" in result.stdout
    assert "training rows" not in result.stdout


@pytest.mark.slow
def test_scores_are_those_of_the_held_out_rows(sgdone, folder):
    report = sgdone("fit", folder, *SMALL, "--json").report
    assert report["streamed"]
    assert (report["rows"], report["train"], report["test"]) == (12_000, None, None)
    held_out = report["held_out"]
    assert 1100 < held_out["rows"] < 1300
    assert report["fitted_rows"] == 12_000 - held_out["rows"]
    assert held_out["loss"] < 0.62 < held_out["base"]["loss"]
    again = sgdone("fit", folder, *SMALL, "--json").report
    assert again["held_out"] == held_out
    other = sgdone("fit", folder, *SMALL, "--seed", 1, "--json").report
    assert other["held_out"] != held_out
    none = sgdone("fit", folder, *SMALL, "--no-holdout", "--json").report
    assert (none["held_out"], none["fitted_rows"]) == (None, 12_000)


def test_test_rows_are_scored_in_parts(sgdone, folder):
    days = [folder / f"day-{day}.csv" for day in range(3)]
    tests = [option for day in days for option in ("--test", day)]
    streamed = sgdone("fit", *days, *tests, *SMALL, "--stop", 1, "--json").report
    whole = sgdone("fit", *days, *SMALL, "--no-holdout", "--stop", 1, "--json").report
    assert streamed["test"]["rows"] == 12_000
    assert streamed["held_out"] is whole["held_out"] is None
    assert streamed["test"]["error"] < 0.35


def test_files_that_fit_are_one_table(sgdone, folder, tmp_path):
    lines = [line for day in range(3) for line in (folder / f"day-{day}.csv").read_text().splitlines()[day > 0 :]]
    (tmp_path / "all.csv").write_text("\n".join(lines) + "\n")
    whole = sgdone("fit", tmp_path / "all.csv", "--json", "--model", tmp_path / "1").report
    parts = sgdone("fit", folder, "--json", "--model", tmp_path / "2").report
    assert (parts["rows"], parts["streamed"]) == (12_000, False)
    assert parts["held_out"] == whole["held_out"]
    np.testing.assert_array_equal(coefficients(tmp_path / "1"), coefficients(tmp_path / "2"))


def test_standard_input_is_read_once(sgdone, folder):
    rows = (folder / "day-0.csv").read_bytes() + (folder / "day-1.csv").read_bytes().split(b"\n", 1)[1]
    result = sgdone("fit", "-", *SMALL, "--no-holdout", stdin=rows)
    assert result.stdout.startswith("the rows can be read once only: one pass at most, unless --cache keeps them")
    assert "passes    1\n" in result.stdout
    report = sgdone("fit", "-", "--json", stdin=rows).report
    assert (report["rows"], report["streamed"], report["data"]) == (8000, False, "standard input")


def test_a_second_fit_from_the_cache_has_the_same_report(sgdone, folder, tmp_path):
    options = ("fit", folder, *SMALL, "--cache", tmp_path / "cache", "--json")
    first, second = sgdone(*options).report, sgdone(*options).report
    assert first["held_out"] is not None
    for key in ("rows", "fitted_rows", "held_out", "verdict"):
        assert second[key] == first[key]
    assert "seed was 0 and is 1 now" in sgdone(*options, "--seed", 1, code=1).stderr


def test_ctrl_c_while_cached_rows_are_counted_keeps_the_model(sgdone, folder, tmp_path, monkeypatch):
    options = ("fit", folder, *SMALL, "--cache", tmp_path / "cache", "--model", tmp_path / "m")
    sgdone(*options, "--quiet")
    expected = coefficients(tmp_path / "m")
    (tmp_path / "m").unlink()

    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(HeldOutInput, "read_all", interrupted)
    sgdone(*options, "--quiet")
    np.testing.assert_array_equal(coefficients(tmp_path / "m"), expected)


def test_standard_input_with_a_cache(sgdone, folder, tmp_path):
    rows = (folder / "day-0.csv").read_bytes() + (folder / "day-1.csv").read_bytes().split(b"\n", 1)[1]
    report = sgdone("fit", "-", *SMALL, "--cache", tmp_path, "--stop", 2, "--tol", 0, "--json", stdin=rows).report
    assert (report["passes"], report["streamed"]) == (2, True)


@pytest.mark.parametrize("calls", fast_first(1, [2, 5]))
def test_resume_gives_the_same_model(sgdone, folder, tmp_path, monkeypatch, calls):
    options = ("fit", folder, *SMALL, "--model", tmp_path / "m", "--passes", 3)
    sgdone(*options, "--quiet")
    expected = coefficients(tmp_path / "m")
    resumable = (*options, "--checkpoint", tmp_path / "c")
    send_at_report(monkeypatch, calls)
    result = sgdone(*resumable, code=130)
    assert "Interrupted after" in result.stdout
    assert result.stdout.endswith("To go on where it ended, give the same command with --resume.\n")
    assert load(tmp_path / "m").verdict_.status == "interrupted"
    result = sgdone(*resumable, "--resume")
    assert result.stdout.startswith(f"resumed from {tmp_path / 'c'}\n")
    np.testing.assert_array_equal(coefficients(tmp_path / "m"), expected)
    message = sgdone(*resumable, "--resume", "--seed", 3, code=1).stderr
    assert "belongs to another fit" in message


def test_a_signal_in_the_exact_finish(sgdone, folder, tmp_path, monkeypatch):
    options = ("fit", folder, *SMALL, "--model", tmp_path / "m")
    sgdone(*options, "--quiet")
    expected, advance = coefficients(tmp_path / "m"), ExactFromDisk.advance
    assert load(tmp_path / "m").verdict_.finish_passes > 1
    send_before(monkeypatch, ExactFromDisk, "advance")
    result = sgdone(*options, "--checkpoint", tmp_path / "c", code=130)
    assert "SIGTERM ended it; the model so far is kept, and a checkpoint to resume from" in result.stdout
    assert result.stdout.endswith("To go on where it ended, give the same command with --resume.\n")
    assert load(tmp_path / "m").verdict_.status == "interrupted"
    monkeypatch.setattr(ExactFromDisk, "advance", advance)
    sgdone(*options, "--checkpoint", tmp_path / "c", "--resume", "--quiet")
    np.testing.assert_array_equal(coefficients(tmp_path / "m"), expected)


@pytest.mark.parametrize("place", ["save", "score"])
def test_a_signal_after_training_leaves_the_model(place, sgdone, folder, tmp_path, monkeypatch):
    send_before(monkeypatch, {"save": package, "score": cli_fit}[place], place)
    result = sgdone("fit", folder, *SMALL, "--model", tmp_path / "m", "--passes", 3, code=130)
    assert result.stdout.endswith("It was interrupted after training: the model is complete.\n")
    assert load(tmp_path / "m").verdict_.status == "converged"
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith((".", "m"))) == ["m"]


def test_checkpoint_options(sgdone, folder, tmp_path):
    result = sgdone("fit", folder, *SMALL, "--checkpoint", tmp_path / "c", "--resume", "--stop", 1)
    assert result.stdout.startswith(f"there is no checkpoint {tmp_path / 'c'}: training began with the first row\n")
    result = sgdone("fit", folder, "--checkpoint", tmp_path / "c2")
    assert "all rows fit into memory: no checkpoint is written\n" in result.stdout
    assert not (tmp_path / "c2").exists()
    message = sgdone("fit", folder, "--resume", code=2).stderr
    assert "Invalid value for '--resume': it needs the name of the checkpoint" in message
    assert "seconds, 0 or more" in sgdone("fit", folder, "--checkpoint", tmp_path / "c", "--every", -1, code=2).stderr


def test_a_damaged_file_keeps_the_checkpoint(sgdone, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(text_blocks, "HEAD", 2**16)
    monkeypatch.setattr(text_blocks, "BLOCK", 2**14)
    for day in range(3):
        text = (folder / f"day-{day}.csv").read_text()
        (tmp_path / f"day-{day}.csv").write_text(text if day < 2 else text + "1,2\n")
    options = ("fit", tmp_path / "day-*.csv", *SMALL, "--checkpoint", tmp_path / "c", "--every", 0)
    result = sgdone(*options, code=1)
    assert result.stderr.startswith(f"error: {tmp_path / 'day-2.csv'}, line 4,002: found 2 fields")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
    assert read_checkpoint(tmp_path / "c").parts["rows_read"] > 1000


MESSAGES = {
    "a named solver": (["--solver", "sgd"], 1, "remove --solver, because the automatic solver reads rows in parts"),
    "balanced": (
        ["--class-weight", "balanced"],
        1,
        "--class-weight balanced needs all rows in memory: allow more with",
    ),
    "bits of a table": (["--bits", "18"], 2, "it hashes features of svmlight and Vowpal Wabbit files"),
    "too many bits": (["--bits", "40"], 2, "bits must be between 1 and 31; got 40"),
    "no memory": (["--max-memory", "1kB"], 2, "a million or more"),
    "no size": (["--max-memory", "much"], 2, "'much' is not a size such as 500MB, 2GB or 2000000000"),
    "the model is an input": (["--model", "{folder}/day-1.csv"], 2, "is read by this command: give another file"),
    "no such folder": (["--cache", "/proc/nowhere"], 1, "/proc/nowhere"),
}


@pytest.mark.parametrize("case", MESSAGES)
def test_messages(case, sgdone, folder):
    options, code, message = MESSAGES[case]
    options = [option.format(folder=folder) for option in options]
    result = sgdone("fit", folder, *SMALL, *options, code=code)
    assert message in result.stderr
    assert result.stdout == ""


def test_a_quantity_or_a_class(sgdone, rng, tmp_path):
    columns = {"a": rng.standard_normal(20_000), "y": rng.standard_normal(20_000)}
    path = write_csv(tmp_path / "t.csv", columns)
    message = sgdone("fit", path, *SMALL, code=2).stderr
    assert f"sgdone fit {path} --label y --task regression" in message
    result = sgdone("fit", path, *SMALL, "--task", "regression", "--stop", 1)
    assert "RMSE" in result.stdout


def test_features_of_svmlight_files(sgdone, rng, tmp_path):
    X = rng.standard_normal((6000, 4)).round(2)
    y = np.where(X[:, 0] > 0, 1, -1)
    path = write_svmlight(tmp_path / "t.svm", X, y, zero_based=False)
    report = sgdone("fit", path, *SMALL, "--stop", 1, "--bits", 2, "--model", tmp_path / "m", "--json").report
    assert (report["streamed"], report["features"], report["classes"]) == (True, 4, [-1, 1])
    result = sgdone("predict", tmp_path / "m", path, *SMALL, "--no-proba")
    assert np.mean(np.array(result.stdout.split()[1:], dtype=int) == y) > 0.95


def test_all_cells_of_a_file_that_fits_decide_its_types(sgdone, rng, tmp_path, monkeypatch):
    monkeypatch.setattr(text_blocks, "HEAD", 2**13)
    monkeypatch.setattr(text_blocks, "BLOCK", 2**13)
    a = rng.standard_normal(2000).round(2)
    columns = {"a": a, "code": [*rng.integers(0, 5, 1960), *["x"] * 40], "y": np.where(a > 0, 1, 0)}
    path = write_csv(tmp_path / "t.csv", columns)
    report = sgdone("fit", path, "--max-memory", "3MB", "--json").report
    assert [column["kind"] for column in report["columns"]] == ["number", "category"]
    again = write_csv(tmp_path / "again.csv", columns)
    message = sgdone("fit", path, again, *["--max-memory", "3MB"], code=1).stderr
    assert "t.csv, line 1,962, column 'code': 'x' does not fit" in message


@pytest.mark.parametrize("kind", ["svm", "vw"])
def test_features_that_come_later(sgdone, rng, tmp_path, monkeypatch, kind):
    """Held-out and test rows have all features, in whichever part they are."""
    monkeypatch.setattr(numeric_lines, "BLOCK", 2**12)
    X, lines = rng.standard_normal((6000, 4)).round(2), []
    y = np.where(X[:, 0] > 0, 1, -1)
    for k, row in enumerate(X):
        names = [0, 1, 2, 3] if k in (4000, 5990) else [0, 1, 2]
        lines.append(f"{y[k]} {'|' if kind == 'vw' else ''} " + " ".join(f"{j + 1}:{row[j]}" for j in names) + "\n")
    (tmp_path / f"t.{kind}").write_text("".join(lines))
    (tmp_path / f"test.{kind}").write_text("".join(lines[::-1]))
    options = ("fit", tmp_path / f"t.{kind}", *SMALL, "--stop", 2, "--json")
    report = sgdone(*options).report
    assert report["features"] == 4
    assert report["held_out"]["error"] < 0.05
    report = sgdone(*options, "--test", tmp_path / f"test.{kind}", "--model", tmp_path / "m").report
    assert report["held_out"] is None
    assert report["test"]["rows"] == 6000
    assert report["test"]["error"] < 0.05
    result = sgdone("predict", tmp_path / "m", tmp_path / f"test.{kind}", *SMALL, "--json", "--no-proba")
    assert result.report["scores"]["error"] == report["test"]["error"]


class Reading:
    bytes_read, total_bytes = 250_000_000, 1_000_000_000


def test_progress_text():
    model = Progress(10, 50_000, None, 1, False, 0.5, 1.0)
    assert reading_text(Reading(), model, 10.0) == ["250 MB of 1 GB", "50,000 rows", "5,000 rows/s", "30 s left"]
    piped = type("Piped", (), {"bytes_read": 3_000_000, "total_bytes": None})()
    assert reading_text(piped, model, 10.0) == ["3 MB", "50,000 rows", "5,000 rows/s"]
    model = Progress(10, 250, 100, 3, False, 0.5, 1.0)
    assert reading_text(Reading(), model, 10.0) == ["pass 3, 50%", "progressive loss 0.5"]
    line = ProgressLine(shown=False)
    line.now("training")
    line.follow(Reading())
    assert line.text() == "training · 250 MB of 1 GB · 0 s"
