"""Data files of every format through the reader, and through what the command ``fit`` does with them."""

import bz2
import gzip
import lzma
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import typer

from sgdone.cli.fit import fit_and_report
from sgdone.cli.fit_data import FitArguments
from sgdone.cli.option_groups import CheckpointOptions, FitOutput, MethodGroup, ScoringOptions, TaskName
from sgdone.cli.options import Options
from sgdone.readers import row_input
from sgdone.readers.input_files import input_files
from sgdone.readers.reading import read, read_parts
from sgdone.readers.table import DataError, ReadOptions

from ..byte_changes import changed
from ..case_kind import Kind, Note, modules_of
from ..judging import answer, argument_error, only
from ..special_files import special_file

#: Rows of a file that is small on disk and large in memory.
_BOMB_ROWS = 2_000_000

_COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "two gz": lambda data: gzip.compress(data) + gzip.compress(data),
    "gz in gz": lambda data: gzip.compress(gzip.compress(data)),
    "zlib": zlib.compress,
    "zip": lambda data: b"PK\x03\x04" + data,
    "zstd": lambda data: b"\x28\xb5\x2f\xfd" + data,
}


def _prepare(folder: Path, few_forms: bool) -> dict[str, Any]:
    return {"few": few_forms} | {"formats": modules_of("formats")}


def _run(known: dict[str, Any], random: Random, folder: Path, note: Note) -> None:
    path = special_file(random, folder) if random.random() < 0.03 else _file(known, random, folder, note)
    plain = random.random() < 0.85
    options = {
        "label": None if plain else random.choice(["label", "a", "nowhere"]),
        "zero_based": random.random() < 0.1,
        "n_features": None if plain else random.choice([None, 3, 1]),
    }
    note(f"{path.name} {options}")
    more = {
        "require_label": random.random() < 0.8,
        "allow_missing": random.random() < 0.3,
        "features": None if plain else random.choice([None, ["a"], ["a", "b"], ["b", "a", "nowhere"], []]),
        "format": None if plain else random.choice([None, "csv", "svmlight", "vw", "parquet", "arrow", "jsonl"]),
    }
    way = random.choice(["whole", "in parts", "fit", "fit", "fit block by block"])
    if _is_pipe(path):
        way = "whole"  # in parts pipes are read too, and someone may still write to it
    note(f"{way} {more}")
    if way == "whole":
        answer(lambda: read(path, **options, **more), only(DataError, path))
    elif way == "in parts":
        answer(lambda: _read_parts(path, options | more), only(DataError, path))
    else:
        # No rows are few enough to be fitted in memory.
        with patch.object(row_input, "IN_MEMORY", 0.0 if way == "fit block by block" else row_input.IN_MEMORY):
            _fit(path, folder, options, random, note)


def _is_pipe(path: Path) -> bool:
    try:
        return path.is_fifo()
    except OSError:  # the name is too long
        return False


def _read_parts(path: Path, options: dict[str, Any]) -> None:
    for table in read_parts(input_files(path), ReadOptions(path, **options)):
        assert table.X.shape[0] >= 0


def _file(known: dict[str, Any], random: Random, folder: Path, note: Note) -> Path:
    form = random.choice(known["formats"])
    data, name = form.content(random), form.__name__.rpartition(".")[2]
    suffix = random.choice(form.SUFFIXES)
    if not known["few"] and random.random() < 0.002:
        data, name, suffix = gzip.compress(b"1 1:1\n" * _BOMB_ROWS), "svmlight, much of it", ".svm.gz"
    if random.random() < 0.25:
        data, name = changed(data, random), f"{name}, changed"
    if random.random() < 0.2:
        kind = random.choice([*_COMPRESSIONS, "gz", "bz2", "xz"])
        data, name = _COMPRESSIONS[kind](data), f"{name} in {kind}"
        suffix += random.choice(["", f".{kind.rpartition(' ')[2]}", ".gz"])
        if random.random() < 0.4:
            data, name = changed(data, random), f"{name}, changed"
    note(name)
    path = folder / f"data{suffix}"
    path.write_bytes(data)
    return path


def _fit(path: Path, folder: Path, options: dict[str, Any], random: Random, note: Note) -> None:
    task = random.choice(["auto", "auto", "classification", "regression"])
    note(f"fit --task {task}")
    arguments = FitArguments(
        data=[str(path)],
        scored=ScoringOptions(no_holdout=random.random() < 0.5),
        file=ReadOptions(skip_unlabelled=True, **options),
        options=Options(MethodGroup(task=TaskName(task), passes=1.0)),
        checkpoints=CheckpointOptions(),
        output=FitOutput(folder / "model-of-data", quiet=True),
        began=time.perf_counter(),
    )

    def problem_with(error: Exception) -> str | None:
        """The reader's errors name the file; those of the estimator are about its arguments, or ask for the task."""
        if isinstance(error, typer.BadParameter):
            return None
        return only(DataError, path)(error) if isinstance(error, DataError) else argument_error(error)

    answer(lambda: fit_and_report(arguments), problem_with)


KIND = Kind("data", 1, _run, _prepare)
