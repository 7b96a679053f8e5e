"""Columns that predict the label almost alone are named, and others are not."""

import os
from pathlib import Path

import numpy as np
import pytest

from cli.files import write_csv
from tiers import slow

N = 400


@pytest.fixture
def columns(rng):
    a = rng.standard_normal(N)
    return {
        "a": a,
        "b": rng.standard_normal(N),
        "job": rng.choice(["x", "y", "z"], N),
        "id": [f"k{k}" for k in range(N)],
    }


@pytest.fixture
def leaks(sgdone, tmp_path):
    def run(columns, *options):
        path = write_csv(tmp_path / "t.csv", columns)
        return sgdone("fit", path, "--label", "y", "--stop", 1, *options, "--json").report["possible_leakage"]

    return run


@pytest.mark.parametrize("n_classes", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_a_copied_or_recoded_class_is_named(n_classes, rng, columns, leaks):
    y = rng.integers(0, n_classes, N)
    columns["a"] += y
    labels = np.array(["no", "yes", "maybe", "never"])[y]
    assert leaks(columns | {"y": labels}) == []
    codes = np.array([7, 3, 9, 1])[y]  # in another order
    shifted = y * 10 + rng.random(N)
    gaps = np.where(y == 0, "", rng.random(N).astype(str))
    for leak in (labels, codes, shifted, np.array(["A", "B", "C", "D"])[y], *([gaps] if n_classes == 2 else [])):
        (found,) = leaks(columns | {"leak": leak, "y": labels})
        assert found["column"] == "leak"
        assert found["measure"] == ("AUC" if n_classes == 2 else "accuracy")
        assert found["value"] > 0.999


@slow
def test_a_copied_quantity_is_named(rng, columns, leaks):
    y = columns["a"] + rng.standard_normal(N)
    columns = columns | {"y": y}
    assert leaks(columns, "--task", "regression") == []
    for leak in (y, 2 - 3 * y, np.exp(y)):
        (found,) = leaks({"leak": leak} | columns, "--task", "regression")
        assert (found["column"], found["measure"]) == ("leak", "R²")


@slow
def test_the_larger_part_of_a_sum_is_named(rng, columns, leaks):
    registered, casual = 5 * rng.standard_normal(N), rng.standard_normal(N)
    columns |= {"registered": registered, "casual": casual}
    (found,) = leaks(columns | {"y": registered + casual}, "--task", "regression")
    assert found["column"] == "registered"
    assert "explains 9" in found["sentence"]
    assert leaks(columns | {"y": registered + casual + 0.2 * rng.standard_normal(N)}, "--task", "regression") == []


def test_rare_classes_and_single_columns_are_not_judged(rng, columns, leaks):
    rare = np.where(np.arange(N) < 19, "yes", "no")
    assert leaks(columns | {"leak": rare, "y": rare}) == []
    y = rng.integers(0, 2, N)
    assert leaks({"leak": y, "y": y}) == []


def test_the_message(sgdone, rng, columns, tmp_path):
    y = np.where(rng.random(N) < 0.5, "no", "yes")
    path = write_csv(tmp_path / "t.csv", columns | {"the answer": y, "y": y})
    result = sgdone("fit", path, "--stop", 1)
    assert result.stderr == (
        "possible leakage: the answer alone predicts y almost without error (AUC 1.0000): if it is not known before y "
        "is, drop it with --drop 'the answer'\n"
    )
    assert sgdone("fit", path, "--stop", 1, "--drop", "the answer").stderr == ""
    assert sgdone("fit", path, "--stop", 1, "--quiet").output == ""


REAL = {
    "adult/adult.csv.gz": ["--label", "income"],
    "bike-sharing/hour.csv.gz": ["--label", "cnt", "--task", "regression", "--drop", "casual,registered,instant"],
    "sms-spam/sms.csv.gz": ["--label", "label"],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_real_tables(name, sgdone):
    path = Path(os.environ.get("SGDONE_DATA", "")) / name
    if not path.is_file():
        pytest.skip(f"SGDONE_DATA has no {name}")
    assert sgdone("fit", path, *REAL[name], "--json").report["possible_leakage"] == []
