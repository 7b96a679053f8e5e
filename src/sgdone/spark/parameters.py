"""Parameters of the estimators and models, as Spark ML has them."""

# ruff: noqa: N802, N815  # as Spark names parameters

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

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
from pyspark.sql.types import StructType

from sgdone.fit.options import is_auto
from sgdone.losses.learning_task import Task
from sgdone.spark.row_columns import FeatureColumns, RowColumns


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


def getter(name: str, doc: str) -> Callable[[Any], Any]:
    """A method that returns a parameter; None if it has neither a value nor a default."""

    def get(self: Any) -> Any:
        return self.getOrDefault(name) if self.isDefined(name) else None

    get.__doc__ = doc
    return get


def setter(name: str, doc: str) -> Callable[[Any, Any], Any]:
    """A method that sets a parameter, and returns its object."""

    def set_value(self: Any, value: Any) -> Any:
        return self._set(**{name: value})

    set_value.__doc__ = doc
    return set_value


class LinearParameters(
    HasFeaturesCol, HasInputCols, HasLabelCol, HasWeightCol, HasPredictionCol, HasFitIntercept, HasSeed
):
    """Parameters of all estimators and models; not for users."""

    _task: ClassVar[Task]

    loss = _param("loss", "name of a smooth convex loss.", TypeConverters.toString)
    alpha = _param("alpha", 'L2 penalty, or "auto" to choose it.', _to_alpha)
    columns = _param(
        "columns", "kinds of some of the inputCols by name: number, category, text, date or drop.", _to_columns
    )

    def __init__(self) -> None:
        super().__init__()
        # The default of HasSeed is different in each process.
        self._setDefault(loss="squared" if self._task == "regression" else "logistic", alpha="auto", seed=0)

    def feature_columns(self) -> FeatureColumns:
        """Columns of the features, by ``inputCols`` or ``featuresCol``."""
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

    def row_columns(self, schema: StructType, group: str | None = None) -> RowColumns:
        """The columns that the parameters name."""
        weight = self.getWeightCol() if self.isDefined("weightCol") else None
        return RowColumns.of(schema, self.feature_columns(), self.getLabelCol(), weight or None, self._task, group)

    getLoss = getter("loss", "Get the name of the loss.")
    getAlpha = getter("alpha", "Get the penalty as it was given; that of a model is its ``alpha_``.")

    def getColumns(self) -> dict[str, str] | None:
        """Get the kinds of columns that were given."""
        return dict(self.getOrDefault(self.columns)) if self.isDefined(self.columns) else None

    def setFeaturesCol(self, value: str) -> Self:
        """Set the column of vectors; it takes the place of ``inputCols``."""
        self.clear(self.inputCols)
        return self._set(featuresCol=value)

    def setInputCols(self, value: list[str]) -> Self:
        """Set the columns that are encoded; they take the place of ``featuresCol``."""
        self.clear(self.featuresCol)
        return self._set(inputCols=value)

    setPredictionCol = setter("predictionCol", "Set the name of the column of predictions.")


class EstimatorParameters(LinearParameters):
    """Parameters of estimators only; not for users."""

    maxSeconds = _param("maxSeconds", "seconds after which the fit ends.", TypeConverters.toFloat)
    maxRounds = _param("maxRounds", "rounds after which the fit ends.", TypeConverters.toInt)
    checkpoint = _param(
        "checkpoint",
        "file of the driver that keeps the sums of the rounds, to go on from if the driver dies.",
        TypeConverters.toString,
    )
    resume = _param("resume", "whether to go on from the checkpoint, if it exists.", TypeConverters.toBoolean)

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(resume=False)

    getMaxSeconds = getter("maxSeconds", "Get the seconds after which a fit ends.")
    getMaxRounds = getter("maxRounds", "Get the rounds after which a fit ends.")
    getCheckpoint = getter("checkpoint", "Get the name of the checkpoint.")
    getResume = getter("resume", "Get whether a fit goes on from the checkpoint.")
    setLabelCol = setter("labelCol", "Set the column of labels.")
    setWeightCol = setter("weightCol", "Set the column of sample weights.")
    setLoss = setter("loss", "Set the loss by its name.")
    setAlpha = setter("alpha", "Set the penalty.")
    setFitIntercept = setter("fitIntercept", "Set whether to fit an intercept.")
    setColumns = setter("columns", "Set kinds of columns by name.")
    setMaxSeconds = setter("maxSeconds", "Set the seconds after which a fit ends.")
    setMaxRounds = setter("maxRounds", "Set the rounds after which a fit ends.")
    setCheckpoint = setter("checkpoint", "Set the name of the checkpoint, a file of the driver.")
    setResume = setter("resume", "Set whether a fit goes on from the checkpoint.")
    setSeed = setter("seed", "Set the seed.")


class ClassifierParameters(HasProbabilityCol, HasRawPredictionCol):
    """Parameters of classifiers only; not for users."""

    classWeight = _param("classWeight", 'weights of classes, or "balanced".', _to_class_weight)

    def getClassWeight(self) -> Any:
        """Get the weights of classes that were given."""
        if not self.isDefined(self.classWeight):
            return None
        found = self.getOrDefault(self.classWeight)
        return found if isinstance(found, str) else dict(found)

    setProbabilityCol = setter("probabilityCol", "Set the name of the column of probabilities.")
    setRawPredictionCol = setter("rawPredictionCol", "Set the name of the column of scores.")
