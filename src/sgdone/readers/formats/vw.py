"""Reader for Vowpal Wabbit's text format: ``label weight 'tag|namespace name:value name | name …`` on each line."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, final

import numpy as np
from scipy import sparse

from sgdone.kernels.decimal_number import power_table
from sgdone.kernels.name_numbers import (
    ALL_ROWS,
    DONE_ENTRIES,
    DONE_ROWS,
    KNOWN,
    KNOWN_BEFORE,
    PLACED,
    SLOT,
    number_names,
)
from sgdone.kernels.vw_text import NO_NAME, hash_names, read_vw_lines
from sgdone.matrices.csr import csr_of
from sgdone.matrices.stacking import ReusedArrays, widened
from sgdone.readers.locations import shown
from sgdone.readers.numeric_lines import LineBlock, RowArrays, joined, parsed_blocks, with_index_type
from sgdone.readers.reader import Reader
from sgdone.readers.table import DataError, ReadOptions, Table, reads_as_number, shortened

_BLANKS = re.compile(r"[ \t\r]+")


def rewritten(line: bytes, options: ReadOptions) -> bytes:
    """A line as the compiled reader takes it; raises ValueError if something is wrong with it.

    A feature without a name, such as ``:2``, is named by its place among these in its namespace: ``0``, ``1``, …, which
    have the same hashes in Vowpal Wabbit.

    Examples
    --------
    >>> from pathlib import Path
    >>> rewritten(b"+1 2 0 'a_tag|f:0.5 a :2 :3e1 b:1", ReadOptions(Path("t.vw")))
    b'1.0 2.0 |f:0.5 a 0:2.0 1:30.0 b:1.0'
    """
    # Names that are not UTF-8 keep their bytes.
    text = line.decode("utf-8", "surrogateescape").strip(" \t\r\n")
    head, bar, rest = text.partition("|")
    if not bar:
        raise ValueError(
            f"has no '|' between the label and the features ({_shown(text)}): write '1 | name:value name:value'"
        )
    numbers = _label(head, options)
    spaces = [_namespace(space, options) for space in rest.split("|")]
    return " ".join([*map(repr, numbers), *spaces]).encode("utf-8", "surrogateescape")


def _label(head: str, options: ReadOptions) -> list[float]:
    """The label and the weight, if given."""
    words = _BLANKS.split(head)
    # As in Vowpal Wabbit: what is directly before the bar is a tag.
    tag = words.pop() or (words.pop() if len(words) > 1 and words[-1].startswith("'") else "")
    words = [word for word in words if word]
    if not words:
        if options.require_label and not options.skip_unlabelled:
            hint = f": {_shown(tag)} directly before '|' is a tag. Write '{tag} |'" if reads_as_number(tag) else ""
            raise ValueError(f"has no label{hint or ': write a number before the first |'}")
        return []
    if len(words) > 3:
        raise ValueError(f"has {len(words)} words before the first '|': a label, a weight and a tag are allowed")
    kinds = ("label", "weight", "initial prediction")
    numbers = [_number(word, f"the {kind} {_shown(word)}") for word, kind in zip(words, kinds, strict=False)]
    for word, number, kind in zip(words, numbers, kinds, strict=False):
        if not np.isfinite(number):
            raise ValueError(f"the {kind} is {_shown(word)}: drop the row")
    if len(numbers) > 1 and numbers[1] < 0:
        raise ValueError(f"the weight {words[1]} is negative: weights are at least 0")
    if len(numbers) > 2 and numbers[2] != 0:
        raise ValueError(f"has an initial prediction ({words[2]}), which is not supported: remove the third number")
    return numbers[:2]


def _namespace(text: str, options: ReadOptions) -> str:
    """A namespace with its features, in the common form."""
    name, *features = _BLANKS.split(text)
    space, colon, weight = name.partition(":")
    if colon and not space:
        raise ValueError(f"'|{_cut(name)}' has no name of a namespace before ':'")
    scale = _number(weight, f"the value {_shown(weight)} of the namespace {_shown(space)}") if colon else 1.0
    if not np.isfinite(scale):
        raise ValueError(f"the value of the namespace {_shown(space)} is {_shown(weight)}: write a finite number")
    words, unnamed = [f"|{space}:{scale!r}" if colon else f"|{space}"], 0
    for feature in features:
        if not feature:
            continue
        label, colon, value = feature.partition(":")
        if not label:
            label, unnamed = str(unnamed), unnamed + 1
        number = _number(value, f"feature {_shown(label)}: {_shown(value)}") if colon else 1.0
        if not (options.allow_missing or np.isfinite(number * scale)):
            advice = f"missing value ({value}): impute" if np.isnan(number) else f"infinite value ({_cut(value)}): clip"
            raise ValueError(f"feature {_shown(label)}: {advice} or drop it")
        words.append(f"{label}:{number!r}" if colon else label)
    return " ".join(words)


def _number(text: str, what: str) -> float:
    if not (text.isascii() and reads_as_number(text)):
        raise ValueError(f"{what} is not a number")
    return float(text)


def _shown(text: str) -> str:
    return repr(_cut(text))


def _cut(text: str) -> str:
    return shortened(text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace"))


_FIRST_SIZE = 1 << 10
_NAME = re.compile(rb"[^ \t\r\n|:]*")
_ESCAPED = re.compile(rb"\\x([0-9a-f]{2})")


@final
class NameColumns:
    """Columns of features by their names. A new name adds a column, unless all ``names`` are given."""

    def __init__(self, names: Sequence[str] | None = None) -> None:
        #: ``namespace^name``, or the name alone in the namespace without one. Grows with each block.
        self.names: list[str] = []
        self._state = np.zeros(6, dtype=np.int64)
        self._hashes = np.empty(_FIRST_SIZE, dtype=np.uint64)
        self._slots = np.zeros(2 * SLOT * _FIRST_SIZE, dtype=np.uint64)
        self._fixed = False
        if names is not None:
            self._add(names)
            self._fixed = True

    def matrix(self, block: LineBlock, rows: RowArrays) -> sparse.csr_array:
        """The rows of a block as a matrix; features that repeat in a row are added up."""
        n_entries = rows.n_entries
        starts, ends, spaces, values = (array[:n_entries] for array in rows.entries.values())
        result = self._numbered(block.data, rows.indptr[: rows.n_rows + 1], starts, ends, spaces, values)
        known = self._state[KNOWN_BEFORE]
        for entry in self._new[: self._state[KNOWN] - known].tolist():
            name = block.data[starts[entry] : ends[entry]].tobytes()
            space = int(spaces[entry])
            whole = name if space == NO_NAME else _name_at(block.data, space) + b"^" + name
            self.names.append(whole.decode("utf-8", "backslashreplace"))
        return result

    def _add(self, names: Sequence[str]) -> None:
        """Give numbers to names, in their order."""
        encoded = [_bytes_of(name) for name in names]
        ends = np.cumsum([len(name) + 1 for name in encoded], dtype=np.int32)
        starts = np.concatenate([[0], ends[:-1]]).astype(np.int32)
        data = np.frombuffer(b"\n".join(encoded) + b"\n", dtype=np.uint8)
        spaces = np.full(len(encoded), NO_NAME, dtype=np.int32)
        indptr = np.array([0, len(encoded)], dtype=np.int32)
        self._numbered(data, indptr, starts, ends - np.int32(1), spaces, np.zeros(len(encoded)))
        self.names += names

    def _numbered(self, data: Any, indptr: Any, starts: Any, ends: Any, spaces: Any, values: Any) -> sparse.csr_array:
        state = self._state
        state[KNOWN_BEFORE], state[DONE_ROWS], state[DONE_ENTRIES] = state[KNOWN], 0, 0
        self._new = np.empty(0 if self._fixed else values.size, dtype=np.int32)
        sum_indptr, indices, sums = np.zeros_like(indptr), np.empty(values.size, np.int32), np.empty(values.size)
        out = sum_indptr, indices, sums
        entries = data, indptr, starts, ends, spaces, values
        while not number_names(entries, self._fixed, state, self._hashes, self._slots, self._new, out):
            self._grow(int(indptr[state[DONE_ROWS] + 1] - indptr[state[DONE_ROWS]]))
        state[ALL_ROWS] += indptr.size - 1
        n_entries = int(state[DONE_ENTRIES])
        shape = (indptr.size - 1, max(1, int(state[KNOWN])))
        return sparse.csr_array((sums[:n_entries], indices[:n_entries], sum_indptr), shape=shape)

    def _grow(self, more: int) -> None:
        """Make room for twice as many names, and for those of a row."""
        known = int(self._state[KNOWN])
        size = 1 << (2 * known + more).bit_length()
        hashes = np.empty(size, dtype=np.uint64)
        hashes[:known] = self._hashes[:known]
        self._hashes, self._slots = hashes, np.zeros(2 * SLOT * size, dtype=np.uint64)
        self._state[PLACED] = 0


def _name_at(data: Any, at: int) -> bytes:
    size = 1 << 8
    while True:
        match = _NAME.match(piece := data[at : at + size].tobytes())
        if match is None or match.end() < len(piece):
            return b"" if match is None else match[0]
        size *= 8


def _bytes_of(name: str) -> bytes:
    r"""The bytes in a file whose name this is: those that are not UTF-8 were written as ``\xe9``.

    Examples
    --------
    >>> _bytes_of("café"), _bytes_of(r"caf\xe9"), _bytes_of(r"caf\x41")
    (b'caf\xc3\xa9', b'caf\xe9', b'caf\\x41')
    """
    encoded = name.encode()
    plain = _ESCAPED.sub(lambda match: bytes.fromhex(match[1].decode()), encoded)
    try:
        plain.decode()
    except UnicodeDecodeError:
        return plain
    return encoded


_ROWS = {"labels": np.uint64, "weights": np.uint64}
_ENTRIES = {"names": np.int32, "name_ends": np.int32, "spaces": np.int32, "values": np.float64}


def read_vw(options: ReadOptions) -> Table:
    """Read a file in Vowpal Wabbit's format into a CSR matrix.

    Features that repeat in a row are added up. A token directly before the first ``|`` is a tag, as in Vowpal Wabbit,
    and tags are ignored. Weights that are all 1 are left out.

    Without ``bits``, each ``namespace^name`` is a column, in the order in which they first appear. With them, columns
    are Vowpal Wabbit's hashes modulo 2**bits (``--hash strings``, without its constant feature).
    """
    table = joined(options, _tables([options]))
    if options.bits is not None:
        table.X.sum_duplicates()
    if table.weights is not None and np.all(table.weights == 1):
        table = replace(table, weights=None)
    table = _with_labels(table, options)
    if table.X.shape[0] == 0:
        raise _without_labels(options)
    return table


def read_vw_parts(files: Sequence[ReadOptions]) -> Iterator[Table]:
    """The rows of files in Vowpal Wabbit's format, a block of lines at a time.

    All tables have weights. ``feature_names`` is one list, which grows. With ``bits``, a row may have a column twice.
    If rows without a label are skipped, ``labelled`` counts from the first row of a part, and a table may have no rows.
    """
    n_rows = 0
    for whole in _tables(files):
        table = _with_labels(whole, files[0])
        n_rows += table.X.shape[0]
        yield table
    if n_rows == 0 and not files[0].part_of_table:
        raise _without_labels(files[0])


def _tables(files: Sequence[ReadOptions]) -> Iterator[Table]:
    """Tables of all rows; the labels of those without one are NaN."""
    options = files[0]
    if options.require_label:
        for name, given, which in [("label", options.label, "first"), ("weight", options.weight, "second")]:
            if given is not None:
                raise options.error(
                    f"Vowpal Wabbit files have no column names, and the {name} is the {which} number of a line: "
                    f"remove {name}="
                )
    columns = NameColumns(options.features) if options.bits is None else None
    parse = partial(_parsed, power_table(), ReusedArrays())
    for block, rows, place in parsed_blocks(files, parse):
        n_rows = rows.n_rows
        X = _hashed(rows, 1 << (options.bits or 0)) if columns is None else columns.matrix(block, rows)
        if columns is not None and options.width is not None:
            if X.shape[1] > options.width:
                problem = f"has at least {X.shape[1]:,} features instead of {options.width:,}: leave out n_features="
                raise block.options.error(problem)
            X = widened(X, options.width)
        yield Table(
            X=X,
            y=rows.rows["labels"][:n_rows].view(np.float64),
            feature_names=None if columns is None else columns.names,
            label_name=None,
            name=shown(block.options.path),
            weights=rows.rows["weights"][:n_rows].view(np.float64),
            place=place,
        )


def _parsed(table: Any, arrays: ReusedArrays, block: LineBlock) -> RowArrays:
    options = block.options
    entries = _ENTRIES if options.bits is None else {**_ENTRIES, "indices": np.int32}
    rows = RowArrays(block.end, _ROWS, entries, arrays)
    labelled = options.require_label and not options.skip_unlabelled

    def loop(data: Any, end: Any) -> int:
        outputs = *rows.rows.values(), rows.indptr, *(rows.entries[name] for name in _ENTRIES)
        return read_vw_lines(data, end, rows.progress, table, labelled, not options.allow_missing, outputs)

    rows.fill(block, loop, lambda line: rewritten(line, options))
    if options.bits is not None:
        names, ends, spaces = (rows.entries[name][: rows.n_entries] for name in ("names", "name_ends", "spaces"))
        mask = np.uint64((1 << options.bits) - 1)
        hash_names(block.data, table, names, ends, spaces, mask, rows.entries["indices"])
    return rows


def _hashed(rows: RowArrays, width: int) -> Any:
    n_rows, n_entries = rows.n_rows, rows.n_entries
    values, indices = (rows.entries[name][:n_entries] for name in ("values", "indices"))
    return with_index_type(csr_of(values, indices, rows.indptr[: n_rows + 1], (n_rows, width)))


def _with_labels(table: Table, options: ReadOptions) -> Table:
    """The rows with a label, if others are to be skipped; no labels, if some are missing and none is needed."""
    labels = np.asarray(table.y)
    missing = np.isnan(labels)
    if not missing.any():
        return table
    if not options.skip_unlabelled:
        return replace(table, y=None)
    kept = np.flatnonzero(~missing)
    return replace(table.at(kept), labelled=kept, unlabelled=missing.size - kept.size)


def _without_labels(options: ReadOptions) -> DataError:
    return options.error("has no labels: write a number before the first '|' of each line")


READER = Reader("vw", (".vw",), read_vw, parts=read_vw_parts)
