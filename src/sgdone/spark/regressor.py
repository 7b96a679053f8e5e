"""Linear regression without knobs, on Spark."""

from collections.abc import Mapping
from typing import Any, final

from pyspark import keyword_only

from sgdone import estimators
from sgdone.spark.linear_model import LinearEstimator, LinearModel
from sgdone.spark.prediction import PredictionColumns


@final
class LinearRegressor(LinearEstimator):
    """Linear regression with nothing to scale, tune or guess, on data frames of Spark.

    Parameters
    ----------
    loss : str, default="squared"
        A smooth convex loss: "squared" or "huber".
    labelCol : str, default="label"
        Column of targets.
    predictionCol : str, default="prediction"
        Column that a model adds.
    featuresCol, inputCols, weightCol, alpha, fitIntercept, columns, maxSeconds, maxRounds, checkpoint, resume, seed
        As in `sgdone.spark.LinearClassifier`.

    Examples
    --------
    >>> from sgdone.spark import LinearRegressor
    >>> model = LinearRegressor(featuresCol="features", labelCol="price").fit(df)  # doctest: +SKIP
    >>> model.transform(df).select("prediction")  # doctest: +SKIP
    """

    _task = "regression"

    @keyword_only
    def __init__(
        self,
        *,
        featuresCol: str = "features",  # as Spark names parameters
        inputCols: list[str] | None = None,
        labelCol: str = "label",
        weightCol: str | None = None,
        predictionCol: str = "prediction",
        loss: str = "squared",
        alpha: float | str = "auto",
        fitIntercept: bool = True,
        columns: Mapping[str, str] | None = None,
        maxSeconds: float | None = None,
        maxRounds: int | None = None,
        checkpoint: str | None = None,
        resume: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self._setDefault(loss="squared")
        self._set(**self._input_kwargs)

    def setParams(self, **params: Any) -> "LinearRegressor":  # noqa: N802
        """Set several parameters by name."""
        return self._set(**params)

    def _plain(self, **options: Any) -> Any:
        return estimators.LinearRegressor(**options)

    def _model(self, plain: Any) -> "LinearRegressorModel":
        return LinearRegressorModel(plain)


@final
class LinearRegressorModel(LinearModel):
    """A fitted `LinearRegressor`: ``transform`` adds predictions to a data frame.

    Parameters
    ----------
    plain : sgdone.LinearRegressor, optional
        Fitted; ``to_sklearn`` returns a copy of it.
    """

    _task = "regression"

    def __init__(self, plain: Any = None) -> None:
        super().__init__(plain)
        self._setDefault(loss="squared")

    def _columns(self) -> PredictionColumns:
        return PredictionColumns(self.getPredictionCol())
