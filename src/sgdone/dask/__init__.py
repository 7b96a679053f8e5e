"""Linear models on Dask: arrays, data frames and lists of delayed parts, on threads or on a cluster.

``pip install "sgdone[dask]"``. The workers need sgdone too.
"""

try:
    import dask  # noqa: F401  # a message that says what to install
except ImportError as error:  # pragma: no cover  # the tests' environment has it
    raise ImportError('sgdone.dask needs Dask: pip install "sgdone[dask]"') from error

from sgdone.dask.estimators import LinearClassifier, LinearRegressor

__all__ = ["LinearClassifier", "LinearRegressor"]
