"""Parameters of the estimators and models, as Spark ML has them."""

from collections.abc import Mapping
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


class LinearParameters(
    HasFeaturesCol, HasInputCols, HasLabelCol, HasWeightCol, HasPredictionCol, HasFitIntercept, HasSeed
):
    """What all estimators and models of this package have; not for users."""

    loss: "Param[str]" = Param(
        Params._dummy(), "loss", "name of a smooth convex loss.", typeConverter=TypeConverters.toString
    )
    alpha: "Param[Any]" = Param(
        Params._dummy(), "alpha", 'L2 penalty, or "auto" to choose it.', typeConverter=_to_alpha
    )
    columns: "Param[Any]" = Param(
        Params._dummy(),
        "columns",
        "kinds of some of the inputCols by name: number, category, text, date or drop.",
        typeConverter=_to_columns,
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

    def getLoss(self) -> str:  # noqa: N802
        """Get the name of the loss."""
        return self.getOrDefault(self.loss)

    def getAlpha(self) -> float | str:  # noqa: N802
        """Get the penalty as it was given; that of a model is its ``alpha_``."""
        found: float | str = self.getOrDefault(self.alpha)
        return found

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

    def setPredictionCol(self, value: str) -> Self:  # noqa: N802
        """Set the name of the column of predictions."""
        return self._set(predictionCol=value)


class EstimatorParameters(LinearParameters):
    """What estimators have beside; not for users."""

    maxSeconds: "Param[float]" = Param(  # noqa: N815  # as Spark names parameters
        Params._dummy(), "maxSeconds", "seconds after which the fit ends.", typeConverter=TypeConverters.toFloat
    )
    maxRounds: "Param[int]" = Param(  # noqa: N815
        Params._dummy(), "maxRounds", "rounds after which the fit ends.", typeConverter=TypeConverters.toInt
    )
    checkpoint: "Param[str]" = Param(
        Params._dummy(),
        "checkpoint",
        "file of the driver that keeps the sums of the rounds, to go on from if the driver dies.",
        typeConverter=TypeConverters.toString,
    )
    resume: "Param[bool]" = Param(
        Params._dummy(),
        "resume",
        "whether to go on from the checkpoint, if it exists.",
        typeConverter=TypeConverters.toBoolean,
    )

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(resume=False)

    def getMaxSeconds(self) -> float | None:  # noqa: N802
        """Get the seconds after which a fit ends."""
        return self.getOrDefault(self.maxSeconds) if self.isDefined(self.maxSeconds) else None

    def getMaxRounds(self) -> int | None:  # noqa: N802
        """Get the rounds after which a fit ends."""
        return self.getOrDefault(self.maxRounds) if self.isDefined(self.maxRounds) else None

    def getCheckpoint(self) -> str | None:  # noqa: N802
        """Get the name of the checkpoint."""
        return self.getOrDefault(self.checkpoint) if self.isDefined(self.checkpoint) else None

    def getResume(self) -> bool:  # noqa: N802
        """Get whether a fit goes on from the checkpoint."""
        return self.getOrDefault(self.resume)

    def setLabelCol(self, value: str) -> Self:  # noqa: N802
        """Set the column of labels."""
        return self._set(labelCol=value)

    def setWeightCol(self, value: str) -> Self:  # noqa: N802
        """Set the column of sample weights."""
        return self._set(weightCol=value)

    def setLoss(self, value: str) -> Self:  # noqa: N802
        """Set the loss by its name."""
        return self._set(loss=value)

    def setAlpha(self, value: float | str) -> Self:  # noqa: N802
        """Set the penalty."""
        return self._set(alpha=value)

    def setFitIntercept(self, value: bool) -> Self:  # noqa: N802
        """Set whether to fit an intercept."""
        return self._set(fitIntercept=value)

    def setColumns(self, value: Mapping[str, str]) -> Self:  # noqa: N802
        """Set kinds of columns by name."""
        return self._set(columns=value)

    def setMaxSeconds(self, value: float) -> Self:  # noqa: N802
        """Set the seconds after which a fit ends."""
        return self._set(maxSeconds=value)

    def setMaxRounds(self, value: int) -> Self:  # noqa: N802
        """Set the rounds after which a fit ends."""
        return self._set(maxRounds=value)

    def setCheckpoint(self, value: str) -> Self:  # noqa: N802
        """Set the name of the checkpoint, a file of the driver."""
        return self._set(checkpoint=value)

    def setResume(self, value: bool) -> Self:  # noqa: N802
        """Set whether a fit goes on from the checkpoint."""
        return self._set(resume=value)

    def setSeed(self, value: int) -> Self:  # noqa: N802
        """Set the seed."""
        return self._set(seed=value)


class ClassifierParameters(HasProbabilityCol, HasRawPredictionCol):
    """What classifiers have beside; not for users."""

    classWeight: "Param[Any]" = Param(  # noqa: N815
        Params._dummy(), "classWeight", 'weights of classes, or "balanced".', typeConverter=_to_class_weight
    )

    def getClassWeight(self) -> Any:  # noqa: N802
        """Get the weights of classes that were given."""
        if not self.isDefined(self.classWeight):
            return None
        found = self.getOrDefault(self.classWeight)
        return found if isinstance(found, str) else dict(found)

    def setProbabilityCol(self, value: str) -> Self:  # noqa: N802
        """Set the name of the column of probabilities."""
        return self._set(probabilityCol=value)

    def setRawPredictionCol(self, value: str) -> Self:  # noqa: N802
        """Set the name of the column of scores."""
        return self._set(rawPredictionCol=value)
