"""Binary classification tasks from multiclass data: one class against another, or against the rest."""

import re
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sgdone.datasets.dataset import Split
from sgdone.readers.table import Table


def choose_classes(split: Split, positive: str, negative: str | None) -> Split:
    """Keep the rows of two classes, or all rows, and label the positive class 1 and the others −1.

    A class is given by its code or its name, in upper or lower case.
    """
    names = split.target_names or []
    codes = np.unique(split.train.labels)
    ours = find_class(positive, codes, names)
    theirs = None if negative is None else find_class(negative, codes, names)
    if ours == theirs:
        raise ValueError(f"{positive!r} and {negative!r} are the same class: give two classes, or 'rest'")

    def relabelled(rows: Table) -> Table:
        if theirs is not None:
            rows = rows.at((rows.y == codes[ours]) | (rows.y == codes[theirs]))
        return Table(rows.X, np.where(rows.y == codes[ours], 1, -1))

    return replace(
        split,
        train=relabelled(split.train),
        test=None if split.test is None else relabelled(split.test),
        target_names=["rest" if theirs is None else names[theirs], names[ours]],
    )


def find_class(wanted: str, codes: NDArray[np.int64], names: list[str]) -> int:
    """Index of a class among the sorted codes."""
    for place, (code, name) in enumerate(zip(codes, names, strict=True)):
        if _key(wanted) in (_key(name), str(code)):
            return place
    known = ", ".join(dict.fromkeys(f"{name}" for name in names))
    raise ValueError(f"no class {wanted!r}: the classes are {known}")


def _key(name: str) -> str:
    return re.sub(r"[\s_/-]+", "-", name.strip().casefold())
