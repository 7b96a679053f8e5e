"""The papers' data by name.

>>> from sgdone import datasets
>>> data = datasets.load("iris-setosa-vs-rest", subset="all")
>>> data.X.shape, data.target_names
((150, 4), ['rest', 'setosa'])

Some sets come with scikit-learn. The others are read from the folder that the environment variable
``SGDONE_DATA`` names or, where scikit-learn can fetch them, downloaded by it.
"""

from sgdone.datasets.dataset import Dataset, DatasetNotFound
from sgdone.datasets.loading import load, names

__all__ = ["Dataset", "DatasetNotFound", "load", "names"]
