"""Validation rows of a stream: those with the smallest keyed hashes of their features."""

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import NDArray

from sgdone.kernels.bank import NO_FOLD
from sgdone.kernels.words import PAIR_FACTOR, mixed
from sgdone.matrices.stacking import widened
from sgdone.rows.row_block import BLOCK_ROWS, RowBlock, joined
from sgdone.rows.rows import Rows, frozen
from sgdone.rows.source import Block
from sgdone.rows.validation_rows import FEWEST, MOST, ValidationRows

#: Hashes below this, a tenth of all, are those of validation rows, until there are too many.
_TENTH = (1 << 64) // 10
#: Share of the rows of the first block that must be different for the features to choose validation rows.
_DIFFERENT = 0.5


@final
@dataclass
class HashedValidation:
    """The rows of a stream whose hashes are the smallest: about a tenth of the rows, or `MOST`.

    Copies of a row have the same hash and stay together. The choice depends on nothing but the rows and the key, and is
    the same in every pass. While the stream is read for the first time the threshold falls, and rows that no longer
    belong to the validation rows are given back, to be trained on. If the first block has few different rows, each
    would be missing from training altogether: then hashes of the numbers of the rows are used.

    Examples
    --------
    >>> from sgdone.matrices.row_hash import row_hashes
    >>> X = np.arange(1000.0)[:, None]
    >>> rows = RowBlock(X, X[:, 0], None, row_hashes(X), np.arange(1000))
    >>> validation = HashedValidation(key=1)
    >>> trained_on, given_back = validation.add(rows)
    >>> int(trained_on.sum()), validation.n_rows, given_back
    (902, 98, None)
    """

    key: int
    threshold: int = _TENTH
    #: Whether the features of a row choose it, or its number; None before the first block.
    by_features: bool | None = None
    #: Number of validation rows.
    n_rows: int = 0
    #: The validation rows, and rows that were given back; these are left out when the others are needed.
    _parts: list[RowBlock] = field(default_factory=list, repr=False)

    def add(self, block: RowBlock) -> tuple[NDArray[np.bool_], RowBlock | None]:
        """Which rows of a new block are trained on, and rows of earlier blocks that are trained on after all."""
        chosen = self._hashes(block) < np.uint64(self.threshold)
        if block.weights is not None:
            chosen &= block.weights != 0
        if chosen.any():
            self._parts.append(block.at(np.flatnonzero(chosen)))
            self.n_rows += self._parts[-1].n_rows
        # At fixed numbers of rows, so that the size of blocks does not matter.
        due = self.n_rows > MOST and (int(block.numbers[-1]) + 1) % BLOCK_ROWS == 0
        return ~chosen, self._give_back() if due else None

    def _give_back(self) -> RowBlock:
        """Lower the threshold, and return the rows that lie above it."""
        hashes, before = [self._hashes(part) for part in self._parts], np.uint64(self.threshold)
        known = np.concatenate(hashes)
        self.threshold = int(np.partition(known[known < before], MOST)[MOST])
        self.n_rows = int(np.count_nonzero(known < np.uint64(self.threshold)))
        above = [(own >= np.uint64(self.threshold)) & (own < before) for own in hashes]
        pairs = zip(self._parts, above, strict=True)
        return joined([part.at(np.flatnonzero(rows)) for part, rows in pairs if rows.any()])

    def folds_of(self, block: RowBlock) -> NDArray[np.uint8]:
        """The fold of each row of a block once all rows are known: 0 for validation rows, if there are enough."""
        folds = np.full(block.n_rows, NO_FOLD, dtype=np.uint8)
        if self.n_rows < FEWEST:  # as in `validation_rows`
            return folds
        chosen = self._hashes(block) < np.uint64(self.threshold)
        if block.weights is not None:
            chosen &= block.weights != 0
        folds[chosen] = 0
        return folds

    def validation_rows(self, n_features: int) -> ValidationRows:
        """The rows so far, as one fold, with this number of features."""
        if self.n_rows < FEWEST:
            return ValidationRows()
        together = joined([self._still_chosen(part) for part in self._parts])
        self._parts = [together]
        order = np.arange(together.n_rows, dtype=np.uint64)
        weights = np.ones(1) if together.weights is None else together.weights
        rows = Rows.of(widened(together.X, n_features), roles=together.roles, unique=True)
        block = Block(rows, frozen(together.labels), frozen(weights), order, order)
        return ValidationRows(1, np.zeros(order.size, np.uint8), order, block, numbers=together.numbers)

    def _still_chosen(self, part: RowBlock) -> RowBlock:
        stay = self._hashes(part) < np.uint64(self.threshold)
        return part if stay.all() else part.at(np.flatnonzero(stay))

    def _hashes(self, block: RowBlock) -> NDArray[np.uint64]:
        if self.by_features is None:
            self.by_features = np.unique(block.hashes).size >= _DIFFERENT * block.n_rows
        hashes = block.hashes if self.by_features else (block.numbers.astype(np.uint64) + np.uint64(1)) * PAIR_FACTOR
        found: NDArray[np.uint64] = mixed(hashes ^ np.uint64(self.key))
        return found
