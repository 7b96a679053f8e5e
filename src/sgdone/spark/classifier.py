"""Linear classification without knobs, on Spark."""

from collections.abc import Mapping
from typing import Any, final

from numpy.typing import NDArray
from pyspark import keyword_only

from sgdone import estimators
from sgdone.fit.options import as_loss
from sgdone.spark.linear_model import LinearEstimator, LinearModel
from sgdone.spark.parameters import ClassifierParameters
from sgdone.spark.prediction import PredictionColumns


@final
class LinearClassifier(LinearEstimator, ClassifierParameters):
    """Linear classifier with nothing to scale, tune or guess, on data frames of Spark.

    It is fitted where the data are, in rounds: partitions add up losses, gradients and curvatures, and only sums and
    models are sent. The model is the optimum of all rows, as on one machine. It does not depend on the executors, nor
    on tasks that Spark runs again. sgdone must be installed on the executors.

    Parameters
    ----------
    featuresCol : str, default="features"
        Column of vectors, dense or sparse. Sparse vectors stay sparse if fewer than half of all entries are not 0.
    inputCols : list of str, optional
        Instead of ``featuresCol``: columns of numbers, booleans, strings, dates and timestamps, with gaps. They are
        encoded as `sgdone.TableEncoder` describes.
    labelCol : str, default="label"
        Column of labels: numbers, strings or booleans.
    weightCol : str, optional
        Column of non-negative weights: a weight of 2 is the same as the row twice.
    predictionCol : str, default="prediction"
        Column that a model adds: the class, a double for labels that are numbers. An empty name leaves a column out.
    probabilityCol : str, default="probability"
        Column of a vector of probabilities in the order of ``classes_``; left out if the loss has none.
    rawPredictionCol : str, default="rawPrediction"
        Column of a vector of scores.
    loss : str, default="logistic"
        A smooth convex loss: "logistic", "squared_hinge" or "squared". With the logistic loss more than two classes
        make one multinomial model; with any other loss each class is trained against the rest.
    alpha : float or "auto", default="auto"
        L2 penalty, as in `sgdone.LinearClassifier`. "auto" chooses it; the choice is the ``alpha_`` of the model.
    fitIntercept : bool, default=True
        Whether to fit an intercept; it is not penalised.
    classWeight : dict, "balanced" or None, default=None
        Weights of classes, multiplied with those of rows.
    columns : dict, optional
        Kinds of some of the ``inputCols`` by name: "number", "category", "text", "date" or "drop".
    maxSeconds, maxRounds : float, int, optional
        Budgets. Otherwise a fit ends at the optimum.
    checkpoint : str, optional
        File of the driver that keeps the sums of the rounds, to go on from if the driver dies.
    resume : bool, default=False
        Whether to go on from the checkpoint, if it exists.
    seed : int, default=0
        Seed of the order of the rows and of the choice of validation rows.

    Examples
    --------
    >>> from sgdone.spark import LinearClassifier
    >>> model = LinearClassifier(inputCols=["age", "city"], labelCol="bought").fit(df)  # doctest: +SKIP
    >>> model.transform(df).select("prediction", "probability")  # doctest: +SKIP
    >>> print(model.verdict_)  # doctest: +SKIP
    """

    _task = "classification"

    @keyword_only
    def __init__(
        self,
        *,
        featuresCol: str = "features",  # as Spark names parameters
        inputCols: list[str] | None = None,
        labelCol: str = "label",
        weightCol: str | None = None,
        predictionCol: str = "prediction",
        probabilityCol: str = "probability",
        rawPredictionCol: str = "rawPrediction",
        loss: str = "logistic",
        alpha: float | str = "auto",
        fitIntercept: bool = True,
        classWeight: Mapping[Any, float] | str | None = None,
        columns: Mapping[str, str] | None = None,
        maxSeconds: float | None = None,
        maxRounds: int | None = None,
        checkpoint: str | None = None,
        resume: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self._setDefault(loss="logistic")
        self._set(**self._input_kwargs)

    def setParams(self, **params: Any) -> "LinearClassifier":  # noqa: N802
        """Set several parameters by name."""
        return self._set(**params)

    def setClassWeight(self, value: Mapping[Any, float] | str) -> "LinearClassifier":  # noqa: N802
        """Set the weights of classes."""
        return self._set(classWeight=value)

    def _plain(self, **options: Any) -> Any:
        return estimators.LinearClassifier(class_weight=self.getClassWeight(), **options)

    def _model(self, plain: Any) -> "LinearClassifierModel":
        return LinearClassifierModel(plain)


@final
class LinearClassifierModel(LinearModel, ClassifierParameters):
    """A fitted `LinearClassifier`: ``transform`` adds classes, probabilities and scores to a data frame.

    Parameters
    ----------
    plain : sgdone.LinearClassifier, optional
        Fitted; ``to_sklearn`` returns a copy of it.
    """

    _task = "classification"

    def __init__(self, plain: Any = None) -> None:
        super().__init__(plain)
        self._setDefault(loss="logistic")

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, sorted."""
        found: NDArray[Any] = self._fitted().classes_
        return found

    @property
    def numClasses(self) -> int:  # noqa: N802  # as in Spark ML
        """Number of classes."""
        return int(self.classes_.size)

    def _columns(self) -> PredictionColumns:
        has_probabilities = as_loss(self._fitted().loss, "classification").probabilistic
        probability = self.getProbabilityCol() if has_probabilities else ""
        return PredictionColumns(self.getPredictionCol(), probability, self.getRawPredictionCol())
