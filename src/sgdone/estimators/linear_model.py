"""scikit-learn interface of linear models: checks of data, callbacks, warnings, and attributes of the fitted model."""

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_y, validate_data

from sgdone.estimators.callbacks import SklearnCallbacks
from sgdone.fit import summaries
from sgdone.fit.checkpoints import FitCheckpoints
from sgdone.fit.columns import InputChecks, InputColumns, check_lengths, is_predicted_in_parts, is_row_input
from sgdone.fit.fit import TrainingRows, fit
from sgdone.fit.fitted_model import FittedModel
from sgdone.fit.followers import ProgressHook
from sgdone.fit.loaded_rows import LoadedRows, start_model
from sgdone.fit.options import PARAMETERS, FitOptions, as_loss
from sgdone.fit.partial_fit import partial_fit
from sgdone.fit.streamed_rows import (
    StreamedRows,
    predicted_in_parts,
    refuse_given,
    row_input,
    train_in_parts,
)
from sgdone.interfaces.stop_rule import Status
from sgdone.readers.table import Table
from sgdone.run import Trace, Verdict
from sgdone.tables.not_fitted import used_before_fit
from sgdone.tables.table_encoder import TableEncoder
from sgdone.tables.warn_user import warn_user

if TYPE_CHECKING:  # imported when a summary is asked for: a fit does not wait for them
    import pandas as pd

    from sgdone.inference import Summary
    from sgdone.inference.prediction import Intervals

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]  # for a scikit-learn without it
        """Empty: this scikit-learn has no callbacks."""

    def with_callbacks(method: Any) -> Any:
        """Leave the method as it is: this scikit-learn has no callbacks."""
        return method


Fit = TypeVar("Fit", bound=Callable[..., Any])


def unchanged_if_it_fails(fit: Fit) -> Fit:
    """Restore the attributes if ``fit`` raises: the model of an earlier fit can still be used.

    Ctrl-C after training leaves the new model. scikit-learn sets ``n_features_in_`` and ``feature_names_in_`` before
    labels and parameters are checked.
    """

    @wraps(fit)
    def restoring(self: Any, *arguments: Any, **options: Any) -> Any:
        before = _fitted_attributes(self)
        try:
            return fit(self, *arguments, **options)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and vars(self).get("_fitted") is not before.get("_fitted"):
                self.verdict_ = self.trace_.verdict = self.verdict_.interrupted("Ctrl-C was pressed after training")
                return self
            for name in _fitted_attributes(self):
                delattr(self, name)
            vars(self).update(before)
            raise

    return restoring  # type: ignore[return-value]  # the same signature


def _fitted_attributes(estimator: Any) -> dict[str, Any]:
    """Attributes that ``fit`` sets; callbacks of scikit-learn keep other ones."""
    return {name: value for name, value in vars(estimator).items() if name.endswith("_") or name == "_fitted"}


@final
class Fitted:
    """An attribute of the fitted model, as an attribute of the estimator."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, estimator: Any, owner: type | None = None) -> Any:
        if estimator is None:
            return self
        model = vars(estimator).get("_fitted")
        value = None if model is None else getattr(model, self._name)
        if value is None:
            raise AttributeError(f"{type(estimator).__name__!r} object has no attribute {self._name!r}")
        return value

    def __set__(self, estimator: Any, value: Any) -> None:
        if "_fitted" not in vars(estimator):  # a model whose coefficients the user gives
            options = estimator._options()
            estimator._fitted = FittedModel(options, InputColumns.of(options), np.zeros(0), np.zeros(1))
        estimator._fitted = replace(estimator._fitted, **{self._name: value})

    def __delete__(self, estimator: Any) -> None:
        self.__set__(estimator, None)


@final
class SklearnChecks(InputChecks):
    """scikit-learn's checks of data, for an estimator."""

    def __init__(self, estimator: Any) -> None:
        self._estimator = estimator

    def numbers(
        self, columns: InputColumns, X: Any, *y: Any, types: Sequence[Any], reset: bool, numeric: bool = False
    ) -> Any:
        """Rows as a C-contiguous array or a CSR matrix of the first of ``types``, or the one they have; and labels."""
        checks = {"accept_sparse": "csr", "dtype": types, "order": "C", "ensure_all_finite": False}
        own = {"y_numeric": numeric} if y else {}
        with _numbered_columns_allowed(columns, X):
            found = validate_data(self._estimator, X, *y, reset=reset, **checks, **own)
        self._keep(columns, reset=reset)
        return found

    def features(self, columns: InputColumns, X: Any, *, reset: bool) -> None:
        """Keep the number of columns, and their names, or compare them with those of the fit."""
        with _numbered_columns_allowed(columns, X):
            validate_data(self._estimator, X, reset=reset, skip_check_array=True)
        self._keep(columns, reset=reset)

    def labels(self, y: Any, n_rows: int, *, numeric: bool = False) -> NDArray[Any]:
        """One label for each row."""
        labels: NDArray[Any] = _check_y(y, y_numeric=numeric, estimator=self._estimator)
        check_lengths(n_rows, labels.shape[0])
        return labels

    def _keep(self, columns: InputColumns, *, reset: bool) -> None:
        if reset:
            columns.count = self._estimator.n_features_in_
            columns.names = getattr(self._estimator, "feature_names_in_", None)


@contextmanager
def _numbered_columns_allowed(columns: InputColumns, X: Any) -> Iterator[None]:
    """Let an array have the columns 0, 1, 2, … of a data frame that `fit` had, without a warning about names."""
    names = [] if columns.names is None else columns.names.tolist()
    if hasattr(X, "columns") or not names or names[0] != "0" or names != list(map(str, range(len(names)))):
        yield
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield


class LinearModel(CallbackSupportMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is not typed
    """Base of the four estimators: their parameters go to `sgdone.fit.fit`, which returns their fitted model."""

    #: The name of the estimator in messages and files.
    _name: ClassVar[str]
    #: Makes a hook for each model, which is called after each chunk of rows; for tests.
    _progress_hook: ProgressHook | None = None
    _fitted: FittedModel

    n_features_in_: int
    feature_names_in_: NDArray[Any]
    coef_: NDArray[Any] = Fitted()  # type: ignore[assignment]  # a descriptor
    intercept_: NDArray[Any] = Fitted()  # type: ignore[assignment]
    alpha_: float = Fitted()  # type: ignore[assignment]
    n_iter_: int = Fitted()  # type: ignore[assignment]
    trace_: Trace = Fitted()  # type: ignore[assignment]
    verdict_: Verdict = Fitted()  # type: ignore[assignment]
    feature_std_: NDArray[np.float64] = Fitted()  # type: ignore[assignment]
    feature_share_: NDArray[np.float64] = Fitted()  # type: ignore[assignment]

    def _options(self) -> FitOptions:
        # By name: a subclass may have other parameters, or set some of these itself.
        return FitOptions.of(self._name, **{name: getattr(self, name) for name in PARAMETERS[self._name]})

    def _model(self) -> FittedModel:
        # n_features_in_ is set before anything else is checked: it does not show that a fit succeeded.
        if "_fitted" not in vars(self):
            raise used_before_fit(self._name)
        return self._fitted

    @with_callbacks
    @unchanged_if_it_fails
    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        coef_init: ArrayLike | None = None,
        intercept_init: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        every: float = 60.0,
        resume: bool = False,
    ) -> Self:
        """Train until the stopping rule fires.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features), or a source
            Training rows. A source, from `sgdone.files` or `sgdone.batches`, has the labels and weights too.
        y : array of shape (n_samples,)
            Labels of any kind, or numbers of a regression; required unless ``X`` is a source.
        coef_init, intercept_init : arrays, optional
            The model to start from.
        sample_weight : array of shape (n_samples,), optional
            Non-negative weights; they multiply the loss of a row, and a row of weight 0 is not read.
        checkpoint : path, optional
            File for checkpoints of a fit on a source that does not fit into memory. Ctrl-C and SIGTERM write one too.
        every : float, default=60
            Seconds between two checkpoints.
        resume : bool, default=False
            Whether to go on from the checkpoint, if it exists: the model is the same, bit for bit, as without the
            interruption.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        options = self._options()
        rows: TrainingRows
        if is_row_input(X, y):
            given = [("y", y), ("coef_init", coef_init), ("intercept_init", intercept_init)]
            refuse_given([*given, ("sample_weight", sample_weight)])
            rows = StreamedRows(row_input(X), FitCheckpoints.of(checkpoint, every, resume), SklearnChecks(self))
        else:
            if checkpoint is not None or resume:
                raise ValueError(
                    "checkpoints are written for rows that are read in parts: give files, sgdone.files(...)"
                )
            loaded = LoadedRows.for_fit(X, y, sample_weight, options, SklearnChecks(self))
            last = vars(self).get("_fitted")
            rows = replace(loaded, start=start_model(loaded, options, coef_init, intercept_init, last))
        callbacks = SklearnCallbacks(self, _attributes) if getattr(self, "_skl_callbacks", None) else None
        self._adopt(fit(rows, options, hook=self._progress_hook, callbacks=callbacks))
        return self._warn_of_divergence()

    def _partial_fit(self, X: Any, y: Any, sample_weight: Any, *, classes: Any = None, resume: bool) -> Self:
        if is_row_input(X, y):
            refuse_given([("y", y), ("sample_weight", sample_weight)])
            first = isinstance(self, ClassifierMixin) and classes is None and "_fitted" not in vars(self)

            def train(table: Table, labels: NDArray[Any], known: NDArray[Any] | None) -> None:
                own = known if classes is None else classes
                self._partial_fit(table.X, labels, table.weights, classes=own, resume=resume)

            train_in_parts(X, train, first)
            return self
        options, last = self._options(), vars(self).get("_fitted")
        if last is not None and last.results is None:
            last = None
        rows = LoadedRows.for_partial_fit(X, y, sample_weight, options, SklearnChecks(self), last=last, classes=classes)
        self._adopt(partial_fit(rows, options, last, resume=resume, hook=self._progress_hook))
        return self._warn_of_divergence()

    def _adopt(self, model: FittedModel) -> Self:
        """Become fitted: nothing is set before everything is known."""
        for name in ("feature_names_in_", "n_features_in_"):
            self.__dict__.pop(name, None)
        self.__dict__.update(_attributes(model))
        return self

    def _warn_of_divergence(self) -> Self:
        if self.verdict_.status is Status.DIVERGED:
            warn_user(str(self.verdict_), category=ConvergenceWarning)
        return self

    @property
    def encoder_(self) -> TableEncoder:
        """Encoder of the columns of a data frame."""
        encoder = None if "_fitted" not in vars(self) else self._fitted.encoder_
        if encoder is None:
            raise AttributeError(f"{self._name!r} object has no attribute 'encoder_'")
        return TableEncoder.of(encoder)

    def get_feature_names_out(self) -> NDArray[Any]:
        """Names of the features of ``coef_``: columns, or their encoded features."""
        return self._model().get_feature_names_out()

    def coefficients(self) -> "pd.DataFrame":
        """The coefficients with the names of their features, as a pandas data frame; the intercept comes first.

        Returns
        -------
        pandas.DataFrame
            ``name`` as in `get_feature_names_out`; ``value``; ``value_per_std``, the value times the standard deviation
            of the feature, which compares features in different units; ``share``, of the rows of ``fit`` that have the
            feature (a level, a word, a non-zero entry of a sparse matrix; 1 for dense columns). With more than two
            classes also ``class``. After ``partial_fit`` alone ``value_per_std`` and ``share`` are not known: NaN.

        Examples
        --------
        >>> import pandas as pd
        >>> from sgdone import LinearRegressor
        >>> rents = pd.DataFrame({"city": ["Rome", "Oslo"] * 50, "rooms": [1, 2, 3, 4] * 25})
        >>> model = LinearRegressor(random_state=0).fit(rents, 500 * rents["rooms"] + 300 * (rents["city"] == "Oslo"))
        >>> model.coefficients()[["name", "value", "share"]].round(1)
                  name  value  share
        0  (intercept)  150.0    1.0
        1        rooms  500.0    1.0
        2    city=Oslo  150.0    0.5
        3    city=Rome -150.0    0.5
        """
        return self._model().coefficients()

    def summary(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        cov: Literal["robust", "classical", "cluster"] = "robust",
        groups: ArrayLike | None = None,
        columns: Sequence[Any] | None = None,
        level: float = 0.95,
        reference: Any = None,
        weights: Literal["frequency", "sampling"] = "frequency",
    ) -> "Summary":
        """Standard errors, p-values and intervals of the coefficients, where they can be trusted.

        They belong to the optimum without a penalty, which Newton's method finds from the model; the model itself is
        not changed. Coefficients whose standard error would be wrong are refused, with the reason in ``refused``.

        Levels of a category, and months, weekdays and hours of a date, are compared with the most frequent one of the
        rows given: its coefficient would be 0. ``column_tests`` has one test for all levels of each.

        Parameters
        ----------
        X, y : array, sparse matrix or data frame, and array
            The rows of the fit; or a source, such as `sgdone.files`, which has the labels too. Rows that do not fit
            into memory are kept on disk while the sums are computed.
        sample_weight : array of shape (n_samples,), optional
            As in ``fit``.
        cov : {"robust", "classical", "cluster"}, default="robust"
            "robust" is the sandwich H⁻¹(Σggᵀ)H⁻¹·n/(n − k), with the curvature H and the gradients g of the rows: right
            if the model is not exactly true, for errors of unequal variance say. "classical" is the inverse of the
            information, of the squared loss with t quantiles of n − k degrees of freedom. "cluster" sums g over each of
            the ``groups``, with the factor G/(G − 1)·(n − 1)/(n − k): for rows that are not independent.
        groups : array of shape (n_samples,), optional
            The group of each row, for ``cov="cluster"``: at least 30 groups.
        columns : sequence of str or int, optional
            Names or numbers of the features to report; all by default. The name of a column of a table stands for all
            of its features: levels, parts of a date, missing values. With more than 4,096 coefficients a few columns
            take much less time, and are exact.
        level : float, default=0.95
            Level of the intervals.
        reference : label, optional
            The class that the others are compared with; the first by default.
        weights : {"frequency", "sampling"}, default="frequency"
            Whether a weight of 2 stands for two equal rows, or for a row that was drawn with half the probability.

        Returns
        -------
        Summary
            ``print`` it; ``to_frame()``, ``plot()``, ``wald(R)``, ``column_tests``, ``refused``.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from sgdone import LinearRegressor
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> summary = LinearRegressor().fit(X, y).summary(X, y, columns=["bmi"])
        >>> summary.features, summary.coef.round(1), summary.std_err.round(1)
        (['(intercept)', 'bmi'], array([152.1, 519.8]), array([ 2.6, 67.4]))
        """
        model = self._model()
        options = summaries.SummaryOptions(cov, groups, columns, level, reference, weights)
        return summaries.summary(model, X, y, sample_weight, options, SklearnChecks(self))

    def predict_interval(self, X: Any, summary: "Summary", *, level: float | None = None) -> "Intervals":
        """Intervals of means or probabilities, from the optimum of a summary.

        The delta method on the score: the interval of a probability is that of its log odds, so that it stays between 0
        and 1. Intervals are those of the mean, not of a new observation.

        Parameters
        ----------
        X : array, sparse matrix or data frame
            Rows to predict.
        summary : Summary
            What ``summary`` returned.
        level : float, optional
            Level of the intervals; that of the summary by default.

        Returns
        -------
        Intervals
            ``estimate``, ``low`` and ``high``: means, or probabilities of ``classes_[1]``; with more classes a column
            each. NaN for rows whose prediction depends on a coefficient that is refused, or on a level that no row of
            the summary had.
        """
        return summaries.predict_interval(self._model(), X, summary, level, SklearnChecks(self))

    def _predicted(self, method: str, X: Any) -> Any:
        """The result of a method of the fitted model; of rows that are read in parts, an iterator over arrays."""
        model = self._model()
        if is_predicted_in_parts(X):
            return predicted_in_parts(X, lambda part: self._predicted(method, part))
        return getattr(model, method)(X, SklearnChecks(self))

    def __sklearn_is_fitted__(self) -> bool:
        return "_fitted" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _attributes(model: FittedModel) -> dict[str, Any]:
    """Attributes that make an estimator of a fitted model."""
    names = {} if model.feature_names_in_ is None else {"feature_names_in_": model.feature_names_in_}
    return {"_fitted": model, "n_features_in_": model.n_features_in_, **names}


def estimates_probabilities(model: Any) -> bool:
    """Whether a classifier's loss has probabilities; an AttributeError if not, as in scikit-learn."""
    loss = as_loss(model.loss, "classification")
    if not loss.probabilistic:
        raise AttributeError(
            f"probability estimates need a loss that has them: use loss='logistic' (this one is {loss.name!r})"
        )
    return True


class Classifier(ClassifierMixin, LinearModel):  # type: ignore[misc]
    """Base of the classifiers."""

    classes_: NDArray[Any] = Fitted()  # type: ignore[assignment]
    multinomial_: bool = Fitted()  # type: ignore[assignment]

    @unchanged_if_it_fails
    def partial_fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        resume: bool = False,
    ) -> Self:
        """Train on some rows of a stream in one pass; step sizes continue from call to call.

        Parameters
        ----------
        X, y, sample_weight
            As in ``fit``.
        classes : array, optional
            All labels that can occur; needed in the first call. Of a source, those of its first rows by default.
        resume : bool
            Continue although a stopping rule given by the user has ended the model.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        return self._partial_fit(X, y, sample_weight, classes=classes, resume=resume)

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Signed scores: shape (n_samples,) for two classes (positive for ``classes_[1]``), else one per class."""
        return self._predicted("scores", X)  # type: ignore[no-any-return]

    def predict(self, X: Any) -> NDArray[Any]:
        """The most likely label of each row; for a source, an iterator over arrays, one per part."""
        return self._predicted("predict", X)  # type: ignore[no-any-return]

    @available_if(estimates_probabilities)
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Probabilities of the classes; for more than two, the softmax of the scores if ``multinomial_``.

        Otherwise they are the one-vs-rest probabilities, normalised to sum to 1.
        """
        return self._predicted("predict_proba", X)  # type: ignore[no-any-return]

    @available_if(estimates_probabilities)
    def predict_log_proba(self, X: Any) -> NDArray[Any]:
        """Logarithms of the probabilities, exact where the probabilities themselves underflow."""
        return self._predicted("predict_log_proba", X)  # type: ignore[no-any-return]


class Regressor(RegressorMixin, LinearModel):  # type: ignore[misc]
    """Base of the regressors."""

    @unchanged_if_it_fails
    def partial_fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        resume: bool = False,
    ) -> Self:
        """Train on some rows of a stream in one pass; step sizes continue from call to call."""
        return self._partial_fit(X, y, sample_weight, resume=resume)

    def predict(self, X: Any) -> NDArray[Any]:
        """The predicted number of each row; for a source, an iterator over arrays, one per part."""
        return self._predicted("predict", X)  # type: ignore[no-any-return]
