"""The data sets of the papers, by name.

>>> from sgdone import datasets
>>> data = datasets.load("iris-setosa-vs-rest", subset="all")
>>> data.X.shape, data.target_names
((150, 4), ['rest', 'setosa'])

Some data sets come with scikit-learn. The others are read from the folder given by the environment variable
``SGDONE_DATA`` or, if scikit-learn has a fetcher for them, downloaded.
"""

from sgdone.datasets.dataset import Dataset, DatasetNotFound
from sgdone.datasets.loading import load, names

__all__ = ["Dataset", "DatasetNotFound", "load", "names"]
