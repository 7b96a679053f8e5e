"""Text as hashed words and pairs of adjacent words."""

from collections.abc import Iterable
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.kernels.words import HASH, NUMBER, SLOT_SIZE, VOTES, known_number, learnt_number, make_number_words
from sgdone.message_text import counted
from sgdone.tables.cell_values import characters_in_words, lower_case_pieces
from sgdone.tables.column_encoder import (
    BucketTable,
    ColumnEncoder,
    ColumnState,
    Entries,
    NewFeatures,
    StateFields,
    WordRows,
    bucket_count,
    bucket_lookup,
    feature_numbers,
)
from sgdone.tables.kinds import Column

#: Bytes of a word, or pair of words, that are kept for its name.
WORD_BYTES = 32

WordPieces = list[tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]]


@final
class TextEncoder(ColumnEncoder):
    """A column of text: a feature for each bucket of words and pairs of words that training rows have.

    Words are runs of letters, digits and combining marks, in lower case. A word or pair goes to one of ``n_buckets``
    buckets by its hash. Its value is 1 + log(how often the text has it), divided by the Euclidean norm of the text's
    values, so that long texts count as much as short ones. For the name of a feature the word that most of the
    bucket's words are is kept, up to 32 bytes of it.

    Examples
    --------
    >>> import pyarrow as pa
    >>> encoder = TextEncoder("text", n_buckets=2**18)
    >>> from sgdone.tables.kinds import Kind
    >>> column = Column(Kind.TEXT, "string", "", pa.array(["Free entry!", "free?"], pa.large_string()))
    >>> indptr, numbers, values = encoder.encode(column, NewFeatures(0)).words[0].pieces[0]
    >>> indptr, numbers, [name for _, name in encoder.sparse_names()]
    (array([0, 3, 4]), array([0, 1, 2, 0], dtype=int32), ['text:free', 'text:entry', 'text:free entry'])
    """

    fields = StateFields(
        {"n_buckets": np.int64},
        {
            "word_buckets": np.int32,
            "word_features": np.int32,
            "named": np.int32,
            "words": np.uint8,
            "votes": np.int32,
            "hashes": np.int32,
        },
    )

    def __init__(self, name: str, n_buckets: int) -> None:
        self.name, self.n_buckets = name, n_buckets
        # In the order in which they occurred first: buckets, their features, and their words, zeros if not known.
        self.buckets = np.zeros(0, dtype=np.int32)
        self.features = np.zeros(0, dtype=np.int32)
        self.words = np.zeros((0, WORD_BYTES), dtype=np.uint8)
        self.votes = np.zeros((0, SLOT_SIZE), dtype=np.int32)
        self._table = BucketTable()

    def encode(self, column: Column, new: NewFeatures | None) -> Entries:
        """Entries of the rows; with ``new``, what has not been seen before is learnt first."""
        if new is None:
            numbers = self._table.of(self.buckets, np.arange(self.buckets.size), self.n_buckets)
            pieces = number_words(column.values, numbers, known_number)
        else:
            pieces = self._learn(column.values, new)
        return Entries(words=[WordRows(pieces, self.features)])

    def merge(self, other: "TextEncoder", new: NewFeatures) -> None:
        """Add the buckets that another encoder of the column has met, and its votes for their words.

        Where the two keep different words of a bucket, the one with more votes stays, less the votes of the other
        (Boyer & Moore 1991).
        """
        known = self.buckets.size
        places = bucket_lookup(self.buckets, np.arange(known), self.n_buckets)[other.buckets]
        added, shared = np.flatnonzero(places < 0), np.flatnonzero(places >= 0)
        here = places[shared]
        own, others = self.votes[here], other.votes[shared]
        same = own[:, HASH] == others[:, HASH]
        loses = ~same & (others[:, VOTES] > own[:, VOTES])
        votes = np.where(same, own[:, VOTES] + others[:, VOTES], np.abs(own[:, VOTES] - others[:, VOTES]))
        self.votes[here, VOTES] = votes
        self.votes[here[loses], HASH] = others[loses, HASH]
        self.words[here[loses]] = other.words[shared[loses]]
        new_votes = other.votes[added].copy()
        new_votes[:, NUMBER] = known + np.arange(added.size)
        self.buckets = np.append(self.buckets, other.buckets[added])
        self.features = np.append(self.features, new.take(added.size))
        self.votes = np.concatenate([self.votes, new_votes])
        self.words = np.concatenate([self.words, other.words[added]])

    def _learn(self, texts: Any, new: NewFeatures) -> WordPieces:
        """Number the words of texts, and keep the buckets and words that are new."""
        known = self.buckets.size
        slots = np.zeros((self.n_buckets, SLOT_SIZE), dtype=np.int32)
        slots[:, NUMBER] = -1
        # Room for the words of all buckets: what is never touched takes no memory.
        words = np.zeros((self.n_buckets, WORD_BYTES), dtype=np.uint8)
        slots[self.buckets], words[:known] = self.votes, self.words
        count = np.array([known], dtype=np.int64)
        pieces = number_words(texts, slots, learnt_number, (count, words))
        used = np.flatnonzero(slots[:, NUMBER] >= 0)
        self.buckets = np.empty(used.size, dtype=np.int32)
        self.buckets[slots[used, NUMBER]] = used
        self.features = np.append(self.features, new.take(used.size - known))
        self.votes, self.words = slots[self.buckets], words[: used.size].copy()
        return pieces

    def sparse_names(self) -> Iterable[tuple[int, str]]:
        """Numbers and names of the sparse features."""
        texts = map(_decoded, self.words)
        for feature, bucket, text in zip(self.features.tolist(), self.buckets.tolist(), texts, strict=True):
            yield feature, f"{self.name}:{text or f'(bucket {bucket})'}"

    def sparse_numbers(self) -> NDArray[np.int32]:
        """Numbers of the sparse features, in any order."""
        return self.features

    def word_numbers(self) -> NDArray[np.int32]:
        """Numbers of the sparse features that words name."""
        return self.features

    def description(self) -> str:
        """Description of the encoding, for people."""
        return f"{counted(self.features.size, 'bucket')} of words and pairs of words"

    def state(self, words: NDArray[np.bool_] | None) -> ColumnState:
        """State of the encoder as plain values, arrays and levels."""
        has_word = self.words.any(axis=1)
        named = np.flatnonzero(has_word if words is None else has_word & words[self.features]).astype(np.int32)
        arrays: dict[str, NDArray[Any]] = {
            "word_buckets": self.buckets,
            "word_features": self.features,
            "named": named,
            "words": self.words[named].ravel(),
            "votes": self.votes[named, VOTES],
            "hashes": self.votes[named, HASH],
        }
        return ColumnState({"n_buckets": self.n_buckets}, arrays)

    @classmethod
    def from_state(cls, name: str, state: ColumnState) -> "TextEncoder":
        """The encoder with this state."""
        made = cls(name, bucket_count(state))
        made.buckets, made.features = feature_numbers(state, "word_buckets"), feature_numbers(state, "word_features")
        count = made.buckets.size
        if made.features.size != count or (count and made.buckets.max() >= made.n_buckets):
            raise ValueError(f"column {name!r} has buckets out of range")
        named, votes = feature_numbers(state, "named"), state.counts("votes")
        if not _ascends(made.features) or not _ascends(named) or (named.size and named[-1] >= count):
            raise ValueError(f"buckets of column {name!r} are not in order")
        words, hashes = state.arrays["words"], state.arrays["hashes"]
        if {words.size, WORD_BYTES * votes.size, WORD_BYTES * hashes.size} != {WORD_BYTES * named.size}:
            raise ValueError(f"buckets and words of column {name!r} differ in number")
        made.votes = np.zeros((count, SLOT_SIZE), dtype=np.int32)
        made.votes[:, NUMBER] = np.arange(count)
        made.votes[named, VOTES], made.votes[named, HASH] = votes, hashes
        made.words = np.zeros((count, WORD_BYTES), dtype=np.uint8)
        made.words[named] = words.reshape(-1, WORD_BYTES)
        return made


def _ascends(numbers: NDArray[np.int32]) -> bool:
    return bool(np.all(numbers[1:] > numbers[:-1]))


def number_words(
    texts: Any, buckets: NDArray[np.int32], number_of: Any, memory: tuple[Any, ...] | None = None
) -> WordPieces:
    """The numbers of the words and pairs of each text, and their values, as pieces of a CSR matrix.

    ``memory`` is where ``number_of`` learns: a number of buckets and their words.
    """
    memory = memory or (np.zeros(1, dtype=np.int64), np.zeros((0, WORD_BYTES), dtype=np.uint8))
    loop = make_number_words(number_of)
    pieces: WordPieces = []
    found, values = np.empty(0, dtype=np.int32), np.empty(0)
    for data, offsets in lower_case_pieces(texts):
        # A text of b bytes has at most (b + 1)/2 words, and one pair less.
        bound = int(offsets[-1] - offsets[0])
        if bound > found.size:
            found, values = np.empty(bound, dtype=np.int32), np.empty(bound)
        indptr = np.zeros(offsets.size, dtype=np.int64)
        n_words = int(np.diff(offsets).max(initial=0)) // 2 + 1
        room = tuple(np.empty(n_words, dtype=kind) for kind in (np.uint64, np.int64, np.int64))
        used = loop(data, offsets, characters_in_words(), room, buckets, memory, (indptr, found, values))
        pieces.append((indptr, found[:used].copy(), values[:used].copy()))
    return pieces


def _decoded(word: NDArray[np.uint8]) -> str:
    """A word from its bytes, with an ellipsis where it was cut."""
    text = word.tobytes().rstrip(b"\0").decode(errors="ignore")
    return text if word[-1] == 0 else f"{text}…"
