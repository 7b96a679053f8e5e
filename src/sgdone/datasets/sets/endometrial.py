"""Endometrial cancer: a small set with quasi-complete separation."""

from pathlib import Path

import numpy as np
from pyarrow import csv

from sgdone.datasets.dataset import Recipe, Split
from sgdone.readers.table import Table

_FILES = ("separation/endometrial.csv",)
_FEATURES = ["NV", "PI", "EH"]


def _read(folder: Path) -> Split:
    table = csv.read_csv(str(folder / _FILES[0]))
    X = np.column_stack([table[name].to_numpy() for name in _FEATURES])
    rows = Table(X, table["HG"].to_numpy())
    return Split(rows, test=None, feature_names=_FEATURES, target_names=["low grade", "high grade"])


RECIPES = (
    Recipe(
        name="endometrial",
        description="Endometrial cancer: grade of 79 tumours by neovascularization (NV), pulsatility index "
        "(PI) and endometrium height (EH); every tumour with NV = 1 is of high grade, so the "
        "likelihood has no maximum. Heinze and Schemper (2002), no licence stated. Used whole.",
        files=_FILES,
        read=_read,
    ),
)
