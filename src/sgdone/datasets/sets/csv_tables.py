"""Small dense data sets published as CSV files."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyarrow import csv

from sgdone.datasets.dataset import Recipe, Split, split_at_random
from sgdone.readers.table import Table

_SPLIT = "Split 4 : 1 at random."


def _read(
    *paths: Path,
    target: str,
    target_names: list[str] | None = None,
    exclude: tuple[str, ...] = (),
    whole: bool = False,
) -> Split:
    """Read one file and split it at random unless ``whole``, or read a file of training rows and one of test rows."""
    tables = [csv.read_csv(str(path)) for path in paths]
    names = [name for name in tables[0].column_names if name not in (target, *exclude)]
    parts = [_rows(table, names, target) for table in tables]
    if whole:
        return Split(parts[0], None, feature_names=names, target_names=target_names)
    train, test = parts if len(parts) == 2 else split_at_random(parts[0].X, parts[0].labels)
    return Split(train, test, feature_names=names, target_names=target_names)


def _rows(table: Any, names: list[str], target: str) -> Table:
    X: NDArray[Any] = np.column_stack([table[name].to_numpy() for name in names])
    return Table(X, table[target].to_numpy())


RECIPES = (
    Recipe(
        name="spambase",
        description="Spambase: 4,601 e-mails, frequencies of 48 words and 6 characters and 3 lengths of runs of "
        "capitals, whether they are spam. Hopkins, Reeber, Forman and Suermondt (1999); UCI Machine Learning "
        f"Repository, CC BY 4.0. {_SPLIT}",
        files=("spambase/spambase.csv.gz",),
        read=partial(_read, target="spam", target_names=["ham", "spam"]),
    ),
    Recipe(
        name="pendigits",
        description="Pen-based recognition of handwritten digits: 7,494 + 3,498 digits, 8 points of the pen's path, "
        "0–100. Alpaydin and Alimoglu (1998); UCI Machine Learning Repository, CC BY 4.0. Split by its authors, "
        "with other writers in the test rows.",
        files=("pendigits/train.csv.gz", "pendigits/test.csv.gz"),
        read=partial(_read, target="digit", target_names=[str(digit) for digit in range(10)]),
    ),
    Recipe(
        name="cpusmall",
        description="Computer activity (cpusmall): share of time that 8,192 snapshots of a computer spend in user "
        "mode, in per cent, by 12 counts of system activity in very different units. DELVE, University of Toronto "
        f"(1996), no licence stated. {_SPLIT}",
        task="regression",
        files=("cpusmall/cpusmall.csv.gz",),
        read=partial(_read, target="usr"),
    ),
    Recipe(
        name="colon",
        description="Colon cancer: expression of 2,000 genes in 62 tissues, standardised. Alon et al. (1999), no "
        "licence stated. The file has 40 tissues of class 0 and 22 of class 1; the authors describe 40 tumours and "
        f"22 normal tissues. {_SPLIT}",
        files=("colon/colon.csv.gz",),
        read=partial(_read, target="tumour", target_names=["0", "1"]),
    ),
    Recipe(
        name="bike-sharing",
        description="Bike sharing: bikes rented in each of 17,379 hours in Washington, 12 numbers of the season, the "
        "hour, the day and the weather, categories as integers. Fanaee-T and Gama (2013); UCI Machine Learning "
        f"Repository, CC BY 4.0. {_SPLIT}",
        task="regression",
        files=("bike-sharing/hour.csv.gz",),
        read=partial(_read, target="cnt", exclude=("instant", "dteday", "casual", "registered")),
    ),
    Recipe(
        name="endometrial",
        description="Endometrial cancer: grade of 79 tumours by neovascularization (NV), pulsatility index "
        "(PI) and endometrium height (EH); every tumour with NV = 1 is of high grade, so the "
        "likelihood has no maximum. Heinze and Schemper (2002), no licence stated. Used whole.",
        files=("separation/endometrial.csv",),
        read=partial(_read, target="HG", target_names=["low grade", "high grade"], whole=True),
    ),
)
