import numpy as np
import pandas as pd
import pytest

from cli.files import write_csv
from sgdone import LinearRegressor, SGDRegressor, __version__, load, losses, save
from tiers import interpreted


def test_text_report(sgdone, train, tmp_path):
    model = tmp_path / "model.safetensors"
    sgdone("fit", train, "--label", "passed", "--solver", "asgd", "--model", model, "--quiet")
    text = sgdone("inspect", model).stdout
    loaded = load(model)
    for line in ("model       SGDClassifier with the logistic loss, solver asgd",
                 f"trained on  {train}", "label       passed",
                 "features    2", "classes     no, yes", "alpha       0.0125",
                 "nonzero     2 of 2 coefficients, float64",
                 f"with sgdone {__version__}", str(loaded.verdict_)):  # fmt: skip
        assert line in text
    shown = text.split("standard deviation of the feature:\n")[1].splitlines()[1:]
    effect = np.abs(loaded.coef_[0] * loaded.feature_std_)
    assert [line.split()[2] for line in shown] == sorted("ab", key=lambda name: -effect["ab".index(name)])
    assert f"intercept   {loaded.intercept_[0]:.4g}" in text
    assert "Largest" not in sgdone("inspect", model, "--top", 0).stdout


@pytest.mark.usefixtures("without_finish")
def test_a_penalty_is_not_that_of_an_optimum_unless_it_was_reached(sgdone, train, tmp_path):
    sgdone("fit", train, "--label", "passed", "--model", tmp_path / "m", "--quiet")
    text = sgdone("inspect", tmp_path / "m").stdout
    assert f"alpha       {load(tmp_path / 'm').alpha_:.4g}, used in training; the training objective was not" in text


def test_coefficients_are_ranked_whatever_the_units(sgdone, columns, tmp_path):
    def ranked(a_unit, b_unit):
        table = columns | {"a": 3.0 * columns["a"] * a_unit + 1e5, "b": columns["b"] * b_unit}
        sgdone("fit", write_csv(tmp_path / "t.csv", table), "--label", "passed", "--model", tmp_path / "m", "--quiet")
        return sgdone("inspect", tmp_path / "m", "--json").report["coefficients"]

    plain, scaled = ranked(1.0, 1.0), ranked(1e-3, 1e6)
    assert [entry["feature"] for entry in plain] == [entry["feature"] for entry in scaled]
    for one, other in zip(plain, scaled, strict=True):
        assert other["per_std"] == pytest.approx(one["per_std"], rel=1e-3)


def test_a_model_of_partial_fit_has_no_standard_deviations(sgdone, rng, tmp_path):
    X = rng.standard_normal((40, 2))
    save(SGDRegressor(solver="asgd").partial_fit(X, X[:, 0]), tmp_path / "m")
    assert "\nLargest coefficients:\n" in sgdone("inspect", tmp_path / "m").stdout


def test_json(sgdone, model):
    report = sgdone("inspect", model, "--json", "--top", 1).report
    assert report["estimator"] == "LinearClassifier"
    assert report["classes"] == ["no", "yes"]
    assert report["extra"]["label"] == "passed"
    [entry] = report["coefficients"]
    loaded = load(model)
    assert abs(entry["per_std"]) == np.abs(loaded.coef_ * loaded.feature_std_).max()


def test_several_classes_have_names(sgdone, tmp_path):
    sgdone("fit", "iris", "--model", tmp_path / "m", "--quiet")
    text = sgdone("inspect", tmp_path / "m").stdout
    assert "classes     0 (setosa), 1 (versicolor), 2 (virginica)" in text
    assert "petal length (cm) (class " in text


@interpreted
def test_a_model_that_the_library_saved(sgdone, rng, tmp_path):
    X = rng.standard_normal((40, 12))
    save(SGDRegressor(losses.Huber(2.0), solver="asgd", stop=2).fit(X, X[:, 0]), tmp_path / "m")
    text = sgdone("inspect", tmp_path / "m", "--top", 1).stdout
    assert "SGDRegressor with the Huber(delta=2.0) loss, solver asgd" in text
    assert "feature 1" in text
    assert "trained on" not in text


@pytest.fixture
def table(rng):
    n_rows = 60
    frame = pd.DataFrame({f"x{j}": rng.standard_normal(n_rows) for j in range(40)})
    frame["city\x1b[2J"] = rng.choice(["Rome", "Oslo"], n_rows)
    frame["one"] = 1
    return frame


def test_columns_of_a_data_frame(sgdone, table, tmp_path):
    y = 2.0 * (table["city\x1b[2J"] == "Rome")
    save(LinearRegressor(random_state=0).fit(table[["city\x1b[2J", "x1", "one"]], y), tmp_path / "m")
    text = sgdone("inspect", tmp_path / "m").stdout
    assert "features   3, encoded from 3 columns" in text
    shown = text.split("How the columns were encoded:\n")[1].splitlines()
    assert shown[:3] == [r"city\x1b[2J  category  2 levels", "x1           number", "one          left out  constant"]
    assert r"city\x1b[2J=Rome" in text
    assert "\x1b" not in text
    report = sgdone("inspect", tmp_path / "m", "--json", "--top", 1).report
    assert report["features"] == 3
    assert report["columns"][2] == {"name": "one", "kind": "left out", "features": "", "reason": "constant"}
    assert report["coefficients"][0]["feature"].startswith("city\x1b[2J=")


def test_many_columns_are_not_all_printed(sgdone, table, tmp_path):
    save(LinearRegressor(random_state=0).fit(table, table["x0"]), tmp_path / "m")
    text = sgdone("inspect", tmp_path / "m").stdout
    assert "\n… and 2 more: --json prints all.\n" in text
    assert len(sgdone("inspect", tmp_path / "m", "--json").report["columns"]) == 42


def test_a_plain_frame_needs_no_description(sgdone, table, tmp_path):
    save(LinearRegressor(random_state=0).fit(table[["x0", "x1"]], table["x0"]), tmp_path / "m")
    assert "Columns, and" not in sgdone("inspect", tmp_path / "m").stdout
    assert sgdone("inspect", tmp_path / "m", "--json").report["columns"] is None
