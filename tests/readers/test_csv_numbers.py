"""Columns of numbers of CSV text: the compiled loop reads what Arrow reads, or leaves it to Arrow."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgdone.matrices.stacking import ReusedArrays
from sgdone.readers.column_choice import Columns
from sgdone.readers.formats.csv.cells import CellParser, FirstRecord, decide_types, number_columns
from sgdone.readers.table import DataError, ReadOptions
from sgdone.readers.text_blocks import TextBlock
from tiers import examples

NAMES = ["a", "b", "c"]
NUMBER, WHOLE = pa.float64(), pa.int64()
PLAIN = ["0", "-0", "7", "-12.5", "0.1", "1e5", "2.5E-3", "1e+10", "123456789012345678901", "0.30000000000000004"]
ODD = [
    "+1",
    ".5",
    "5.",
    "007",
    "-01",
    "NA",
    "nan",
    "inf",
    "-inf",
    "1e999",
    " 1",
    "1 ",
    "x",
    '"1"',
    "1.2.3",
    "1e",
    "--1",
]


def block_of(text):
    return TextBlock(text, 1, text.count(b"\n"))


def record_of(separator=",", names=NAMES):
    return FirstRecord(separator, list(names), ReadOptions(Path("t.csv")))


def numbers(text, types=None, **options):
    types = dict.fromkeys(NAMES, NUMBER) if types is None else types
    found = number_columns(block_of(text), record_of(**options), types, ReusedArrays())
    return None if found is None else {name: column.to_pylist() for name, column in found.items()}


@pytest.mark.parametrize("cell", PLAIN)
def test_plain_numbers_are_those_of_python(cell):
    found = number_columns(block_of(f"{cell},1,2\n".encode()), record_of(), {"a": NUMBER}, ReusedArrays())
    assert found["a"].to_numpy().view(np.uint64)[0] == np.float64(float(cell)).view(np.uint64)


@pytest.mark.parametrize("cell", ODD)
def test_all_else_is_left_to_others(cell):
    assert numbers(f"1,2,3\n4,{cell},6\n".encode()) is None


@pytest.mark.parametrize(
    "text", [b"1,2\n", b"1,2,3,4\n", b"1,2,3\n4,5\n", b"1,2,3\r4,5,6\n", b"1;2;3\n", b"1,2,3 \n", b"1,2,3\r\r\n"]
)
def test_rows_of_another_form_are_left_to_others(text):
    assert numbers(text) is None


def test_line_breaks_blank_lines_and_gaps():
    expected = {"a": [1.0, None, 4.0], "b": [2.0, 5.0, None], "c": [3.0, None, None]}
    assert numbers(b"1,2,3\n,5,\n4,,\n") == expected
    assert numbers(b"\n1,2,3\r\n\r\n,5,\r\n\n4,,") == expected
    assert numbers(b"1\t2\t3\n\t5\t\n4\t\t\n", separator="\t") == expected


def test_a_blank_line_of_one_column_is_left_to_others():
    assert numbers(b"1\n\n2\n", {"a": NUMBER}, names=["a"]) is None
    assert numbers(b"1\n2", {"a": NUMBER}, names=["a"]) == {"a": [1.0, 2.0]}


@pytest.mark.parametrize("cell", ["x y z", "", '"x,y"', '"line\nbreak"', '"a ""quoted"" word"', '""', 'x"y', '","'])
def test_other_columns_are_skipped(cell):
    text = f"1,{cell},3\n2,,4\n".encode()
    assert numbers(text, {"c": WHOLE, "a": NUMBER}) == {"c": [3, 4], "a": [1.0, 2.0]}
    assert numbers(f"1,2,{cell}\n".encode(), {"a": NUMBER}) == {"a": [1.0]}


@pytest.mark.parametrize("cell", ['"not closed', '"x"y', '"x" '])
def test_odd_quotes_are_left_to_others(cell):
    assert numbers(f"1,{cell},3\n".encode(), {"a": NUMBER}) is None


@pytest.mark.parametrize("cell", ["1.0", "1e3", "1234567890123456", "9007199254740993"])
def test_whole_numbers_have_few_digits_only(cell):
    assert numbers(f"{cell},2,3\n".encode(), {"a": WHOLE}) is None
    assert numbers(b"-12,2,3\n,2,3\n", {"a": WHOLE}) == {"a": [-12, None]}


cells = st.sampled_from([*PLAIN, *PLAIN, "", *ODD])


@examples(60)
@given(st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=6), st.sampled_from(["\n", "\r\n"]))
def test_blocks_are_the_same_with_and_without_the_loop(rows, end):
    """All types that the columns may have, and cells that contradict them."""
    block = block_of("".join(",".join(row) + end for row in rows).encode())
    columns = Columns(["a", "b"], "c", None, [])
    for types in ({"a": NUMBER, "b": NUMBER, "c": WHOLE}, {"a": NUMBER, "b": pa.large_string(), "c": NUMBER}):
        outcomes = []
        for with_numbers in (True, False):
            parser = CellParser(types, columns, {})
            try:
                known = parser.numbers(block, record_of()) if with_numbers else None
                found = parser.table(block, record_of(), known)
                outcomes.append((found.schema, [bits(column) for column in found.columns]))
            except DataError as error:
                outcomes.append(str(error))
        assert outcomes[0] == outcomes[1]


def bits(column):
    """Values of a column, floats as their bits."""
    cells = column.to_pylist()
    return [np.float64(cell).view(np.uint64).item() if isinstance(cell, float) else cell for cell in cells]


def test_a_block_without_any_label():
    """Its other cells are read; the rows are left out later."""
    parser = CellParser({"a": NUMBER, "c": WHOLE}, Columns(["a"], "c", None, []), {})
    assert parser.table(block_of(b"1,2,NA\n3,4,?\n"), record_of())["c"].to_pylist() == [None, None]


def test_the_beginning_decides_the_same_types():
    columns = Columns(["a", "b"], "c", None, [])
    blocks = [b"1,2,0\n3,4,1\n", b"1,x,0\n", b"007,5,1\n", b"1.5,6,2\n"]

    def types(*chosen):
        found, _ = decide_types([(block_of(block), record_of()) for block in chosen], columns)
        return {name: str(kind) for name, kind in found.items()}

    assert types(blocks[0], blocks[3]) == {"a": "double", "b": "double", "c": "int64"}
    assert types(blocks[0], blocks[1])["b"] == "large_string"
    assert types(blocks[0], blocks[2])["a"] == "large_string"


def test_after_several_failures_the_loop_is_not_tried_again():
    parser = CellParser({"a": NUMBER}, Columns(["a"], None, None, []), {})
    for _ in range(4):
        assert parser.numbers(block_of(b"NA,1,2\n"), record_of()) == {}
    assert parser.numbers(block_of(b"1,1,2\n"), record_of()) == {}
