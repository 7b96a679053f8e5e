"""scikit-learn's face of `sgdone.run.run`."""

from sgdone.estimators.classifier import LinearClassifier
from sgdone.estimators.regressor import LinearRegressor

__all__ = ["LinearClassifier", "LinearRegressor"]
