import numpy as np
import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")

from sgdone.spark import LinearClassifier, LinearClassifierModel, LinearRegressor


def test_defaults_setters_and_copies():
    model = LinearClassifier(alpha=0.5, classWeight={0: 1.0, 1: 3}, inputCols=["a", "b"], weightCol="w")
    assert (model.getLabelCol(), model.getPredictionCol(), model.getLoss()) == ("label", "prediction", "logistic")
    assert (model.getSeed(), model.getFitIntercept(), model.getMaxSeconds()) == (0, True, None)
    assert model.getClassWeight() == {0: 1.0, 1: 3.0}
    assert model.feature_columns().inputs == ("a", "b")
    model.setFeaturesCol("x").setAlpha("auto").setClassWeight("balanced").setColumns({"zip": "category"}).setMaxRounds(
        3
    )
    assert model.feature_columns().vectors == "x"
    assert (model.getAlpha(), model.getClassWeight(), model.getMaxRounds()) == ("auto", "balanced", 3)
    other = model.copy({model.alpha: 2.0})
    assert (other.getAlpha(), model.getAlpha(), other.uid) == (2.0, "auto", model.uid)
    assert model.setParams(seed=4, loss="squared_hinge").getSeed() == 4
    assert "L2 penalty" in model.explainParams()
    assert LinearRegressor().getLoss() == "squared"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"alpha": "much"}, "much"),
        ({"columns": ["zip"]}, "must map names of columns to kinds"),
        ({"fitIntercept": "yes"}, "bool"),
        ({"inputCols": "a"}, "list of strings"),
    ],
)
def test_parameters_of_wrong_types(options, text):
    with pytest.raises(TypeError, match=text):
        LinearClassifier(**options)


def test_columns_are_given_one_way():
    with pytest.raises(ValueError, match="are both given"):
        LinearClassifier(featuresCol="x", inputCols=["a"]).feature_columns()
    with pytest.raises(ValueError, match="each of them once"):
        LinearClassifier(inputCols=["a", "a"]).feature_columns()


def test_a_model_without_a_fit_says_so():
    with pytest.raises(ValueError, match="has no model: make it by fit or load"):
        _ = LinearClassifierModel().coef_


def test_a_model_has_a_copy_of_the_plain_estimator():
    from sgdone import LinearClassifier as Plain

    model = LinearClassifierModel(Plain().fit([[-1.0], [1.0], [-2.0], [2.0]], [0, 1, 0, 1]))
    assert (model.numFeatures, model.numClasses) == (1, 2)
    plain = model.copy().to_sklearn()
    plain.coef_[:] = np.nan
    assert np.isfinite(model.coef_).all()
