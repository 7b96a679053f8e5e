"""Data frames with columns of every kind that someone may pass."""

import datetime
import decimal
import math
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

Cells = list[Any]
_WORDS = [
    "free", "prize", "CALL", "lünch", "naïve", "ﬁne", "e\u0301", "日本", "😀", "n0w", "don't", "a-b", "\u200b", "\ud7ff"
]  # fmt: skip
_MIXED = [None, "text", "1.5", 1, 2.5, True, b"bytes", {}, [], (1,), 10**400, 1j, pd.NA, pd.NaT, np.nan, math.inf]
_MIXED += [pd.Timestamp(0), datetime.date(2020, 1, 1), decimal.Decimal("0.1"), object, "", " ", "nan", "\0", "\ud800"]
_GAP_WORDS = ["", " ", "NA", "nan", "None", "?", "-", "null"]


def _chosen(values: Any) -> Callable[[int, Random], Cells]:
    return lambda n, random: [random.choice(values) for _ in range(n)]


def _numbers(n: int, random: Random) -> Any:
    return np.array([random.gauss(0, 1) for _ in range(n)])


def _texts(n: int, random: Random) -> Cells:
    return [" ".join(random.choices(_WORDS, k=random.randrange(12))) for _ in range(n)]


def _dates(n: int, random: Random) -> Any:
    return pd.Series(pd.Timestamp("2020-02-28") + pd.to_timedelta([random.randrange(10**6) for _ in range(n)], "min"))


def _arrow(values: Callable[[int, Random], Any], kind: Any) -> Callable[[int, Random], Any]:
    return lambda n, random: pd.Series(pd.arrays.ArrowExtensionArray(pa.array(values(n, random), kind)))


def _far_dates(n: int, random: Random) -> Any:
    kinds = [pa.timestamp("s"), pa.timestamp("ns"), pa.timestamp("us", "Asia/Kolkata"), pa.date64(), pa.time64("ns")]
    kind = random.choice(kinds)
    most = 86_399_999_999_999 if pa.types.is_time(kind) else 2**62
    day = 86_400_000 if pa.types.is_date(kind) else 1
    numbers = [random.choice([0, 1, random.randrange(most // day)]) * day for _ in range(n)]
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.array(numbers, pa.int64()).cast(kind)))


def _nested(n: int, random: Random) -> Any:
    return [random.choice([[1.0], [1.0, 2.0], [], None, [[3]], {"a": 1}, np.zeros(2)]) for _ in range(n)]


def _categories(n: int, random: Random) -> Any:
    """With levels that do not occur, of any type."""
    levels = random.choice(
        [["a", "b", "c"], [1, 2, 3], [1.5, 2.5, 3.5], [True, False], ["", " ", "a"], [*_dates(3, random)]]
    )
    codes = [random.randrange(-1, len(levels) - random.randrange(2)) for _ in range(n)]
    return pd.Categorical.from_codes(codes, categories=pd.Index(levels).unique(), ordered=random.random() < 0.3)


#: Values of a column, by name: a list, array or series for pandas.
COLUMNS: dict[str, Callable[[int, Random], Any]] = {
    "numbers": _numbers,
    "few numbers": _chosen([0, 1, 2]),
    "gaps": _chosen([1.0, 2.0, math.nan]),
    "only NaN": lambda n, random: np.full(n, np.nan),
    "only None": lambda n, random: [None] * n,
    "infinite numbers": _chosen([1.0, math.inf, -math.inf]),
    "huge numbers": _chosen([1e308, -1e308, 1e-308, 5e-324, 0.0]),
    "huge integers": _chosen([2**63 - 1, -(2**63), 0]),
    "unsigned integers": lambda n, random: np.array([random.choice([0, 2**64 - 1]) for _ in range(n)], dtype=np.uint64),
    "integers beyond 64 bits": _chosen([10**400, 0, 1]),
    "half floats": lambda n, random: _numbers(n, random).astype(np.float16),
    "long doubles": lambda n, random: _numbers(n, random).astype(np.longdouble),
    "complex": lambda n, random: _numbers(n, random) + 1j,
    "booleans": _chosen([True, False]),
    "booleans with gaps": lambda n, random: pd.array(_chosen([True, False, None])(n, random), dtype="boolean"),
    "nullable integers": lambda n, random: pd.array(_chosen([1, 2, None])(n, random), dtype="Int64"),
    "levels": _chosen(["a", "b", "c", None]),
    "many levels": lambda n, random: [f"{random.getrandbits(64):x}" for _ in range(n)],
    "odd levels": _chosen(["", " ", "\0", "\n", "(missing)", "a" * 300, "😀", "A", "a"]),
    "not characters": _chosen(["\ud800", "a", "b\udfff"]),
    "huge strings": lambda n, random: (["x" * random.choice([1, 10**6]) for _ in range(3)] + ["y"] * n)[:n],
    "long texts": lambda n, random: (["word " * random.choice([1, 10**5]) for _ in range(3)] + ["y z w"] * n)[:n],
    "texts": _texts,
    "one text": lambda n, random: ["the same text in every row"] * n,
    "numbers in strings": _chosen(["1", "2.5", "-3e5", *_GAP_WORDS]),
    "odd numbers in strings": _chosen(["1e999", "inf", "0x10", "1_000", "١٢", "+", "1", "1,5"]),
    "codes": _chosen(["007", "010", "94110"]),
    "dates": _dates,
    "dates with zone": lambda n, random: _dates(n, random).dt.tz_localize("UTC").dt.tz_convert("Europe/Berlin"),
    "dates with gaps": lambda n, random: _dates(n, random).where([random.random() < 0.7 for _ in range(n)]),
    "only NaT": lambda n, random: pd.Series([pd.NaT] * n, dtype="datetime64[ns]"),
    "far dates": _far_dates,
    "dates in strings": _chosen(["2026-07-13", "2026-02-28T12:30:00+02:00", "1969-12-31 23:59:59.999999999", "NA"]),
    "dates that are none": _chosen(["2026-02-30", "2026-13-01", "2026-07-13"]),
    "objects of dates": _chosen([datetime.date(1, 1, 1), datetime.date(9999, 12, 31), None]),
    "times": _chosen([datetime.time(0), datetime.time(23, 59, 59, 999999), None]),
    "durations": lambda n, random: pd.to_timedelta([random.randrange(10**9) for _ in range(n)], "s"),
    "periods": lambda n, random: pd.period_range("2020-01", periods=max(n, 1), freq="M")[:n],
    "intervals": lambda n, random: pd.interval_range(0, max(n, 1))[:n],
    "decimals": _chosen([decimal.Decimal("0.1"), decimal.Decimal("1e30"), decimal.Decimal(0), None]),
    "odd decimals": _chosen([decimal.Decimal("NaN"), decimal.Decimal("Infinity"), decimal.Decimal(1)]),
    "wide decimals": _arrow(_chosen([decimal.Decimal(10) ** 40, decimal.Decimal(1)]), pa.decimal256(60, 0)),
    "binary": _chosen([b"a", b"\xff", b""]),
    "Arrow binary": _arrow(_chosen([b"a", b"\xff", None]), pa.binary()),
    "null type": _arrow(lambda n, random: [None] * n, pa.null()),
    "dictionaries of numbers": lambda n, random: pd.Series(
        pd.arrays.ArrowExtensionArray(pa.array(_chosen([1, 2, None])(n, random)).dictionary_encode())
    ),
    "categories": _categories,
    "nested lists": _nested,
    "structs": _arrow(_chosen([{"a": 1}, None]), pa.struct([("a", pa.int64())])),
    "mixed objects": _chosen(_MIXED),
    "sparse": lambda n, random: pd.arrays.SparseArray(_numbers(n, random).round()),
}  # fmt: skip


#: Those that a fit takes.
_USUAL = [
    "numbers", "gaps", "booleans", "levels", "texts", "numbers in strings", "dates", "dates with zone", "times",
    "categories", "codes"
]  # fmt: skip


def odd_frame(random: Random, n_rows: int, kinds: dict[str, str] | None = None) -> tuple[str, dict[str, str], Any]:
    """Words for it, the kinds of its columns by name, and a frame of pandas, polars or Arrow.

    ``kinds`` are those of an earlier frame: most columns are the same again.
    """
    names = list(COLUMNS)
    if kinds is None:
        few = range(random.choice([1, 1, 2, 3, 4]))
        kinds = {f"c{j}": random.choice(names if random.random() < 0.5 else _USUAL) for j in few}
        if random.random() < 0.7:
            kinds["x"] = "numbers"
    else:
        kinds = {name: random.choice(names) if random.random() < 0.15 else kind for name, kind in kinds.items()}
    columns = {name: _series(COLUMNS[kind](n_rows, random)) for name, kind in kinds.items()}
    frame = pd.DataFrame(columns) if columns else pd.DataFrame(index=range(n_rows))
    how, frame = _changed(frame, random)
    return f"{n_rows} rows of {kinds}{how}", kinds, frame


_ZONES = ["UTC", "Asia/Tokyo", "America/St_Johns", "+05:30", "-11:00"]


def same_rows(frame: Any, random: Random) -> tuple[str, Any]:
    """Words for it, and the same rows: columns in another order, and instants in another zone or without one."""
    order = random.sample(range(frame.shape[1]), frame.shape[1])
    frame = frame.iloc[:, order] if isinstance(frame, pd.DataFrame) else frame.select([_names(frame)[k] for k in order])
    if not isinstance(frame, pd.DataFrame) or random.random() < 0.2:
        return f"columns in the order {order}", frame
    zone = random.choice([*_ZONES, None])
    changed = [_in_zone(frame.iloc[:, k], zone) for k in range(frame.shape[1])]
    moved = pd.concat(changed, axis=1) if changed else frame
    return f"columns in the order {order}, zone {zone}", moved.set_axis(frame.columns, axis=1)


def _names(frame: Any) -> list[str]:
    return list(frame.column_names if isinstance(frame, pa.Table) else frame.columns)


def _in_zone(column: Any, zone: str | None) -> Any:
    """Instants in another zone; None leaves none, and other columns stay as they are."""
    kind = column.dtype
    if isinstance(kind, pd.DatetimeTZDtype):
        return column.dt.tz_convert(zone)
    arrow = getattr(kind, "pyarrow_dtype", None)
    if arrow is not None and pa.types.is_timestamp(arrow) and arrow.tz is not None:
        cells = pa.array(column.array).cast(pa.timestamp(arrow.unit, zone))
        return pd.Series(pd.arrays.ArrowExtensionArray(cells), index=column.index)
    return column


def _series(cells: Any) -> Any:
    """A column of the type that pandas chooses; of objects where pandas itself refuses the cells."""
    try:
        return pd.Series(cells)
    except (UnicodeEncodeError, OverflowError):
        return pd.Series(cells, dtype=object)


def _changed(frame: pd.DataFrame, random: Random) -> tuple[str, Any]:
    """In another library's form, or with something wrong as a whole."""
    how = random.choice(
        ["", "", "", "", "arrow", "polars", "names", "no columns", "no rows", "column", "order", "index"]
    )
    if how == "arrow":
        try:
            return ", Arrow", pa.Table.from_pandas(frame, preserve_index=False)
        except (pa.ArrowException, TypeError, OverflowError, ValueError, AttributeError):
            return "", frame
    if how == "polars":
        try:
            return ", polars", pl.from_pandas(frame)
        except BaseException:  # polars panics
            return "", frame
    if how == "names":
        odd = [["a"] * frame.shape[1], list(range(frame.shape[1])), [*range(frame.shape[1] - 1), "b"]]
        odd += [
            [None] * frame.shape[1],
            [(1, j) for j in range(frame.shape[1])],
            ["", *map(str, range(frame.shape[1] - 1))],
        ]
        odd += [["x" * 300, *map(str, range(frame.shape[1] - 1))], ["\0\x1b", *map(str, range(frame.shape[1] - 1))]]
        frame = frame.copy()
        frame.columns = random.choice(odd)
        return f", named {str(list(frame.columns))[:60]}", frame
    if how == "no columns":
        return ", without its columns", frame[[]]
    if how == "no rows":
        return ", without its rows", frame[:0]
    if how == "column":
        return ", a column less or more", frame.assign(more=1) if random.random() < 0.5 else frame.iloc[:, 1:]
    if how == "order":
        return ", columns in another order", frame[frame.columns[::-1]]
    if how == "index":
        return ", with an index", frame.set_index(pd.Index(["i"] * len(frame)))
    return "", frame
