"""Files as partitions of a cluster, opened: what is known of their columns and rows before the fit."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pyarrow as pa
from scipy import sparse

from sgdone.cli.errors import usage
from sgdone.cli.fit_arguments import FitArguments
from sgdone.cli.input_data import InputData
from sgdone.cli.opened_data import file_input, named
from sgdone.cluster import Engine, PartitionError, Rounds, RowFacts, facts_of_rows
from sgdone.cluster.tables import KindsOfColumns, KindVotes
from sgdone.readers.file_parts import FilePart, FileParts, file_parts
from sgdone.readers.reading import format_of
from sgdone.tables.kinds import Kind

#: Most columns of svmlight files: each is a coefficient, and several vectors of them are sent and kept.
_MOST_COLUMNS = 1 << 26
#: Formats whose cells decide the types of the columns, in each file by itself.
_TYPED_BY_CELLS = frozenset({"csv", "jsonl"})

#: Makes an engine whose partitions are parts of files.
EngineOf = Callable[[Sequence[FilePart]], Engine]


def listed_parts(arguments: FitArguments) -> FileParts:
    """The parts of the files that DATA names; raise for columns and options that do not fit."""
    source = file_input(arguments.data, arguments.file, n_features=arguments.file.n_features)
    if arguments.test:
        format_of(file_input(arguments.test, arguments.file).options)  # an error for a file that cannot be opened
    parts = file_parts(source.found, source.options)
    with usage("--bits"):
        if arguments.file.bits is not None and parts.columns is not None:
            raise ValueError("it hashes features of svmlight and Vowpal Wabbit files, and these are tables: remove it")
        if arguments.file.bits is None and parts.format == "vw":
            raise ValueError(
                "with --dask the names of Vowpal Wabbit files must be hashed, so that all workers have the same "
                "columns: add --bits 18, for example"
            )
    return parts


def no_rows(arguments: FitArguments, parts: FileParts) -> InputData:
    """The columns of the files, without rows."""
    columns, name = parts.columns, named(arguments.data)
    if columns is None:
        return InputData(name, sparse.csr_array((0, 1)), None, None, zero_based=arguments.file.zero_based)
    X = pa.table({name: pa.nulls(0) for name in columns.features})
    weights = None if columns.weight is None else np.empty(0)
    return InputData(
        name, X, None, columns.features, columns.label_name, weights=weights, dropped=tuple(columns.dropped)
    )


@final
@dataclass(frozen=True)
class OpenedPartitions:
    """Partitions that have been read.

    Parameters
    ----------
    engine : Engine
        Keeps them.
    rounds : Rounds
        Sends requests to them.
    facts : RowFacts
        Their rows and labels.
    n_partitions : int
        Number of partitions.
    """

    engine: Engine
    rounds: Rounds
    facts: RowFacts
    n_partitions: int


@contextmanager
def opened_partitions(parts: FileParts, engine_of: EngineOf) -> Iterator[OpenedPartitions]:
    """Let the workers read their parts; errors name files, and the partitions are released at the end.

    The cells of a CSV file decide the types of its columns. A column that is of numbers or dates in some files only is
    read again, as strings: then levels are as they are written in all of them.
    """
    with _files_named(parts.parts):
        engine = engine_of(parts.parts)
        try:
            rounds = Rounds(engine)
            mixed = _mixed_columns(rounds, parts) if parts.format in _TYPED_BY_CELLS else []
            if not mixed:
                facts = facts_of_rows(rounds)
                _check_columns(parts, facts)
                yield OpenedPartitions(engine, rounds, facts, len(parts.parts))
                return
        finally:
            engine.close()
        with opened_partitions(parts.with_strings(mixed), engine_of) as opened:
            yield opened


def _mixed_columns(rounds: Rounds, parts: FileParts) -> list[str]:
    """Columns that are of numbers, booleans or dates in some parts, and of something else in others."""
    votes: KindVotes | None = rounds.sum(KindsOfColumns())
    known = set(parts.parts[0].options.as_strings)
    strings = {str(Kind.CATEGORY), str(Kind.TEXT)}
    return [
        name
        for name, kinds in ((votes and votes.votes) or {}).items()
        if name not in known and len(kinds) > 1 and not strings.issuperset(kinds)
    ]


def _check_columns(parts: FileParts, facts: RowFacts) -> None:
    if parts.columns is None and facts.n_columns > _MOST_COLUMNS:
        raise ValueError(
            f"the largest index is {facts.n_columns:,}, and a fit on a cluster has a coefficient for each: hash them "
            "with bits=20, for example"
        )


@contextmanager
def _files_named(parts: Sequence[FilePart]) -> Iterator[None]:
    """Convert errors about partitions to errors that also name the file."""
    try:
        yield
    except PartitionError as error:
        raise ValueError(with_files(str(error), parts)) from error


def with_files(message: str, parts: Sequence[Any]) -> str:
    """A message about partitions with the files that they are of, where it does not name them itself.

    Examples
    --------
    >>> with_files("partition 1 has 2 columns, partition 0 has 3", ["a.svm", "b.svm"])
    'partition 1 (b.svm) has 2 columns, partition 0 (a.svm) has 3'
    >>> with_files("partition 1: b.csv, line 3: is empty", ["a.csv", "b.csv"])
    'partition 1: b.csv, line 3: is empty'
    """

    def named_partition(found: re.Match[str]) -> str:
        number = int(found[1])
        part = str(parts[number]) if number < len(parts) else ""
        return found[0] if not part or part.split(",")[0] in message else f"{found[0]} ({part})"

    return re.sub(r"\bpartition (\d+)\b", named_partition, message)
