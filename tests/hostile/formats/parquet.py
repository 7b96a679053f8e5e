"""Parquet files with columns of any type, and metadata of any kind."""

import copy
import datetime
import decimal
import io
import json
from collections.abc import Callable
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ..text_changes import odd_text

SUFFIXES = (".parquet", "")


def content(random: Random) -> bytes:
    """A table of a few columns, most of them numbers."""
    stream = io.BytesIO()
    made = table(random)
    pq.write_table(made, stream, compression=random.choice(["none", "snappy", "gzip"]), row_group_size=20)
    return stream.getvalue()


def table(random: Random) -> Any:
    """A table of columns of any type."""
    n_rows = random.choice([0, 1, 6, 30, 30])
    names = random.choice([["a", "b", "label"]] * 5 + [["a", "label"], ["label"], ["a", "a", "label"], ["a", "b"]])
    names = [odd_text(random).replace("\ud800", "") if random.random() < 0.02 else name for name in names]
    columns = [_column("label" if name == "label" else "double", n_rows, random) for name in names]
    for _ in range(random.choice([0, 0, 1, 1, 2])):
        columns[random.randrange(len(columns))] = _column(random.choice(list(_COLUMNS)), n_rows, random)
    made = pa.Table.from_arrays(columns, names=names)
    metadata = random.choice([None, None, _pandas_metadata(random, names)])
    return made if metadata is None else made.replace_schema_metadata({b"pandas": metadata})


def _column(kind: str, n_rows: int, random: Random) -> Any:
    made = _COLUMNS[kind](n_rows, random)
    if random.random() < 0.1 and n_rows and not pa.types.is_dictionary(made.type):
        row = random.randrange(n_rows)
        return pa.concat_arrays([made[:row], pa.nulls(1, made.type), made[row + 1 :]])
    return made


def _some(values: list[Any], n_rows: int, random: Random) -> list[Any]:
    return [random.choice(values) for _ in range(n_rows)]


def _of(kind: Any, *values: Any) -> Callable[[int, Random], Any]:
    return lambda n_rows, random: pa.array(_some(list(values), n_rows, random), type=kind)


_NAN, _INF = float("nan"), float("inf")
_COLUMNS: dict[str, Callable[[int, Random], Any]] = {
    "label": _of(pa.int64(), 0, 1),
    "double": lambda n_rows, random: pa.array([random.gauss(0, 1) for _ in range(n_rows)], type=pa.float64()),
    "odd doubles": _of(pa.float64(), 0.5, _NAN, _INF, 1e308, 5e-324),
    "float": _of(pa.float32(), 0.5, 1.5),
    "half": lambda n_rows, random: pa.array([0.5] * n_rows).cast(pa.float32()).cast(pa.float16(), safe=False),
    "uint64": _of(pa.uint64(), 2**64 - 1, 2**64 - 2),
    "int64": _of(pa.int64(), 2**53, 2**53 + 1, -(2**63)),
    "bool": _of(pa.bool_(), True, False),
    "null": lambda n_rows, random: pa.nulls(n_rows),
    "string": _of(pa.string(), "a", "b", "7", "07"),
    "odd strings": lambda n_rows, random: pa.array(
        [odd_text(random).replace("\ud800", "") for _ in range(n_rows)], type=pa.string()
    ),
    "long string": lambda n_rows, random: pa.array(["x" * 10_000] * n_rows),
    "large string": _of(pa.large_string(), "a", "b"),
    "binary": _of(pa.binary(), b"a", b"\xff"),
    "fixed binary": _of(pa.binary(2), b"ab", b"\xff\xff"),
    "dictionary": lambda n_rows, random: pa.array(_some(["p", "q"], n_rows, random)).dictionary_encode(),
    "dictionary of numbers": lambda n_rows, random: pa.array(_some([1.5, 2.5], n_rows, random)).dictionary_encode(),
    "decimal": _of(pa.decimal128(38, 2), decimal.Decimal("1.25"), decimal.Decimal(10) ** 35),
    "decimal 256": _of(pa.decimal256(76, 2), decimal.Decimal("1.25"), decimal.Decimal(10) ** 70),
    "date": _of(pa.date32(), datetime.date(2020, 1, 1), datetime.date(1, 1, 1)),
    "timestamp": _of(pa.timestamp("ns"), datetime.datetime(2020, 1, 1)),
    "timestamp with a zone": _of(pa.timestamp("us", tz="UTC"), datetime.datetime(2020, 1, 1)),
    "timestamp out of range": _of(pa.timestamp("us"), 2**62),
    "timestamp in no zone": _of(pa.timestamp("us", tz="No/Where"), 2**40),
    "time": _of(pa.time64("us"), datetime.time(12, 30)),
    "duration": _of(pa.duration("s"), 3, 2**62),
    "list": _of(pa.list_(pa.float64()), [1.0], []),
    "struct": _of(pa.struct([("p", pa.float64())]), {"p": 1.0}),
    "map": _of(pa.map_(pa.string(), pa.float64()), [("p", 1.0)]),
}


def _pandas_metadata(random: Random, names: list[str]) -> bytes:
    """What pandas writes beside a table, or nearly."""
    right: dict[str, Any] = {
        "index_columns": [],
        "column_indexes": [],
        "columns": [
            {"name": name, "field_name": name, "pandas_type": "float64", "numpy_type": "float64", "metadata": None}
            for name in names
        ],
        "pandas_version": "2.1.0",
    }
    odd: list[Any] = [None, 3, "text", [], {}, [None], {"kind": "range"}, [3], [["a"]], ["nowhere"], [{}], True]
    right[random.choice(list(right))] = copy.deepcopy(random.choice(odd))
    if random.random() < 0.3 and isinstance(right["columns"], list) and right["columns"]:
        right["columns"][0] = random.choice(odd)
    text = json.dumps(right).encode()
    return random.choice([text, text, b"{", b"null", b"[" * 100_000, b"\xff\xfe", b"", b"3"])
