"""What a fitted classifier says of rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from sgdone.estimators.inputs import check_rows_to_predict, linear_scores
from sgdone.estimators.probabilities import estimates_probabilities, log_probabilities, probabilities


class ClassPredictions:
    """Scores, labels and probabilities from ``coef_``, ``intercept_`` and ``classes_``; not for the user."""

    coef_: NDArray[Any]
    intercept_: NDArray[Any]
    classes_: NDArray[Any]

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Signed scores: of shape (n_samples,) for two classes (positive for ``classes_[1]``), else one a class."""
        check_is_fitted(self)
        X = check_rows_to_predict(self, X)
        scores = linear_scores(X, self.coef_, self.intercept_)
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The most likely label of each row."""
        scores = self.decision_function(X)
        numbers = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        labels: NDArray[Any] = self.classes_[numbers]
        return labels

    @available_if(estimates_probabilities)
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Probabilities of the classes; for more than two, the softmax of the scores if ``multinomial_``.

        Else they are the one-vs-rest probabilities made to sum to 1.
        """
        return probabilities(self.decision_function(X), multinomial=getattr(self, "multinomial_", False))

    @available_if(estimates_probabilities)
    def predict_log_proba(self, X: Any) -> NDArray[Any]:
        """Logarithms of the probabilities, exact where the probabilities themselves underflow."""
        return log_probabilities(self.decision_function(X), multinomial=getattr(self, "multinomial_", False))
