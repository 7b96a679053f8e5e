"""The estimators: a scikit-learn interface to `sgdone.run.run`."""

from sgdone.estimators.linear_classifier import LinearClassifier
from sgdone.estimators.linear_regressor import LinearRegressor
from sgdone.estimators.sgd_classifier import SGDClassifier
from sgdone.estimators.sgd_regressor import SGDRegressor

__all__ = ["LinearClassifier", "LinearRegressor", "SGDClassifier", "SGDRegressor"]
