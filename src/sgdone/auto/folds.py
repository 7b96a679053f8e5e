"""Rows that some models do not learn from, by which these are judged in any pass; others learn from all rows."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from sgdone.auto.candidates import FEWEST
from sgdone.data.source import Block
from sgdone.kernels.bank import NO_FOLD
from sgdone.kernels.row_keys import make_row_keys, number_copies

#: Rows that are judged by: half of few rows, but so many at least if there are, and a sixteenth of many.
_LEAST_JUDGED, _JUDGED, _MOST_JUDGED = 1024, 4096, 32768
#: Copies of a row are looked for where they are more than this share of so many rows, and matter where there are so
#: many different ones.
_FEW_COPIES, _SAMPLE, _MANY_DIFFERENT = 0.02, 8192, 200
#: Copies of one row that are more than this share of all rows are not kept together.
_LARGE_GROUP = 0.01
#: A fold is no larger than this share of all rows.
_SHARE = 0.2


@final
@dataclass(frozen=True)
class Folds:
    """The fold of every row (`NO_FOLD` for most), and the rows that are in one, fold after fold."""

    of_row: NDArray[np.uint8]
    rows: NDArray[np.uint64]
    count: int

    @classmethod
    def none(cls, n_rows: int) -> "Folds":
        """No folds: every model learns from every row."""
        return cls(np.full(n_rows, NO_FOLD, np.uint8), np.empty(0, np.uint64), 0)

    @classmethod
    def drawn(cls, block: Block, unread: NDArray[np.uint64], rng: np.random.Generator) -> "Folds":
        """Folds of rows that no model has learnt from: one for large data, five of all rows for small data."""
        n_rows = block.n_used
        if n_rows < FEWEST or not unread.size:
            return cls.none(block.rows.n_rows)
        wanted = int(min(max(_LEAST_JUDGED, min(n_rows / 2, _JUDGED), n_rows / 16), _MOST_JUDGED))
        size = max(1, min(wanted, int(_SHARE * n_rows)))
        count = int(min(round(1.0 / _SHARE), np.ceil(wanted / size), np.ceil(unread.size / size)))
        # The last of five small folds takes what is left over.
        needed = unread.size if count * _SHARE >= 1.0 else min(count * size, unread.size)
        groups = _copies(block, unread, rng)
        if groups is None:
            rows = rng.choice(unread, needed, replace=False)
        else:
            rows = unread[_first_of_groups(rng.permutation(int(groups.max()) + 1)[groups], needed)]
        of_row = np.full(block.rows.n_rows, NO_FOLD, np.uint8)
        of_row[rows] = np.minimum(np.arange(rows.size) // size, count - 1)
        return cls(of_row, rows[np.argsort(of_row[rows], kind="stable")], count)


def _first_of_groups(places: NDArray[np.intp], needed: int) -> NDArray[np.intp]:
    """The rows whose groups have the first places, so many of them, group after group."""
    last = int(np.searchsorted(np.cumsum(np.bincount(places)), needed))
    few = np.flatnonzero(places <= last)
    return few[np.argsort(places[few], kind="stable")][:needed]


def _copies(block: Block, rows: NDArray[np.uint64], rng: np.random.Generator) -> NDArray[np.intp] | None:
    """A number for each row, the same for copies of a row: these belong into the same fold, or it judges nothing.

    None where there are few different rows, of which each would then be missing from some models altogether, and where
    a sample holds hardly a copy: to compare the rest takes as long as learning from it.
    """
    if rows.size > _SAMPLE and _is_mostly_different(_keys(block, rng.choice(rows, _SAMPLE, replace=False))):
        return None
    groups, count = number_copies(_keys(block, rows))
    # A large group would fill a fold alone: its rows are as good as apart.
    large = (np.bincount(groups) > _LARGE_GROUP * rows.size)[groups]
    groups[large] = count + np.arange(np.count_nonzero(large))
    return groups if groups.max() >= _MANY_DIFFERENT else None


def _is_mostly_different(keys: NDArray[np.float64]) -> bool:
    return number_copies(keys)[1] > (1.0 - _FEW_COPIES) * keys.size


def _keys(block: Block, rows: NDArray[np.uint64]) -> NDArray[np.float64]:
    """A number for each row that tells it from all others but its copies."""
    dense, scaling = block.rows.access.vectors_first, block.rows.scaling
    factors = np.random.default_rng(0).uniform(1.0, 2.0, block.rows.n_features)
    if scaling is not None:
        factors /= scaling.scale
    keys = np.empty(rows.size)
    matrix = block.rows.arrays[: 1 if dense else 4]
    make_row_keys(block.rows.types, dense)(matrix, rows, factors[:, None], keys)
    return keys
