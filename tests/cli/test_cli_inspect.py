import numpy as np

from sgdone import SGDRegressor, __version__, load, losses, save


def test_text_report(sgdone, train, tmp_path):
    model = tmp_path / "model.safetensors"
    sgdone("fit", train, "--label", "passed", "--solver", "asgd", "--model", model, "--quiet")
    text = sgdone("inspect", model).stdout
    loaded = load(model)
    for line in ("model       SGDClassifier, logistic loss, asgd", f"trained on  {train}", "label       passed",
                 "features    2", "classes     no, yes", "alpha       0.0125",
                 "nonzero     2 of 2 coefficients, float64",
                 f"with sgdone {__version__}", str(loaded.verdict_)):  # fmt: skip
        assert line in text
    shown = text.split("Largest coefficients:\n")[1].splitlines()
    assert [line.split()[1] for line in shown] == sorted("ab", key=lambda name: -abs(loaded.coef_[0]["ab".index(name)]))
    assert "Largest" not in sgdone("inspect", model, "--top", 0).stdout


def test_json(sgdone, model):
    report = sgdone("inspect", model, "--json", "--top", 1).report
    assert report["estimator"] == "LinearClassifier"
    assert report["classes"] == ["no", "yes"]
    assert report["extra"]["label"] == "passed"
    [entry] = report["coefficients"]
    assert abs(entry["coefficient"]) == np.abs(load(model).coef_).max()


def test_several_classes_have_names(sgdone, tmp_path):
    sgdone("fit", "iris", "--model", tmp_path / "m", "--quiet")
    text = sgdone("inspect", tmp_path / "m").stdout
    assert "classes     0 (setosa), 1 (versicolor), 2 (virginica)" in text
    assert "petal length (cm) (class " in text


def test_a_model_that_the_library_saved(sgdone, rng, tmp_path):
    X = rng.standard_normal((40, 12))
    save(SGDRegressor(losses.Huber(2.0), solver="asgd", stop=2).fit(X, X[:, 0]), tmp_path / "m")
    text = sgdone("inspect", tmp_path / "m", "--top", 1).stdout
    assert "SGDRegressor, Huber(delta=2.0) loss, asgd" in text
    assert "feature 1" in text
    assert "trained on" not in text
