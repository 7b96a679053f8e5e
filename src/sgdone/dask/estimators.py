"""The linear models without knobs, on Dask."""

import copy
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self, final

import dask
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from sgdone import estimators
from sgdone.cluster import Partition, PartitionedRows, Rounds, summarise_partitions
from sgdone.cluster.scores import ScoreSums, score_sums
from sgdone.dask.collections import delayed_partitions, is_array, is_delayed_list, is_frame, whole_rows
from sgdone.dask.engine import DaskEngine
from sgdone.fit.checkpoints import FitCheckpoints
from sgdone.fit.fit import fit
from sgdone.fit.options import FitOptions
from sgdone.inference import Summary
from sgdone.sums.row_sum import merged
from sgdone.tables.not_fitted import not_fitted

#: Attributes of a fitted estimator.
_FITTED = (
    *("coef_", "intercept_", "classes_", "multinomial_", "alpha_", "n_iter_", "verdict_", "trace_", "encoder_"),
    *("n_features_in_", "feature_names_in_", "feature_std_", "feature_share_"),
)


class DaskModel:
    """Base of both estimators; not for users."""

    #: The fitted estimator without Dask.
    _plain: Any
    get_params: Any

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
        every: float = 60.0,
        resume: bool = False,
    ) -> Self:
        """Fit where the data are: only sums and models are sent.

        Parameters
        ----------
        X : dask array, dask data frame, or list of delayed
            Rows. Blocks of an array may be NumPy arrays or SciPy's sparse matrices. Data frames are encoded. A list has
            delayed tuples ``(X, y)`` or ``(X, y, sample_weight)``.
        y : dask array or series
            Labels, in the partitions of ``X`` and in the same order: rows are matched by their place, not by an index.
        sample_weight : dask array or series, optional
            Non-negative weights: a weight of 2 is the same as the row twice.
        checkpoint : path, optional
            File that keeps the sums of the rounds, to go on from if this process dies.
        every : float, default=60
            Seconds between two times that it is written.
        resume : bool, default=False
            Whether to go on from the checkpoint, if it exists: the model is the same, bit for bit.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        began = time.perf_counter()
        checkpoints = FitCheckpoints.of(checkpoint, every, resume)
        options = FitOptions.of(type(self).__name__, **self.get_params())
        with DaskEngine(delayed_partitions(X, y, sample_weight)) as engine:
            model = fit(PartitionedRows(engine, checkpoints, began), options)
        return self._adopt(estimators.estimator_of(model))

    def predict(self, X: Any) -> Any:
        """Predict each row.

        Lazy for Dask's collections: an array for an array, a series with the index of a data frame, and a list of
        delayed arrays for such a list. Data in memory are predicted at once.
        """
        return predicted(self._fitted(), "predict", X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Accuracy or, of a regression, R²; the rows stay where they are."""
        sent, make = dask.delayed(self._fitted()), dask.delayed(_score_sums, pure=False)
        found = dask.compute(*(make(sent, part) for part in delayed_partitions(X, y, sample_weight)))
        sums = [part for part in found if part is not None]
        if not sums:
            raise ValueError("X has no rows of positive weight: there is nothing to score")
        total: ScoreSums = merged(sums)
        return total.score

    def summary(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        cov: Literal["robust", "classical", "cluster"] = "robust",
        groups: Any = None,
        columns: Sequence[Any] | None = None,
        level: float = 0.95,
        reference: Any = None,
        weights: Literal["frequency", "sampling"] = "frequency",
    ) -> Summary:
        """Standard errors, p-values and intervals of the coefficients; the rows stay where they are.

        Parameters
        ----------
        X, y, sample_weight
            The rows of the fit.
        cov, groups, columns, level, reference, weights
            As in `sgdone.LinearClassifier.summary`; ``groups`` is a dask array or series.

        Returns
        -------
        Summary
            ``print`` it; ``to_frame()``, ``plot()``, ``wald(R)``, ``column_tests``, ``refused``.
        """
        plain = self._fitted()
        options = {"cov": cov, "columns": columns, "level": level, "reference": reference, "weights": weights}
        with DaskEngine(delayed_partitions(X, y, sample_weight, groups)) as engine:
            return summarise_partitions(Rounds(engine), estimators.fitted_model(plain), **options)

    def to_sklearn(self) -> Any:
        """The fitted estimator without Dask: `sgdone.save` stores it, and it predicts data in memory."""
        return copy.deepcopy(self._fitted())

    def _fitted(self) -> Any:
        if not hasattr(self, "_plain"):
            raise not_fitted(f"this {type(self).__name__} is not fitted: call fit first")
        return self._plain

    def _adopt(self, plain: Any) -> Self:
        """Take over the fitted attributes of an estimator without Dask."""
        for name in _FITTED:
            vars(self).pop(name, None)
        vars(self).update({name: getattr(plain, name) for name in _FITTED if hasattr(plain, name)})
        self._plain = plain
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_plain")


@final
class LinearClassifier(DaskModel, ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is not typed
    """Linear classifier with nothing to scale, tune or guess, on data of Dask.

    It is fitted where the data are, in rounds: partitions add up losses, gradients and curvatures, and only sums and
    models are sent. The model is the optimum of all rows, as on one machine, and does not depend on the workers. It
    uses the cluster of the current ``distributed.Client``, or threads of this process if there is none.

    Parameters
    ----------
    loss : str or Loss, default="logistic"
        A smooth convex loss: "logistic", "squared_hinge", "squared". With the logistic loss more than two classes make
        one multinomial model; with any other loss each class is trained against the rest.
    stop : str, int or StopRule, default="auto"
        A fit ends at the optimum. A budget such as ``MaxSeconds(60)`` ends it earlier; a round counts as a pass.
    alpha, fit_intercept, class_weight, columns, random_state
        As in `sgdone.LinearClassifier`.
    verbose : int, default=0
        Whether to print a line per round.

    Attributes
    ----------
    coef_, intercept_, classes_, alpha_, n_iter_, encoder_, n_features_in_, feature_names_in_, feature_std_
        As in `sgdone.LinearClassifier`.
    verdict_ : Verdict
        Why the fit ended, and what is left to gain.
    trace_ : Trace
        One row per round, with the bytes that were sent and received: ``to_frame()``, ``plot()``.

    Examples
    --------
    >>> import dask.array as da
    >>> from sgdone.dask import LinearClassifier
    >>> X = da.random.default_rng(0).standard_normal((1000, 3), chunks=(250, 3))
    >>> model = LinearClassifier(random_state=0).fit(X, X[:, 0] > 0.5)
    >>> float((model.predict(X) == (X[:, 0] > 0.5)).mean().compute()) > 0.98
    True
    """

    def __init__(
        self,
        loss: Any = "logistic",
        *,
        alpha: Any = "auto",
        stop: Any = "auto",
        fit_intercept: bool = True,
        class_weight: Any = None,
        columns: Mapping[str, str] | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.alpha = alpha
        self.stop = stop
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.columns = columns
        self.random_state = random_state
        self.verbose = verbose

    def decision_function(self, X: Any) -> Any:
        """Signed scores; lazy as in ``predict``."""
        return predicted(self._fitted(), "decision_function", X)

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes; lazy as in ``predict``: a data frame gives one with a column per class."""
        return predicted(self._fitted(), "predict_proba", X)

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of the probabilities; lazy as in ``predict_proba``."""
        return predicted(self._fitted(), "predict_log_proba", X)


@final
class LinearRegressor(DaskModel, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Linear regression with nothing to scale, tune or guess, on data of Dask.

    Parameters
    ----------
    loss : str or Loss, default="squared"
        A smooth convex loss: "squared" or "huber".
    alpha, stop, fit_intercept, columns, random_state, verbose
        As in `sgdone.dask.LinearClassifier`.

    Attributes
    ----------
    coef_, intercept_, alpha_, n_iter_, encoder_, n_features_in_, feature_names_in_, feature_std_, verdict_, trace_
        As in `sgdone.dask.LinearClassifier`.

    Examples
    --------
    >>> import dask.array as da
    >>> from sgdone.dask import LinearRegressor
    >>> X = da.random.default_rng(0).standard_normal((1000, 2), chunks=(250, 2))
    >>> LinearRegressor(random_state=0).fit(X, 3 * X[:, 0] + 1).coef_.round(2)
    array([3., 0.])
    """

    def __init__(
        self,
        loss: Any = "squared",
        *,
        alpha: Any = "auto",
        stop: Any = "auto",
        fit_intercept: bool = True,
        columns: Mapping[str, str] | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.alpha = alpha
        self.stop = stop
        self.fit_intercept = fit_intercept
        self.columns = columns
        self.random_state = random_state
        self.verbose = verbose


def predicted(model: Any, method: str, X: Any) -> Any:
    """Predictions of a method of a fitted estimator for the rows of X, not computed yet.

    The result is an array, a series or data frame with the index of ``X``, or a list of delayed arrays. Data in memory
    are predicted at once.
    """
    if is_array(X):
        rows, example = whole_rows(X), _example(model, method)
        shape = {"drop_axis": 1} if example.ndim == 1 else {"chunks": (rows.chunks[0], (example.shape[1],))}
        own = {"model": dask.delayed(model), "method": method, "meta": example, "dtype": example.dtype}
        return rows.map_blocks(_of_block, **own, **shape)
    if is_frame(X):
        meta = _framed(model, _example(model, method, n_rows=1), None).iloc[:0]
        return X.map_partitions(_of_partition, model=dask.delayed(model), method=method, meta=meta)
    if is_delayed_list(X):
        sent = dask.delayed(model)
        return [dask.delayed(_of_part)(part, sent, method) for part in X]
    return getattr(model, method)(X)


def _score_sums(model: Any, partition: Partition) -> ScoreSums | None:
    if partition.fault:
        raise ValueError(f"partition {partition.number}: {partition.fault}")
    return None if partition.is_empty else score_sums(model, partition)


def _of_block(block: Any, model: Any, method: str) -> Any:
    if block.shape[0] == 0:
        return _example(model, method)
    return getattr(model, method)(block)


def _of_partition(frame: Any, model: Any, method: str) -> Any:
    return _framed(model, _of_block(frame, model, method), frame.index)


def _of_part(part: Any, model: Any, method: str) -> Any:
    return _of_block(part[0] if isinstance(part, (tuple, list)) else part, model, method)


def _framed(model: Any, found: Any, index: Any) -> Any:
    """Predictions as a series, or as a data frame with a column for each class."""
    import pandas as pd

    if found.ndim == 1:
        return pd.Series(found, index=index)
    return pd.DataFrame(found, index=index, columns=model.classes_.tolist())


def _example(model: Any, method: str, n_rows: int = 0) -> Any:
    """Predictions of no rows, or of some."""
    n_outputs = np.atleast_2d(model.coef_).shape[0]
    if method == "predict":
        return model.classes_[:n_rows] if hasattr(model, "classes_") else np.zeros(n_rows)
    if method == "decision_function":
        return np.zeros(n_rows) if n_outputs == 1 else np.zeros((n_rows, n_outputs))
    return np.zeros((n_rows, model.classes_.size))
