"""Parameters of the estimators and models, as Spark ML has them."""

from collections.abc import Callable, Mapping
from typing import Any, Self

from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import (
    HasFeaturesCol,
    HasFitIntercept,
    HasInputCols,
    HasLabelCol,
    HasPredictionCol,
    HasProbabilityCol,
    HasRawPredictionCol,
    HasSeed,
    HasWeightCol,
)

from sgdone.fit.options import is_auto
from sgdone.spark.row_columns import FeatureColumns


def _to_alpha(value: Any) -> float | str:
    return "auto" if is_auto(value) else TypeConverters.toFloat(value)


def _to_columns(value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise TypeError(f"columns={value!r} must map names of columns to kinds, as in columns={{'zip': 'category'}}")
    return {str(name): str(kind) for name, kind in value.items()}


def _to_class_weight(value: Any) -> str | list[list[Any]]:
    """Pairs of a class and its weight: the keys of a dict would become text in the files of Spark ML."""
    if isinstance(value, Mapping):
        return [[label, TypeConverters.toFloat(weight)] for label, weight in value.items()]
    return value if isinstance(value, list) else TypeConverters.toString(value)


def _param(name: str, doc: str, converter: Callable[[Any], Any]) -> "Param[Any]":
    return Param(Params._dummy(), name, doc, typeConverter=converter)


def _getter(name: str, doc: str) -> Callable[[Any], Any]:
    """A method that returns a parameter; None if it has neither a value nor a default."""

    def get(self: Any) -> Any:
        return self.getOrDefault(name) if self.isDefined(name) else None

    get.__doc__ = doc
    return get


def _setter(name: str, doc: str) -> Callable[[Any, Any], Any]:
    """A method that sets a parameter, and returns its object."""

    def set_value(self: Any, value: Any) -> Any:
        return self._set(**{name: value})

    set_value.__doc__ = doc
    return set_value


class LinearParameters(
    HasFeaturesCol, HasInputCols, HasLabelCol, HasWeightCol, HasPredictionCol, HasFitIntercept, HasSeed
):
    """What all estimators and models of this package have; not for users."""

    loss: "Param[Any]" = _param("loss", "name of a smooth convex loss.", TypeConverters.toString)
    alpha: "Param[Any]" = _param("alpha", 'L2 penalty, or "auto" to choose it.', _to_alpha)
    columns: "Param[Any]" = _param(
        "columns", "kinds of some of the inputCols by name: number, category, text, date or drop.", _to_columns
    )

    def __init__(self) -> None:
        super().__init__()
        # The default of HasSeed is different in each process.
        self._setDefault(alpha="auto", seed=0)

    def feature_columns(self) -> FeatureColumns:
        """Where the features are, by ``inputCols`` or ``featuresCol``."""
        if not self.isSet("inputCols"):
            return FeatureColumns(self.getFeaturesCol())
        if self.isSet("featuresCol"):
            raise ValueError(
                f"featuresCol={self.getFeaturesCol()!r} and inputCols are both given: give one of them, a column of "
                "vectors or the names of plain columns"
            )
        names = self.getInputCols()
        if not names or len(set(names)) < len(names):
            raise ValueError(f"inputCols={names!r} must name one column or more, each of them once")
        return FeatureColumns(None, tuple(names))

    getLoss = _getter("loss", "Get the name of the loss.")  # noqa: N815
    getAlpha = _getter("alpha", "Get the penalty as it was given; that of a model is its ``alpha_``.")  # noqa: N815

    def getColumns(self) -> dict[str, str] | None:  # noqa: N802
        """Get the kinds of columns that were given."""
        return dict(self.getOrDefault(self.columns)) if self.isDefined(self.columns) else None

    def setFeaturesCol(self, value: str) -> Self:  # noqa: N802
        """Set the column of vectors; it takes the place of ``inputCols``."""
        self.clear(self.inputCols)
        return self._set(featuresCol=value)

    def setInputCols(self, value: list[str]) -> Self:  # noqa: N802
        """Set the columns that are encoded; they take the place of ``featuresCol``."""
        self.clear(self.featuresCol)
        return self._set(inputCols=value)

    setPredictionCol = _setter("predictionCol", "Set the name of the column of predictions.")  # noqa: N815


class EstimatorParameters(LinearParameters):
    """What estimators have beside; not for users."""

    maxSeconds: "Param[Any]" = _param("maxSeconds", "seconds after which the fit ends.", TypeConverters.toFloat)  # noqa: N815
    maxRounds: "Param[Any]" = _param("maxRounds", "rounds after which the fit ends.", TypeConverters.toInt)  # noqa: N815
    checkpoint: "Param[Any]" = _param(
        "checkpoint",
        "file of the driver that keeps the sums of the rounds, to go on from if the driver dies.",
        TypeConverters.toString,
    )
    resume: "Param[Any]" = _param(
        "resume", "whether to go on from the checkpoint, if it exists.", TypeConverters.toBoolean
    )

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(resume=False)

    getMaxSeconds = _getter("maxSeconds", "Get the seconds after which a fit ends.")  # noqa: N815
    getMaxRounds = _getter("maxRounds", "Get the rounds after which a fit ends.")  # noqa: N815
    getCheckpoint = _getter("checkpoint", "Get the name of the checkpoint.")  # noqa: N815
    getResume = _getter("resume", "Get whether a fit goes on from the checkpoint.")  # noqa: N815
    setLabelCol = _setter("labelCol", "Set the column of labels.")  # noqa: N815
    setWeightCol = _setter("weightCol", "Set the column of sample weights.")  # noqa: N815
    setLoss = _setter("loss", "Set the loss by its name.")  # noqa: N815
    setAlpha = _setter("alpha", "Set the penalty.")  # noqa: N815
    setFitIntercept = _setter("fitIntercept", "Set whether to fit an intercept.")  # noqa: N815
    setColumns = _setter("columns", "Set kinds of columns by name.")  # noqa: N815
    setMaxSeconds = _setter("maxSeconds", "Set the seconds after which a fit ends.")  # noqa: N815
    setMaxRounds = _setter("maxRounds", "Set the rounds after which a fit ends.")  # noqa: N815
    setCheckpoint = _setter("checkpoint", "Set the name of the checkpoint, a file of the driver.")  # noqa: N815
    setResume = _setter("resume", "Set whether a fit goes on from the checkpoint.")  # noqa: N815
    setSeed = _setter("seed", "Set the seed.")  # noqa: N815


class ClassifierParameters(HasProbabilityCol, HasRawPredictionCol):
    """What classifiers have beside; not for users."""

    classWeight: "Param[Any]" = _param("classWeight", 'weights of classes, or "balanced".', _to_class_weight)  # noqa: N815

    def getClassWeight(self) -> Any:  # noqa: N802
        """Get the weights of classes that were given."""
        if not self.isDefined(self.classWeight):
            return None
        found = self.getOrDefault(self.classWeight)
        return found if isinstance(found, str) else dict(found)

    setProbabilityCol = _setter("probabilityCol", "Set the name of the column of probabilities.")  # noqa: N815
    setRawPredictionCol = _setter("rawPredictionCol", "Set the name of the column of scores.")  # noqa: N815
