import numpy as np
import pytest

from cli.files import write_csv
from sgdone import SGDRegressor, __version__, load, losses, save


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


def test_a_model_that_the_library_saved(sgdone, rng, tmp_path):
    X = rng.standard_normal((40, 12))
    save(SGDRegressor(losses.Huber(2.0), solver="asgd", stop=2).fit(X, X[:, 0]), tmp_path / "m")
    text = sgdone("inspect", tmp_path / "m", "--top", 1).stdout
    assert "SGDRegressor with the Huber(delta=2.0) loss, solver asgd" in text
    assert "feature 1" in text
    assert "trained on" not in text
