"""Rows set aside for validation: drawn in folds from a matrix in memory, chosen by keyed hashes in a stream."""

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import NDArray

from sgdone.kernels.bank import NO_FOLD
from sgdone.kernels.row_hash import csr_keys, dense_keys, number_copies
from sgdone.kernels.words import PAIR_FACTOR, mixed
from sgdone.matrices.stacking import widened
from sgdone.rows.blocks import BLOCK_ROWS, EncodedRows, joined
from sgdone.rows.rows import Block, Rows

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
#: Hashes below this, a tenth of all, are those of validation rows, until there are too many.
_TENTH = (1 << 64) // 10
#: Seed with which validation rows are drawn, whatever the seed of the fit.
FIXED_SEED = 0
#: Share of the rows of the first block that must be different for the features to choose validation rows.
_DIFFERENT = 0.5


@final
@dataclass(frozen=True)
class ValidationRows:
    """Rows of a matrix in memory, in folds."""

    #: Number of folds; 0 if there are no validation rows.
    count: int = 0
    #: The fold of every row of the matrix; `NO_FOLD` for training rows.
    of_row: NDArray[np.uint8] = field(default_factory=lambda: np.empty(0, np.uint8))
    #: The rows of the folds, fold after fold.
    rows: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))
    #: A block of the matrix.
    block: Block | None = None
    #: Group number of each row of ``rows``, equal for copies of a row; empty if copies were not searched for.
    groups: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, np.intp))
    #: Numbers in their source of rows that are copies; empty for rows of a matrix in memory.
    numbers: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    def folds_of(self, block: Block) -> NDArray[np.uint8]:
        """The fold of every row of a block's matrix, which may be another one: then all rows are training rows."""
        if block.folds is not None:
            return block.folds
        is_same = self.block is not None and self.block.labels is block.labels
        if self.of_row.size == block.rows.n_rows and is_same:
            return self.of_row
        return np.full(block.rows.n_rows, NO_FOLD, np.uint8)

    @classmethod
    def by_rows(cls, block: Block) -> "ValidationRows":
        """Folds that depend on the rows alone, not on their order nor on a seed.

        The rows are put in an order of their own, that of a random projection, before folds are drawn among them. The
        projection and the draws are always the same.
        """
        used = block.all_used()
        keys = _keys(block, used, np.random.default_rng(FIXED_SEED))
        return cls.drawn(block, used[np.lexsort((block.labels[used], keys))], np.random.default_rng(FIXED_SEED))

    @classmethod
    def drawn(cls, block: Block, unread: NDArray[np.uint64], rng: np.random.Generator) -> "ValidationRows":
        """Draw folds among unread rows: one for large data, five that cover all rows for small data."""
        n_rows = block.n_used
        if n_rows < FEWEST or not unread.size:
            return cls()
        size, count = _fold_size(n_rows), min(number_of_folds(n_rows), int(np.ceil(unread.size / _fold_size(n_rows))))
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


def number_of_folds(n_rows: int) -> int:
    """Number of folds: one for large data, five that cover all rows for small data.

    Examples
    --------
    >>> [number_of_folds(n_rows) for n_rows in (1000, 5000, 10_000, 100_000)]
    [5, 3, 3, 1]
    """
    return int(min(round(1.0 / _SHARE), np.ceil(_wanted(n_rows) / _fold_size(n_rows))))


def _fold_size(n_rows: int) -> int:
    return max(1, min(_wanted(n_rows), int(_SHARE * n_rows)))


def _wanted(n_rows: int) -> int:
    return int(min(max(_LEAST, min(n_rows / 2, USUAL), n_rows / 16), MOST))


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
        write_keys = dense_keys(part.types) if part.is_dense else csr_keys(part.types)
        write_keys(matrix, rows, factors[columns, None], keys)
        total += keys
    return total


@final
@dataclass
class HashedValidation:
    """The rows of a stream whose hashes are the smallest: about a tenth of the rows, or `MOST`.

    Copies of a row have the same hash and stay together. The choice depends on nothing but the rows and the key, and is
    the same in every pass. While the stream is read for the first time the threshold falls, and rows that no longer
    belong to the validation rows are given back, to be trained on. If the first block has few different rows, each
    would be missing from training altogether: then hashes of the numbers of the rows are used.
    """

    key: int
    threshold: int = _TENTH
    #: Whether the features of a row choose it, or its number; None before the first block.
    by_features: bool | None = None
    #: Number of validation rows.
    n_rows: int = 0
    #: The validation rows, and rows that were given back; these are left out when the others are needed.
    _parts: list[EncodedRows] = field(default_factory=list, repr=False)

    def add(self, block: EncodedRows) -> tuple[NDArray[np.bool_], EncodedRows | None]:
        """Mask of new rows to train on, and validation rows of earlier blocks that are trained on after all."""
        chosen = self._chosen(block)
        if chosen.any():
            self._parts.append(block.at(np.flatnonzero(chosen)))
            self.n_rows += self._parts[-1].n_rows
        # At fixed numbers of rows, so that the size of blocks does not matter.
        due = self.n_rows > MOST and (int(block.numbers[-1]) + 1) % BLOCK_ROWS == 0
        return ~chosen, self._give_back() if due else None

    def _give_back(self) -> EncodedRows:
        """Lower the threshold, and return the rows that lie above it."""
        hashes, before = [self._hashes(part) for part in self._parts], np.uint64(self.threshold)
        known = np.concatenate(hashes)
        self.threshold = int(np.partition(known[known < before], MOST)[MOST])
        self.n_rows = int(np.count_nonzero(known < np.uint64(self.threshold)))
        above = [(own >= np.uint64(self.threshold)) & (own < before) for own in hashes]
        pairs = zip(self._parts, above, strict=True)
        return joined([part.at(np.flatnonzero(rows)) for part, rows in pairs if rows.any()])

    def folds_of(self, block: EncodedRows) -> NDArray[np.uint8]:
        """The fold of each row of a block once all rows are known: 0 for validation rows, if there are enough."""
        folds = np.full(block.n_rows, NO_FOLD, dtype=np.uint8)
        if self.n_rows < FEWEST:  # as in `validation_rows`
            return folds
        folds[self._chosen(block)] = 0
        return folds

    def validation_rows(self, n_features: int) -> ValidationRows:
        """The rows so far, as one fold, with this number of features."""
        if self.n_rows < FEWEST:
            return ValidationRows()
        still_chosen = [(part, self._chosen(part)) for part in self._parts]
        together = joined([part if rows.all() else part.at(np.flatnonzero(rows)) for part, rows in still_chosen])
        self._parts = [together]
        rows = Rows.of(widened(together.X, n_features), roles=together.roles, unique=True)
        block = Block.of(rows, together.labels, together.weights)
        order = block.order.rows
        return ValidationRows(1, np.zeros(order.size, np.uint8), order, block, numbers=together.numbers)

    def _chosen(self, block: EncodedRows) -> NDArray[np.bool_]:
        """Whether each row is a validation row by the present threshold."""
        chosen = self._hashes(block) < np.uint64(self.threshold)
        return chosen if block.weights is None else chosen & (block.weights != 0)

    def _hashes(self, block: EncodedRows) -> NDArray[np.uint64]:
        if self.by_features is None:
            self.by_features = np.unique(block.hashes).size >= _DIFFERENT * block.n_rows
        hashes = block.hashes if self.by_features else (block.numbers.astype(np.uint64) + np.uint64(1)) * PAIR_FACTOR
        found: NDArray[np.uint64] = mixed(hashes ^ np.uint64(self.key))
        return found
