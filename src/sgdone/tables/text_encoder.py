"""Text as hashed words and pairs of adjacent words."""

from collections.abc import Iterable
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.kernels.words import known_number, learnt_number, make_number_words
from sgdone.tables.column_encoder import ColumnEncoder, Entries, NewFeatures, bucket_lookup, feature_numbers
from sgdone.tables.encoder_state import ColumnState
from sgdone.tables.kinds import Column
from sgdone.tables.message_text import counted
from sgdone.tables.text_values import characters_in_words, lower_case_pieces

#: Bytes of a word, or pair of words, that are kept for its name.
WORD_BYTES = 48

Pieces = list[tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]]


@final
class TextEncoder(ColumnEncoder):
    """A column of text: a feature for each bucket of words and pairs of words that training rows have.

    Words are runs of letters, digits and combining marks, in lower case. A word or pair goes to one of ``n_buckets``
    buckets by its hash. Its value is 1 + log(how often the text has it), divided by the Euclidean norm of the text's
    values, so that long texts count as much as short ones. For the name of a feature the word that most of the
    bucket's words are is kept, up to 48 bytes of it.

    Examples
    --------
    >>> import pyarrow as pa
    >>> encoder = TextEncoder("text", n_buckets=2**18)
    >>> from sgdone.tables.kinds import Kind
    >>> column = Column(Kind.TEXT, "string", "", pa.array(["Free entry!", "free?"], pa.large_string()))
    >>> indptr, features, values = encoder.encode(column, NewFeatures(0)).words[0]
    >>> indptr, features, [name for _, name in encoder.sparse_names()]
    (array([0, 3, 4]), array([0, 1, 2, 0], dtype=int32), ['text:free', 'text:entry', 'text:free entry'])
    """

    def __init__(self, name: str, n_buckets: int) -> None:
        self.name, self.n_buckets = name, n_buckets
        # In the order in which they occurred first: buckets, their features, and their words.
        self.buckets = np.zeros(0, dtype=np.int32)
        self.features = np.zeros(0, dtype=np.int32)
        self.words: NDArray[np.uint8] | None = np.zeros((0, WORD_BYTES), dtype=np.uint8)
        self.hashes = np.zeros(0, dtype=np.uint64)
        self.votes = np.zeros(0, dtype=np.int32)

    def encode(self, column: Column, new: NewFeatures | None) -> Entries:
        """Entries of the rows; with ``new``, what has not been seen before is learnt first."""
        numbers = bucket_lookup(self.buckets, np.arange(self.buckets.size), self.n_buckets)
        if new is None:
            pieces = number_words(column.values, numbers, known_number, _nothing())
        else:
            memory = self._room_for_words()
            pieces = number_words(column.values, numbers, learnt_number, memory)
            self._keep(numbers, memory, new)
        indptr, found, values = _joined(pieces)
        return Entries(words=[(indptr, self.features[found], values)])

    def _room_for_words(self) -> tuple[Any, ...]:
        """Arrays for the words of all buckets; most of them are never touched, and take no memory."""
        count, known = self.n_buckets, self.buckets.size
        hashes, votes = np.zeros(count, dtype=np.uint64), np.zeros(count, dtype=np.int32)
        words = np.zeros((count, WORD_BYTES), dtype=np.uint8)
        if self.words is not None:
            hashes[:known], votes[:known], words[:known] = self.hashes, self.votes, self.words
        return np.array([known], dtype=np.int64), hashes, votes, words

    def _keep(self, numbers: NDArray[np.int32], memory: tuple[Any, ...], new: NewFeatures) -> None:
        known, count = self.buckets.size, int(memory[0][0])
        used = np.flatnonzero(numbers >= 0).astype(np.int32)
        self.buckets = used[np.argsort(numbers[used])]
        self.features = np.append(self.features, new.take(count - known))
        self.hashes, self.votes, self.words = (array[:count].copy() for array in memory[1:])

    def dense_names(self) -> list[str]:
        """Names of the dense features."""
        return []

    def sparse_names(self) -> Iterable[tuple[int, str]]:
        """Numbers and names of the sparse features."""
        texts = [""] * self.features.size if self.words is None else map(_decoded, self.words)
        for feature, bucket, text in zip(self.features.tolist(), self.buckets.tolist(), texts, strict=True):
            yield feature, f"{self.name}:{text or f'(bucket {bucket})'}"

    def description(self) -> str:
        """What the column became, for people."""
        return f"{counted(self.features.size, 'bucket')} of words and pairs of words"

    def state(self, words: bool) -> ColumnState:
        """What has been learnt, as plain values, arrays and levels."""
        arrays: dict[str, NDArray[Any]] = {"buckets": self.buckets, "features": self.features}
        if words and self.words is not None:
            arrays |= {"hashes": self.hashes, "votes": self.votes, "words": self.words.ravel()}
        return ColumnState({"n_buckets": self.n_buckets}, arrays)

    @classmethod
    def from_state(cls, name: str, state: ColumnState) -> "TextEncoder":
        """The encoder with this state."""
        made = cls(name, state.integer("n_buckets", 1))
        made.buckets, made.features = feature_numbers(state, "buckets"), feature_numbers(state, "features")
        count = made.buckets.size
        if made.features.size != count or (count and made.buckets.max() >= made.n_buckets):
            raise ValueError(f"column {name!r} has buckets out of range")
        made.words = None
        if "words" in state.arrays:
            made.hashes, made.votes = state.array("hashes", np.uint64), state.array("votes", np.int32)
            words = state.array("words", np.uint8)
            if made.hashes.size != count or made.votes.size != count or words.size != count * WORD_BYTES:
                raise ValueError(f"column {name!r} has words out of range")
            made.words = words.reshape(count, WORD_BYTES)
        return made


def number_words(texts: Any, numbers: NDArray[np.int32], number_of: Any, memory: tuple[Any, ...]) -> Pieces:
    """The numbers of the words and pairs of each text, and their values, as pieces of a CSR matrix."""
    loop = make_number_words("uint8 int64", number_of)
    pieces = []
    for data, offsets in lower_case_pieces(texts):
        # A text of b bytes has at most (b + 1)/2 words, and one pair less.
        bound = int(offsets[-1] - offsets[0])
        indptr = np.zeros(offsets.size, dtype=np.int64)
        found, values = np.empty(bound, dtype=np.int32), np.empty(bound)
        used = loop(data, offsets, characters_in_words(), numbers, memory, indptr, found, values)
        pieces.append((indptr, found[:used].copy(), values[:used].copy()))
    return pieces


def _nothing() -> tuple[Any, ...]:
    """The memory of a loop that learns nothing."""
    return np.zeros(1, np.int64), np.zeros(0, np.uint64), np.zeros(0, np.int32), np.zeros((0, WORD_BYTES), np.uint8)


def _joined(pieces: Pieces) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    lengths = [np.diff(indptr) for indptr, _, _ in pieces]
    indptr = np.concatenate([np.zeros(1, dtype=np.int64), *lengths]).cumsum()
    found = np.concatenate([np.zeros(0, dtype=np.int32), *(found for _, found, _ in pieces)])
    return indptr, found, np.concatenate([np.zeros(0), *(values for _, _, values in pieces)])


def _decoded(word: NDArray[np.uint8]) -> str:
    """A word from its bytes, with an ellipsis where it was cut."""
    text = word.tobytes().rstrip(b"\0").decode(errors="ignore")
    return text if word[-1] == 0 else f"{text}…"
