"""What scikit-learn expects of an estimator, beside what the estimator does."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_y, validate_data

from sgdone.estimators.classification import Classification, estimates_probabilities
from sgdone.estimators.linear_model import LinearModel
from sgdone.estimators.regression import Regression
from sgdone.fit.open_rows import check_lengths
from sgdone.interfaces.stop_rule import Status
from sgdone.tables import TableEncoderCore
from sgdone.tables.table_encoder import TableEncoder

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    #: Frames between a decorated method and its caller, for warnings.
    _WRAPPERS_OF_FIT = 1
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]  # for a scikit-learn without it
        """Empty: this scikit-learn has no callbacks."""

    def with_callbacks(method: Any) -> Any:
        """Leave the method as it is: this scikit-learn has no callbacks."""
        return method

    _WRAPPERS_OF_FIT = 0


@contextmanager
def _numbered_columns_allowed(model: Any, X: Any) -> Iterator[None]:
    """Let an array have the columns 0, 1, 2, … of a data frame that `fit` had, without a warning about names."""
    names: Any = getattr(model, "feature_names_in_", ())
    if hasattr(X, "columns") or not len(names) or names[0] != "0" or list(names) != list(map(str, range(len(names)))):
        yield
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield


class SklearnModel(CallbackSupportMixin, LinearModel, BaseEstimator):  # type: ignore[misc]  # scikit-learn is not typed
    """A linear model with scikit-learn's parameters, tags, callbacks, warnings and checks of data; not for users."""

    _encoder_class: ClassVar[type[TableEncoderCore]] = TableEncoder

    def _check_numbers(self, X: Any, *y: Any, types: Sequence[Any], reset: bool, **options: Any) -> Any:
        checks = {"accept_sparse": "csr", "dtype": types, "order": "C", "ensure_all_finite": False}
        own = {"y_numeric": options["numeric"]} if options else {}
        with _numbered_columns_allowed(self, X):
            return validate_data(self, X, *y, reset=reset, **checks, **own)

    def _check_features(self, X: Any, *, reset: bool) -> None:
        with _numbered_columns_allowed(self, X):
            validate_data(self, X, reset=reset, skip_check_array=True)

    def _check_labels(self, y: Any, n_rows: int, *, numeric: bool = False) -> NDArray[Any]:
        labels: NDArray[Any] = _check_y(y, y_numeric=numeric, estimator=self)
        check_lengths(n_rows, labels.shape[0])
        return labels

    def _keep(self, attributes: dict[str, Any], *, partial_fit: bool) -> None:
        super()._keep(attributes, partial_fit=partial_fit)
        if self.verdict_.status is Status.DIVERGED:
            frames = 6 if partial_fit else 6 + _WRAPPERS_OF_FIT
            warnings.warn(str(self.verdict_), ConvergenceWarning, stacklevel=frames)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class SklearnClassifier(ClassifierMixin, SklearnModel, Classification):  # type: ignore[misc]
    """A classifier as scikit-learn knows it; not for users."""

    fit = with_callbacks(Classification.fit)
    predict_proba = available_if(estimates_probabilities)(Classification.predict_proba)
    predict_log_proba = available_if(estimates_probabilities)(Classification.predict_log_proba)


class SklearnRegressor(RegressorMixin, SklearnModel, Regression):  # type: ignore[misc]
    """A regressor as scikit-learn knows it; not for users."""

    fit = with_callbacks(Regression.fit)
