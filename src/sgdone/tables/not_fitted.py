"""The error of an estimator that has not been fitted."""

from typing import Any


def not_fitted(message: str) -> Any:
    """scikit-learn's ``NotFittedError``, imported only when it is needed."""
    from sklearn.exceptions import NotFittedError

    return NotFittedError(message)


def used_before_fit(name: str) -> Any:
    """The error of a method that needs a fitted estimator, in scikit-learn's words."""
    return not_fitted(
        f"This {name} instance is not fitted yet. Call 'fit' with appropriate arguments before using this estimator."
    )
