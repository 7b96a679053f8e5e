"""Sums over rows, and the rows that this process can read.

A `RowSum` is a pure function of rows, and its values merge: rows in memory, in files and in the partitions of a cluster
answer the same requests. Searches are generators that yield the sums they need, and are sent the values.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Literal, Protocol, Self, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.objective import Objective
from sgdone.machine.threads import blas_threads, single_thread
from sgdone.matrices.row_hash import row_hashes
from sgdone.rows.rows import Block, Scaling
from sgdone.rows.source import Source, Stream
from sgdone.sums.pieces import BlockPieces, Pieces, SourcePieces
from sgdone.sums.system import System

Array = NDArray[np.float64]
MessageClass = TypeVar("MessageClass", bound=type)
Value = TypeVar("Value")
#: Rows without the validation rows, or the validation rows alone.
RowSet = Literal["training", "validation"]

#: Rows whose hash is below this, a tenth of all, are validation rows.
_TENTH = np.uint64((1 << 64) // 10)
#: Units whose pieces are cached, because two sets of them are compared; and models, because several searches share a
#: reading.
_KEPT_UNITS, _KEPT_MODELS = 2, 4

#: Messages by name: dataclasses that can be sent between processes.
MESSAGES: dict[str, type[Any]] = {}
#: Metadata of a field whose value several requests share: it is sent once, and cached by the receiver.
SHARED: Final = {"shared": True}


def message(kind: MessageClass) -> MessageClass:
    """Let a dataclass be sent to other processes. Its fields are messages, or values that model files can store."""
    known = MESSAGES.setdefault(kind.__name__, kind)
    if known is not kind and known.__module__ != kind.__module__:
        raise TypeError(f"two messages are called {kind.__name__}: in {known.__module__} and in {kind.__module__}")
    return kind


message(System)


class RowSum(ABC):
    """A sum over rows. Subclasses are dataclasses decorated with `message`."""

    #: Whether parts are merged one after the other, in the order of the rows, instead of in a tree.
    in_order: ClassVar[bool] = False
    #: Whether the value tells rows from others, as counts and digests do: a resumed fit adds it up again instead of
    #: reading it from the log, to see whether the rows have changed.
    identifies_rows: ClassVar[bool] = False
    #: Whether a reading for it counts as a pass over rows that this process reads.
    is_pass: ClassVar[bool] = True
    #: Whether the value is the loss of a model, a `sgdone.sums.second_order.SecondOrder`: the trace keeps it.
    is_evaluation: ClassVar[bool] = False

    @property
    def request_name(self) -> str:
        """Name of the sum in traces: the name of its class."""
        return type(self).__name__

    @abstractmethod
    def of(self, rows: Any) -> Any:
        """The value for some rows, with a method `merge`; None if there are no rows."""


class RowSource(Protocol):
    """Rows over which sums are computed: `MemoryRows`, `DiskRows`, or a `Source` whose rows other processes have."""

    def sum(self, request: RowSum) -> Any:
        """The sum over all rows of positive weight."""


class ReadableRows(ABC):
    """Rows that this process can read as often as needed."""

    #: Whether values computed at a model are cached for the next sum.
    has_cache: ClassVar[bool] = False

    @abstractmethod
    def pieces(self, system: System) -> Pieces:
        """The rows in the units of a system."""

    def cached(self, objective: Objective, pieces: Pieces, model: Array, make: Callable[[], Value]) -> Value:
        """Value computed for an objective from pieces at a model, cached or new; only if `has_cache`."""
        raise NotImplementedError

    def sum(self, request: RowSum) -> Any:
        """The sum over all rows: pieces are added up in threads, with one thread of BLAS each, and in a fixed tree."""
        with single_thread():
            return request.of(self)


@final
class MemoryRows(ReadableRows):
    """The rows of a block, with a cache of pieces and values, which never changes a result.

    ``block`` is in the user's units, and ``frequency`` is the number of rows that a row of weight 1 stands for.
    """

    has_cache: ClassVar[bool] = True

    def __init__(self, block: Block, frequency: float = 1.0, threads: int = 1) -> None:
        self.block, self.frequency, self.threads = block, frequency, threads
        self._pieces: list[tuple[Scaling, BlockPieces]] = []
        self._at_models: list[tuple[Objective, Pieces, Array, Any]] = []
        self._subsets: dict[tuple[RowSet, int], MemoryRows] = {}

    @property
    def n_rows(self) -> int:
        """Number of rows of positive weight."""
        return self.block.n_used

    def pieces(self, system: System) -> BlockPieces:
        """Rows in the units of a system; the last pieces are cached."""
        if system.span is not None:
            return system.span.pieces
        for scaling, known in self._pieces:
            if scaling.is_same(system.scaling):
                return known
        made = BlockPieces.safely(self.block, system.scaling, self.frequency, self.threads)
        self._pieces = [(system.scaling, made), *self._pieces][:_KEPT_UNITS]
        return made

    def cached(self, objective: Objective, pieces: Pieces, model: Array, make: Callable[[], Value]) -> Value:
        """Value computed for an objective from pieces at a model; values of the last models are cached."""
        for known, of_pieces, at, value in self._at_models:
            if of_pieces is pieces and known == objective and np.array_equal(at, model):
                found: Value = value
                return found
        made = make()
        self._at_models = [(objective, pieces, model, made), *self._at_models][:_KEPT_MODELS]
        return made

    def subset(self, row_set: RowSet, key: int) -> "MemoryRows":
        """The validation rows, or the others; ``key`` draws them by a hash, the same for all copies of a row."""
        if (row_set, key) not in self._subsets:
            chosen = row_hashes(self.block.rows.whole(), key) < _TENTH
            keep = chosen if row_set == "validation" else ~chosen
            weights = np.where(keep, np.broadcast_to(self.block.sample_weight, keep.shape), 0.0)
            made = MemoryRows(replace(self.block, sample_weight=weights), self.frequency, self.threads)
            self._subsets[row_set, key] = made
        return self._subsets[row_set, key]


@final
@dataclass(frozen=True)
class DiskRows(ReadableRows):
    """The rows of a source that is read block by block, in the order of the rows."""

    source: Source

    def pieces(self, system: System) -> Pieces:
        """Pieces are made while the blocks are read."""
        return SourcePieces(self.source, system.scaling, blas_threads())


def rows_of(stream: Stream) -> RowSource:
    """Rows of a stream, for sums: in memory, or where the source has them."""
    source = stream.source
    if source.is_remote:
        return source
    return MemoryRows(stream.block, source.frequency, blas_threads()) if source.in_memory else DiskRows(source)


@final
@message
@dataclass(frozen=True)
class ArraySum:
    """A sum of arrays."""

    values: Array

    def merge(self, other: "ArraySum") -> "ArraySum":
        """The sum of both."""
        return ArraySum(self.values + other.values)


@final
@message
@dataclass(frozen=True)
class SeveralValues:
    """The values of several sums; None where there are no rows."""

    values: tuple[Any, ...]

    def merge(self, other: "SeveralValues") -> "SeveralValues":
        """Each value over the rows of both."""
        return SeveralValues(tuple(map(merged_pair, self.values, other.values)))


@final
@message
@dataclass(frozen=True)
class SeveralSums(RowSum):
    """Several sums in one round; rows on disk are read once for each."""

    requests: tuple[Any, ...]

    def of(self, rows: Any) -> SeveralValues:
        """Values of all sums."""
        return SeveralValues(tuple(request.of(rows) for request in self.requests))


@dataclass(frozen=True)
class WrappedSum(RowSum):
    """A sum over rows that are chosen or changed first, as by `SubsetSum`."""

    request: Any

    def __post_init__(self) -> None:
        if self.request.in_order or self.request.identifies_rows:
            name = self.request.request_name
            raise TypeError(f"{name} is not for rows that are chosen or changed: ask for it alone, over all rows")

    @property
    def request_name(self) -> str:
        """Name of the sum itself."""
        return str(self.request.request_name)


@final
@message
@dataclass(frozen=True)
class SubsetSum(WrappedSum):
    """A sum over the validation rows or the others: see `MemoryRows.subset`."""

    row_set: RowSet
    key: int

    def of(self, rows: MemoryRows) -> Any:
        """Value for the validation rows, or for the others."""
        return self.request.of(rows.subset(self.row_set, self.key))


class Mergeable(Protocol):
    """A sum over rows."""

    def merge(self, other: Self) -> Self:
        """The sum over the rows of both."""


S = TypeVar("S", bound=Mergeable)


def merged(parts: Iterable[S]) -> S:
    """The sum of all parts: of two neighbours, then of two neighbouring pairs, and so on.

    At most one sum for each power of two is kept, and rounding errors grow as the logarithm of the number of parts.

    Examples
    --------
    >>> class Text(str):
    ...     def merge(self, other):
    ...         return Text(f"({self}{other})")
    >>> str(merged(map(Text, "abcde")))
    '(((ab)(cd))e)'
    """
    total = TreeSum()
    for number, part in enumerate(parts):
        total.add(number, part)
    if not total.numbers:
        raise ValueError("there is nothing to add up")
    found: S = total.value()
    return found


def merged_pair(first: Any, second: Any) -> Any:
    """The sum of two parts, either of which may be None."""
    if first is None or second is None:
        return second if first is None else first
    return first.merge(second)


@final
class TreeSum:
    """Sums of neighbours, then of neighbouring pairs, and so on, by the numbers of the parts.

    It is the tree of `merged`, whatever the order in which parts arrive. Parts without rows are None. A sum is made as
    soon as both its parts are there, so that few of them are kept.

    Examples
    --------
    >>> class Text(str):
    ...     def merge(self, other):
    ...         return Text(f"({self}{other})")
    >>> total = TreeSum()
    >>> for number in (3, 0, 4, 2, 1):
    ...     total.add(number, Text("abcde"[number]))
    >>> str(total.value())
    '(((ab)(cd))e)'
    """

    def __init__(self) -> None:
        self.numbers: set[int] = set()
        #: Sums that wait for their neighbours, by the logarithm of their length and their place.
        self._waiting: dict[tuple[int, int], Any] = {}

    def add(self, number: int, part: Any, count: int = 1) -> None:
        """Add the part with this number, or the sum of ``count`` parts from it on.

        A sum of several parts is the sum of a subtree: it begins at a multiple of a power of two that is at least
        ``count``, and has fewer parts than that only if it is the last.
        """
        numbers = set(range(number, number + count))
        if not self.numbers.isdisjoint(numbers):
            # Numbers are distinct wherever this process makes the parts: only answers of a cluster can come twice.
            raise ValueError(f"partition {min(self.numbers & numbers)}: the engine returned two answers of it")
        self.numbers |= numbers
        level = (count - 1).bit_length()
        place, total = number >> level, part
        while (level, place ^ 1) in self._waiting:
            other = self._waiting.pop((level, place ^ 1))
            total = merged_pair(other, total) if place % 2 else merged_pair(total, other)
            level, place = level + 1, place // 2
        self._waiting[level, place] = total

    def value(self) -> Any:
        """The sum of all parts."""
        total = None
        for key in sorted(self._waiting, key=lambda key: key[1] << key[0], reverse=True):
            total = merged_pair(self._waiting[key], total)
        return total


def run_search(rows: RowSource, search: Generator[RowSum, Any, Any]) -> Any:
    """Run a search to its end, with sums computed by ``rows``, and return its result."""
    followed = SearchRunner(rows, search)
    while not followed.done:
        followed.read()
    return followed.found


@final
class SearchRunner:
    """Run a search one reading of the rows at a time.

    Parameters
    ----------
    rows : RowSource
        Rows over which the sums are computed.
    search : generator
        Yields sums, or None for a reading that it makes itself. It begins at once.
    each_counts : bool
        Whether each sum is a reading of its own; otherwise sums that are not passes are computed together with the
        one before them.
    """

    #: Whether the search has ended.
    done: bool
    #: The value that it returned.
    found: Any = None

    def __init__(
        self, rows: RowSource, search: Generator[RowSum | None, Any, Any], *, each_counts: bool = False
    ) -> None:
        self._rows, self._search, self._each_counts, self.done = rows, search, each_counts, False
        self._wanted: RowSum | None = None
        self._go_on(None)

    def read(self) -> tuple[RowSum | None, Any]:
        """Compute the sum that the search is waiting for; returns the sum and its value."""
        request = self._wanted
        value = None if request is None else self._rows.sum(request)
        self._go_on(value)
        while not (self.done or self._each_counts or self._wanted is None or self._wanted.is_pass):
            self._go_on(self._rows.sum(self._wanted))
        return request, value

    def _go_on(self, value: Any) -> None:
        try:
            self._wanted = self._search.send(value)
        except StopIteration as ended:
            self.done, self.found = True, ended.value


def together(searches: Sequence[Generator[RowSum, Any, Any]]) -> Generator[RowSum, Any, list[Any]]:
    """Advance several searches on the same readings of the rows; returns their results."""
    wanted, found = dict[int, RowSum](), dict[int, Any]()

    def advance(number: int, value: Any) -> None:
        try:
            wanted[number] = searches[number].send(value)
        except StopIteration as done:
            found[number] = done.value
            wanted.pop(number, None)

    for number in range(len(searches)):
        advance(number, None)
    while wanted:
        asked = list(wanted)
        if len(asked) == 1:
            advance(asked[0], (yield wanted[asked[0]]))
            continue
        values = yield SeveralSums(tuple(wanted.values()))
        for number, value in zip(asked, values.values, strict=True):
            advance(number, value)
    return [found[number] for number in range(len(searches))]
