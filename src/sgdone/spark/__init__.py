"""Linear models on Spark: data frames of vectors or of plain columns, in Spark ML's way.

``pip install "sgdone[spark]"``, and a Java runtime of version 17 or later. The executors need sgdone too: their Python,
which ``PYSPARK_PYTHON`` names before a session starts, must be able to import it.
"""

try:
    import pyspark  # noqa: F401  # a message that says what to install
except ImportError as error:  # pragma: no cover  # the tests' environment has it
    raise ImportError('sgdone.spark needs PySpark: pip install "sgdone[spark]"') from error

from sgdone.spark.estimators import LinearClassifier, LinearClassifierModel, LinearRegressor, LinearRegressorModel

__all__ = ["LinearClassifier", "LinearClassifierModel", "LinearRegressor", "LinearRegressorModel"]

# Spark ML's files name a class by its module: this one, wherever the class is written.
for _kind in (LinearClassifier, LinearClassifierModel, LinearRegressor, LinearRegressorModel):
    _kind.__module__ = __name__
