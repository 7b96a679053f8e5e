"""What the estimators share, and what their models share."""

import copy
from abc import abstractmethod
from typing import Any, ClassVar

from numpy.typing import NDArray
from pyspark import Broadcast, SparkContext
from pyspark.ml import Estimator, Model
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable, MLReadable, MLReader, MLWritable, MLWriter
from pyspark.sql import DataFrame

from sgdone.cluster import Rounds, fit_model, summarise_partitions
from sgdone.fit.checkpoints import FitCheckpoints
from sgdone.inference import Summary
from sgdone.interfaces.stop_rule import StopRule
from sgdone.losses.learning_task import Task
from sgdone.run import Trace, Verdict
from sgdone.spark.engine import SparkEngine
from sgdone.spark.model_directory import ModelReader, ModelWriter
from sgdone.spark.parameters import EstimatorParameters, LinearParameters
from sgdone.spark.prediction import PredictionColumns, for_prediction, with_predictions
from sgdone.spark.row_columns import RowColumns
from sgdone.stopping import MaxPasses, MaxSeconds
from sgdone.tables.not_fitted import not_fitted


class LinearEstimator(
    Estimator[Any],
    EstimatorParameters,
    DefaultParamsReadable[Any],
    DefaultParamsWritable,
):
    """An estimator of Spark ML; not for users."""

    _task: ClassVar[Task]
    #: Parameters of the last call, which `pyspark.keyword_only` leaves here.
    _input_kwargs: dict[str, Any]

    @abstractmethod
    def _plain(self, **options: Any) -> Any:
        """The estimator without Spark that the parameters name."""

    @abstractmethod
    def _model(self, plain: Any) -> "LinearModel":
        """A model of Spark ML with a fitted estimator."""

    def _fit(self, dataset: DataFrame) -> "LinearModel":
        plain = self._plain(
            loss=self.getLoss(),
            alpha=self.getAlpha(),
            stop=self._stop() or "auto",
            fit_intercept=self.getFitIntercept(),
            columns=self.getColumns(),
            random_state=self.getSeed(),
        )
        checkpoints = FitCheckpoints.of(self.getCheckpoint(), 60.0, self.getResume())
        with SparkEngine(_with_context(dataset), _row_columns(self, dataset, self._task)) as engine:
            fit_model(plain, engine, checkpoints=checkpoints)
        made = self._model(plain)
        made._resetUid(self.uid)
        return self._copyValues(made)

    def _stop(self) -> StopRule | None:
        """The budgets; a round counts as a pass."""
        seconds, rounds = self.getMaxSeconds(), self.getMaxRounds()
        if seconds is None or rounds is None:
            return MaxSeconds(seconds) if seconds is not None else None if rounds is None else MaxPasses(rounds)
        return MaxSeconds(seconds) | MaxPasses(rounds)


class LinearModel(Model, LinearParameters, MLReadable[Any], MLWritable):
    """A model of Spark ML; not for users."""

    _task: ClassVar[Task]

    def __init__(self, plain: Any = None) -> None:
        super().__init__()
        self._plain = plain
        self._sent: tuple[SparkContext, Broadcast[Any]] | None = None

    @abstractmethod
    def _columns(self) -> PredictionColumns:
        """Names of the columns that ``transform`` adds."""

    def _transform(self, dataset: DataFrame) -> DataFrame:
        features = self.feature_columns()
        features.check(dataset.schema)
        context = _with_context(dataset).sparkSession.sparkContext
        if self._sent is None or self._sent[0] is not context:
            self._sent = context, context.broadcast(for_prediction(self._fitted()))
        return with_predictions(dataset, self._sent[1], features, self._columns())

    def summary(self, dataset: DataFrame, *, groupsCol: str | None = None, **options: Any) -> Summary:
        """Standard errors, p-values and intervals of the coefficients, from the rows of the fit.

        Parameters
        ----------
        dataset : DataFrame
            The rows of the fit, with labels and weights.
        groupsCol : str, optional
            Column of groups of rows that are not independent, for ``cov="cluster"``.
        **options
            ``cov``, ``columns``, ``level``, ``reference`` and ``weights``, as in `sgdone.LinearClassifier.summary`.

        Returns
        -------
        Summary
            As ``to_sklearn().summary(X, y)`` gives it on one machine.
        """
        columns = _row_columns(self, dataset, self._task, groupsCol)
        if (groupsCol is not None) != (options.get("cov") == "cluster"):
            raise ValueError("cov='cluster' needs groupsCol, the column of groups, and groupsCol needs cov='cluster'")
        with SparkEngine(_with_context(dataset), columns) as engine:
            return summarise_partitions(Rounds(engine), self._fitted(), **options)

    def to_sklearn(self) -> Any:
        """The fitted estimator without Spark: `sgdone.save` stores it, and it predicts arrays and data frames."""
        return copy.deepcopy(self._fitted())

    def write(self) -> MLWriter:
        """A writer: ``model.write().overwrite().save(path)``. The directory has the model file of `sgdone.save`."""
        self._fitted()
        return ModelWriter(self)

    @classmethod
    def read(cls) -> MLReader[Any]:
        """A reader: ``read().load(path)``."""
        return ModelReader(cls)

    @property
    def coef_(self) -> NDArray[Any]:
        """Coefficients, in the units of the features."""
        found: NDArray[Any] = self._fitted().coef_
        return found

    @property
    def intercept_(self) -> NDArray[Any]:
        """Intercepts."""
        found: NDArray[Any] = self._fitted().intercept_
        return found

    @property
    def alpha_(self) -> float:
        """The penalty: the one given or chosen; that of the optimum if the verdict says that it was reached."""
        return float(self._fitted().alpha_)

    @property
    def verdict_(self) -> Verdict:
        """Why the fit ended, and what is left to gain."""
        found: Verdict = self._fitted().verdict_
        return found

    @property
    def trace_(self) -> Trace:
        """One row per round, with the bytes that were sent and received."""
        found: Trace = self._fitted().trace_
        return found

    @property
    def numFeatures(self) -> int:  # noqa: N802  # as in Spark ML
        """Number of features: of encoded columns, those that the encoder makes."""
        return int(self.coef_.shape[-1])

    def _fitted(self) -> Any:
        if self._plain is None:
            raise not_fitted(f"this {type(self).__name__} has no model: make it by fit or load")
        return self._plain

    def __getstate__(self) -> dict[str, Any]:
        """Without the broadcast variable, which belongs to a session."""
        return self.__dict__ | {"_sent": None}


def _row_columns(parameters: LinearParameters, dataset: DataFrame, task: Task, group: str | None = None) -> RowColumns:
    """The columns that the parameters name."""
    weight = parameters.getWeightCol() if parameters.isDefined("weightCol") else None
    features = parameters.feature_columns()
    return RowColumns.of(dataset.schema, features, parameters.getLabelCol(), weight or None, task, group)


def _with_context(dataset: DataFrame) -> DataFrame:
    """The data frame; raise for one of Spark Connect."""
    if not hasattr(dataset, "_jdf"):
        raise TypeError(
            f"sgdone.spark needs a data frame of a Spark session in this process; got {type(dataset).__module__}."
            f"{type(dataset).__name__}, as Spark Connect has them"
        )
    return dataset
