"""`sgdone predict` on files that are read part by part."""

import csv
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.files import write_csv
from sgdone.cli.predict import csv_writer
from sgdone.readers import table_from_arrow, text_blocks

SMALL = ("--max-memory", "1MB")


@pytest.fixture
def parts(monkeypatch):
    """Read a few hundred rows at a time."""
    monkeypatch.setattr(text_blocks, "BLOCK", 2**14)
    monkeypatch.setattr(table_from_arrow, "PART_ROWS", 300)


@pytest.fixture
def rows(rng):
    a, b = rng.standard_normal((2, 5000))
    ids = [f"00{k}" if k % 7 else "NA" for k in range(5000)]
    return {"id": ids, "b": b, "passed": np.where(a - b > 0, "yes", "no"), "a": a, "when": ["2026-01-02"] * 5000}


@pytest.mark.usefixtures("parts")
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_the_same_bytes_as_whole(sgdone, model, rows, tmp_path, kind):
    path = tmp_path / f"rows.{kind}"
    if kind == "csv":
        write_csv(path, rows)
    else:
        pq.write_table(pa.table(rows), path, row_group_size=700)
    options = ("predict", model, path, "--id", "id,when")
    whole = sgdone(*options)
    assert whole.stdout.count("\n") == 5001
    in_parts = sgdone(*options, *SMALL)
    assert in_parts.stdout_bytes == whole.stdout_bytes
    assert in_parts.stderr == whole.stderr
    written = sgdone(*options, *SMALL, "--out", tmp_path / "p.csv")
    assert (tmp_path / "p.csv").read_bytes() == whole.stdout_bytes
    assert written.stderr == f"{whole.stderr.strip()} · written to {tmp_path / 'p.csv'}\n"
    report = sgdone(*options, *SMALL, "--json").report
    assert report == sgdone(*options, "--json").report
    assert report["ids"]["id"][:2] == ["NA", "001"]


@pytest.mark.usefixtures("parts")
def test_parquet_has_the_same_values(sgdone, model, rows, tmp_path):
    path = write_csv(tmp_path / "rows.csv", rows)
    sgdone("predict", model, path, "--id", "id", *SMALL, "--out", tmp_path / "p.parquet")
    header, *lines = csv.reader(sgdone("predict", model, path, "--id", "id").stdout.splitlines())
    table = pq.read_table(tmp_path / "p.parquet")
    assert pq.ParquetFile(tmp_path / "p.parquet").num_row_groups > 1
    assert table.column_names == header
    assert table.column("id").to_pylist() == [line[0] for line in lines]
    np.testing.assert_array_equal(table.column("probability_yes"), np.array([float(line[3]) for line in lines]))


@pytest.mark.usefixtures("parts")
def test_several_files_and_rows_without_labels(sgdone, model, rows, tmp_path):
    write_csv(tmp_path / "day-1.csv", rows)
    rows["passed"][4321] = ""
    write_csv(tmp_path / "day-2.csv", rows)
    both = sgdone("predict", model, tmp_path / "day-*.csv", "--id", "id", *SMALL)
    one, two = (sgdone("predict", model, tmp_path / f"day-{day}.csv", "--id", "id").stdout for day in (1, 2))
    assert both.stdout == one + two.split("\n", 1)[1]
    assert both.stderr == "10,000 rows\n"
    for memory in ([], SMALL):  # with a label that is asked for, rows without it are left out
        left = sgdone("predict", model, tmp_path / "day-2.csv", "--label", "passed", "--id", "id", *memory)
        lines = two.splitlines()
        assert left.stdout.splitlines() == lines[:4322] + lines[4323:]
        assert left.stderr.startswith("4,999 rows · log loss ")


def test_an_error_leaves_no_file(sgdone, model, rows, tmp_path, parts):
    path = write_csv(tmp_path / "rows.csv", rows)
    path.write_text(path.read_text() + "1,2\n")
    out = tmp_path / "out"
    out.mkdir()
    result = sgdone("predict", model, path, *SMALL, "--out", out / "p.csv", code=1)
    assert result.stderr.startswith(f"error: {path}, line 5,002: found 2 fields")
    assert list(out.iterdir()) == []


@pytest.mark.usefixtures("parts")
def test_scores_of_the_first_rows_if_there_are_many(sgdone, model, rows, tmp_path, monkeypatch):
    monkeypatch.setattr("sgdone.cli.scores._LEAST_KEPT", 1000)
    path = write_csv(tmp_path / "rows.csv", rows)
    result = sgdone("predict", model, path, *SMALL)
    first = re.match(r"5,000 rows \(scores of the first ([\d,]+)\) · log loss ", result.stderr)
    assert 300 < int(first[1].replace(",", "")) < 5000
    assert result.stdout == sgdone("predict", model, path).stdout


def test_standard_input(sgdone, model, rows, tmp_path):
    path = write_csv(tmp_path / "rows.csv", rows)
    assert sgdone("predict", model, "-", stdin=path.read_bytes()).stdout == sgdone("predict", model, path).stdout
    message = sgdone("predict", model, "-", "--id", "id", stdin=path.read_bytes(), code=1).stderr
    assert "standard input: is a pipe or device, which cannot be read twice; give a regular file" in message


def test_numbers_have_the_fewest_digits(rng, tmp_path):
    """The csv module writes floats of 64 bits as NumPy does."""
    values = np.concatenate(
        [rng.standard_normal(2000) * 10.0 ** rng.integers(-300, 300, 2000), [0.0, -0.0, 1e16, 1e-5]]
    )
    for kind in (np.float64, np.float32):
        with np.errstate(over="ignore"), (tmp_path / "p").open("w", newline="") as stream:
            column = values.astype(kind)
            csv_writer(stream)({"prediction": column})
        assert (tmp_path / "p").read_text().split()[1:] == [str(value) for value in column]


def test_a_copied_column_has_not_the_name_of_a_prediction(sgdone, model, rows, tmp_path):
    path = write_csv(tmp_path / "rows.csv", rows)
    for name in ("prediction", "probability_no"):
        error = sgdone("predict", model, path, "--id", name, code=2).stderr
        assert f"'{name}' is the name of a column of the predictions" in " ".join(error.replace("│", " ").split())
