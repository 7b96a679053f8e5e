"""Rows set aside for validation, in folds: some models do not train on a fold and are evaluated on it."""

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import NDArray

from sgdone.kernels.bank import NO_FOLD
from sgdone.kernels.row_keys import make_row_keys, number_copies
from sgdone.rows.source import Block

#: With fewer rows than this nothing can be validated.
FEWEST = 20
#: Validation rows: half of the rows up to 4,096, but at least 1,024 if there are as many, and a sixteenth of many.
_LEAST, USUAL, MOST = 1024, 4096, 32768
#: Copies of rows are searched for if a sample of 8,192 rows has more than 2 % of them, and kept in one fold if there
#: are at least 200 different rows.
_FEW_COPIES, _SAMPLE, _MANY_DIFFERENT = 0.02, 8192, 200
#: Copies of one row that make up more than this share of all rows are not kept together.
_LARGE_GROUP = 0.01
#: Largest share of all rows in a fold.
_SHARE = 0.2


@final
@dataclass(frozen=True)
class ValidationRows:
    """Rows of a matrix in memory, in folds.

    Parameters
    ----------
    count : int
        Number of folds; 0 if there are no validation rows.
    of_row : ndarray
        The fold of every row of the matrix; `NO_FOLD` for training rows.
    rows : ndarray
        The rows of the folds, fold after fold.
    block : Block or None
        A block of the matrix.
    groups : ndarray
        Group number of each row of ``rows``, equal for copies of a row; empty if copies were not searched for.
    numbers : ndarray
        Numbers in their source of rows that are copies; empty for rows of a matrix in memory.
    """

    count: int = 0
    of_row: NDArray[np.uint8] = field(default_factory=lambda: np.empty(0, np.uint8))
    rows: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))
    block: Block | None = None
    groups: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, np.intp))
    numbers: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    def folds_of(self, block: Block) -> NDArray[np.uint8]:
        """The fold of every row of a block's matrix, which may be another one: then all rows are training rows."""
        if block.folds is not None:
            return block.folds
        if self.of_row.size == block.rows.n_rows and self.shares_matrix_of(block):
            return self.of_row
        return np.full(block.rows.n_rows, NO_FOLD, np.uint8)

    def shares_matrix_of(self, block: Block) -> bool:
        """Whether the validation rows are rows of a block's matrix."""
        return self.block is not None and self.block.labels is block.labels

    @classmethod
    def drawn(cls, block: Block, unread: NDArray[np.uint64], rng: np.random.Generator) -> "ValidationRows":
        """Draw folds among unread rows: one for large data, five that cover all rows for small data."""
        n_rows = block.n_used
        if n_rows < FEWEST or not unread.size:
            return cls()
        wanted = int(min(max(_LEAST, min(n_rows / 2, USUAL), n_rows / 16), MOST))
        size = max(1, min(wanted, int(_SHARE * n_rows)))
        count = int(min(round(1.0 / _SHARE), np.ceil(wanted / size), np.ceil(unread.size / size)))
        # The last of five small folds takes what is left over.
        needed = unread.size if count * _SHARE >= 1.0 else min(count * size, unread.size)
        groups, of_groups = _groups_of_copies(block, unread, rng), np.empty(0, np.intp)
        if groups is None:
            rows = rng.choice(unread, needed, replace=False)
        else:
            chosen = _first_of_groups(rng.permutation(int(groups.max()) + 1)[groups], needed)
            rows, of_groups = unread[chosen], groups[chosen]
        of_row = np.full(block.rows.n_rows, NO_FOLD, np.uint8)
        of_row[rows] = np.minimum(np.arange(rows.size) // size, count - 1)
        order = np.argsort(of_row[rows], kind="stable")
        return cls(count, of_row, rows[order], block, of_groups[order] if of_groups.size else of_groups)


def _first_of_groups(places: NDArray[np.intp], needed: int) -> NDArray[np.intp]:
    """The first ``needed`` rows, in the order of their groups' places."""
    last = int(np.searchsorted(np.cumsum(np.bincount(places)), needed))
    few = np.flatnonzero(places <= last)
    return few[np.argsort(places[few], kind="stable")][:needed]


def _groups_of_copies(block: Block, rows: NDArray[np.uint64], rng: np.random.Generator) -> NDArray[np.intp] | None:
    """Group number of each row, equal for copies of a row, which must be in the same fold.

    None if there are few different rows, because each would then be missing from some models altogether, unless copies
    of a row also have the same label: then they are the same observation. None too if a sample has hardly any copies,
    because comparing all rows takes as long as training on them.
    """
    if rows.size > _SAMPLE and _is_mostly_different(_keys(block, rng.choice(rows, _SAMPLE, replace=False), rng)):
        return None
    groups, count = number_copies(_keys(block, rows, rng))
    repeated = FEWEST <= count <= (1.0 - _FEW_COPIES) * rows.size and _agree(block.labels[rows], groups)
    # A large group would fill a fold by itself: treat its rows as different.
    large = (np.bincount(groups) > (_SHARE / 2.0 if repeated else _LARGE_GROUP) * rows.size)[groups]
    groups[large] = count + np.arange(np.count_nonzero(large))
    return groups if repeated or groups.max() >= _MANY_DIFFERENT else None


def _agree(labels: NDArray[np.float64], groups: NDArray[np.intp]) -> bool:
    """Whether the rows of each group have one label."""
    first = np.unique(groups, return_index=True)[1]
    return bool(np.all(labels == labels[first][groups]))


def _is_mostly_different(keys: NDArray[np.float64]) -> bool:
    return number_copies(keys)[1] > (1.0 - _FEW_COPIES) * keys.size


def _keys(block: Block, rows: NDArray[np.uint64], rng: np.random.Generator) -> NDArray[np.float64]:
    """A random projection of each row: equal for copies of a row and, almost surely, only for these."""
    scaling = block.rows.scaling
    # From a generator of their own: the number of columns, some of which may be constant, does not change the folds.
    factors = rng.spawn(1)[0].uniform(1.0, 2.0, block.rows.n_features)
    if scaling is not None:
        factors /= scaling.scale
    total = np.zeros(rows.size)
    for columns, part in block.rows.parts:
        keys = np.empty(rows.size)
        matrix = part.arrays[: 1 if part.is_dense else 4]
        make_row_keys(part.types, part.is_dense)(matrix, rows, factors[columns, None], keys)
        total += keys
    return total
