"""Rows that do not fit into memory: blocks that are read once, kept on disk, and read again in another order."""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, final

import numpy as np

from sgdone.machine.threads import in_background
from sgdone.matrices.stacking import ReusedArrays, widened
from sgdone.rows.block_cache import BlockCache
from sgdone.rows.blocks import PIECES, ArrayBlocks, EncodedRows, in_groups, joined
from sgdone.rows.rows import Block, Order, Rows
from sgdone.rows.source import Source, in_order, shuffled
from sgdone.rows.validation_rows import HashedValidation, ValidationRows

#: Most blocks in the buffer whose rows are permuted.
_MOST_BLOCKS = 8
#: Blocks that are read ahead of training.
_AHEAD = 1
#: Key of the hashes of rows, the same for all seeds: models are compared on the same validation rows.
_HASH_KEY = 0x2545F4914F6CDD1D


@final
class BlockSource(Source):
    """Blocks of rows by their global number.

    The first pass reads the blocks in their order, later ones pieces of them at random. Rows are permuted within a
    buffer of several blocks, whose size is fixed by the first block. All orders are functions of the seed and the
    number of the pass. Validation rows are chosen by a keyed hash (`sgdone.rows.validation_rows.HashedValidation`), the
    same ones for all seeds: the first pass leaves them out.

    ``first_pass`` returns an iterator over the blocks, in order. They are kept in the ``cache``, without which there is
    one pass only; ``on_complete`` is called when the last one has been written.
    """

    def __init__(
        self,
        first_pass: Callable[[], Iterator[EncodedRows]],
        cache: BlockCache | ArrayBlocks | None,
        *,
        on_complete: Callable[[], None] | None = None,
        seed: int,
        shuffle: bool = True,
        endless: bool = False,
        buffer_bytes: int = 1 << 27,
        feature_names: Sequence[Any] | None = None,
    ) -> None:
        self._first_pass, self._cache, self._on_complete = first_pass, cache, on_complete
        self.seed, self._buffer_bytes = seed, buffer_bytes
        self._validation = HashedValidation(_HASH_KEY)
        self._n_rows: int | None = None
        self._weight = 0.0
        self._n_features = 0
        self._begun: Generator[EncodedRows, None, None] | None = None
        self._passes = self._count = self._digest = 0
        self._arrays = ReusedArrays()
        self.shuffle, self.endless = shuffle, endless
        self.feature_names = feature_names

    @property
    def n_features(self) -> int:
        """Number of features so far."""
        if not self._n_features:
            self._begin()
        return self._n_features

    @property
    def n_rows(self) -> int | None:
        """Number of rows; None before the end of the first pass."""
        return self._n_rows

    def validation_rows(self) -> ValidationRows:
        """Validation rows among the rows read so far."""
        return self._validation.validation_rows(self._n_features)

    @property
    def n_held_back(self) -> int:  # type: ignore[override]  # it changes
        """Validation rows: the first pass leaves them out."""
        return self._validation.n_rows

    def blocks(self, rng: np.random.Generator) -> Iterator[Block]:
        """Yield the blocks of one pass over the rows."""
        self._passes += 1
        if self._passes == 1:
            self._begin()
            return self._in_order()
        if self._cache is None:
            raise ValueError("these rows can be read once only: allow one pass, as in stop=MaxPasses(1)")
        return self._again(self._passes)

    @property
    def can_be_read_again(self) -> bool:
        """Whether there is a cache."""
        return self._cache is not None

    @property
    def total_weight(self) -> float:
        """Sum of the weights of the rows read in the first pass."""
        return self._weight

    def blocks_in_order(self, n_features: int) -> Iterator[Block]:
        """All rows again, from the cache."""
        cache = self._cache
        assert cache is not None
        with closing(in_background(cache.in_order(), _AHEAD)) as read:
            for rows in read:
                matrix = Rows.of(widened(rows.X, n_features), names=self.feature_names, roles=rows.roles, unique=True)
                yield Block.of(matrix, rows.labels, rows.weights)

    @property
    def rows_so_far(self) -> tuple[int, int]:
        """Number of rows read in the first pass and the sum of their hashes."""
        return self._count, self._digest

    def begin_again_at(self, passes: int) -> None:
        """Make the next pass the one after ``passes`` passes: its order is another one."""
        self._passes = passes

    def close(self) -> None:
        """Stop reading, and release files."""
        if self._begun is not None:
            self._begun.close()
        if self._cache is not None:
            self._cache.close()

    def _begin(self) -> None:
        """Read the first block, which says how wide rows are and how many blocks the buffer holds."""
        if self._begun is None:
            blocks = in_background(self._kept(), _AHEAD)
            first = next(blocks, None)
            if first is None:
                raise ValueError("the source has no rows to train on")
            self._n_features = first.n_features
            self._in_buffer = blocks_in_buffer(first.n_bytes, self._buffer_bytes) if self.shuffle else 1
            self._begun = _with_first(first, blocks)

    def _kept(self) -> Iterator[EncodedRows]:
        for block in self._first_pass():
            if self._cache is not None and not self._cache.is_complete:
                for piece in block.pieces():
                    self._cache.write(piece)
            yield block
        if self._on_complete is not None:
            self._on_complete()

    def _in_order(self) -> Iterator[Block]:
        """The first pass: validation rows are left out, and come back if others take their place."""
        assert self._begun is not None
        for number, group in enumerate(in_groups(self._begun, self._in_buffer)):
            trained_on, returned = [], []
            for block in group:
                stay, given_back = self._validation.add(block)
                self._count += block.n_rows
                self._weight += block.weight
                self._digest = (self._digest + int(block.hashes.sum(dtype=np.uint64))) % (1 << 64)
                trained_on.append(stay)
                returned += [] if given_back is None else [given_back]
            together, use = joined(group, self._arrays), np.concatenate(trained_on)
            yield from self._ordered(together, self._orders(together.n_rows, 1, number), use)
            if returned:
                together = joined(returned)
                yield from self._ordered(together, self._orders(together.n_rows, 1, number, 1), None)
        self._n_rows = self._count

    def _again(self, passes: int) -> Iterator[Block]:
        """A later pass, from the cache."""
        cache = self._cache
        assert cache is not None
        numbers = np.arange(len(cache))
        if self.shuffle:
            numbers = np.random.default_rng([self.seed, passes]).permutation(len(cache))
        read = in_background((cache.read(number) for number in numbers.tolist()), _AHEAD * PIECES)
        with closing(read):
            for number, group in enumerate(in_groups(read, self._in_buffer * PIECES)):
                together = joined(group, self._arrays)
                folds = self._validation.folds_of(together)
                yield from self._ordered(together, self._orders(together.n_rows, passes, number), None, folds)

    def _orders(self, n_rows: int, *numbers: int) -> Iterator[Order]:
        """The order of rows that the numbers of the pass and of the buffer tell apart from others."""
        return shuffled(n_rows, np.random.default_rng([self.seed, *numbers])) if self.shuffle else in_order(n_rows)

    def _ordered(
        self, rows: EncodedRows, orders: Iterator[Order], use: np.ndarray | None, folds: np.ndarray | None = None
    ) -> Iterator[Block]:
        self._n_features = max(self._n_features, rows.n_features)
        matrix = Rows.of(rows.X, names=self.feature_names, roles=rows.roles, unique=True)
        block = Block.of(matrix, rows.labels, rows.weights)
        for order in orders:
            if use is not None:
                keep = use[order.rows]
                order = Order.of(order.rows[keep], order.upcoming[keep])
            if order.size:
                yield replace(block, order=order, folds=folds)


def blocks_in_buffer(block_bytes: float, buffer_bytes: float) -> int:
    """Number of blocks in the buffer whose rows are permuted."""
    return int(max(1, min(_MOST_BLOCKS, buffer_bytes // max(1, block_bytes))))


def _with_first(first: EncodedRows, others: Generator[EncodedRows, None, None]) -> Generator[EncodedRows, None, None]:
    with closing(others):
        yield first
        yield from others
