"""Covertype: forest cover type of 30 × 30 m cells in Colorado."""

import lzma
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv
from sklearn.datasets import fetch_covtype

from sgdone.datasets.dataset import Recipe, Split, split_at_random

_NUMERIC = [
    "Elevation",
    "Aspect",
    "Slope",
    "Horizontal_Distance_To_Hydrology",
    "Vertical_Distance_To_Hydrology",
    "Horizontal_Distance_To_Roadways",
    "Hillshade_9am",
    "Hillshade_Noon",
    "Hillshade_3pm",
    "Horizontal_Distance_To_Fire_Points",
]
_N_AREAS, _N_SOILS = 4, 40
_FEATURES = [
    *_NUMERIC,
    *(f"Wilderness_Area_{i + 1}" for i in range(_N_AREAS)),
    *(f"Soil_Type_{i + 1}" for i in range(_N_SOILS)),
]
_CLASSES = [
    "Spruce/Fir",
    "Lodgepole Pine",
    "Ponderosa Pine",
    "Cottonwood/Willow",
    "Aspen",
    "Douglas-fir",
    "Krummholz",
]


def _read(path: Path) -> Split:
    columns = [*_NUMERIC, "Wilderness_Area", "Soil_Type", "Cover_Type"]
    options = csv.ConvertOptions(column_types=dict.fromkeys(columns, pa.int16()), include_columns=columns)
    with lzma.open(path) as stream:
        table = csv.read_csv(stream, convert_options=options)
    area, soil, cover = (table[name].to_numpy() for name in columns[-3:])
    X = np.zeros((table.num_rows, len(_FEATURES)), dtype=np.int16)
    for j, name in enumerate(_NUMERIC):
        X[:, j] = table[name].to_numpy()
    each = np.arange(table.num_rows)
    X[each, len(_NUMERIC) + area - 1] = 1
    X[each, len(_NUMERIC) + _N_AREAS + soil - 1] = 1
    return Split(*split_at_random(X, cover), feature_names=_FEATURES, target_names=_CLASSES)


def _fetch() -> Split:
    X, y = fetch_covtype(return_X_y=True, shuffle=False)
    return Split(*split_at_random(X, y), feature_names=_FEATURES, target_names=_CLASSES)


RECIPES = (
    Recipe(
        name="covertype",
        description="Forest Covertype: seven kinds of forest (codes 1–7), 10 measures of the terrain, 4 "
        "wilderness areas and 40 soil types as 0 or 1. All 581,012 rows if fetched; a file in "
        "SGDONE_DATA may hold fewer. Copyright Jock A. Blackard and Colorado State University "
        "(1998); reuse unlimited with this notice. Split 4 : 1 at random.",
        files=("covertype/covertype.csv.xz",),
        read=_read,
        fetch=_fetch,
    ),
)
