"""Small data sets that come with scikit-learn."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn import datasets as sklearn_datasets

from sgdone.datasets.dataset import Recipe, Split, split_at_random


def _bundled(loader: Callable[[], Any]) -> Split:
    bunch = loader()
    classes = bunch.get("target_names")
    train, test = split_at_random(bunch.data, np.asarray(bunch.target))
    return Split(
        train,
        test,
        feature_names=[str(name) for name in bunch.feature_names],
        target_names=None if classes is None else [str(name) for name in classes],
    )


_SPLIT = "Split 4 : 1 at random."
_UCI = f"UCI Machine Learning Repository, CC BY 4.0. {_SPLIT}"

RECIPES = (
    Recipe(
        name="breast-cancer",
        description="Breast Cancer Wisconsin (Diagnostic): 569 tumours, 30 measures of cell nuclei, "
        f"malignant or benign. Wolberg, Mangasarian and Street (1995); {_UCI}",
        fetch=partial(_bundled, sklearn_datasets.load_breast_cancer),
    ),
    Recipe(
        name="digits",
        description="Optical recognition of handwritten digits: 1,797 images of 8 × 8 pixels, 0–16. Alpaydin "
        f"and Kaynak (1998); {_UCI}",
        fetch=partial(_bundled, sklearn_datasets.load_digits),
    ),
    Recipe(
        name="iris",
        description=f"Iris: 150 flowers of three species, 4 lengths and widths. Fisher (1936); {_UCI}",
        fetch=partial(_bundled, sklearn_datasets.load_iris),
    ),
    Recipe(
        name="wine",
        description=f"Wine: 178 wines of three cultivars, 13 chemical measures. Aeberhard and Forina (1991); {_UCI}",
        fetch=partial(_bundled, sklearn_datasets.load_wine),
    ),
    Recipe(
        name="diabetes",
        description="Diabetes: progression a year after baseline of 442 patients, 10 measures, centred and "
        "scaled by scikit-learn. Efron, Hastie, Johnstone and Tibshirani (2004), no licence "
        f"stated. {_SPLIT}",
        task="regression",
        fetch=partial(_bundled, sklearn_datasets.load_diabetes),
    ),
)
