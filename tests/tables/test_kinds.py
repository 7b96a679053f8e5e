import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from sgdone.tables import arrow_table
from sgdone.tables.kinds import Kind, check_choices, read_as, settle

MANY = [f"some words about number {k}" for k in range(50)]


def column(values, kind=None):
    return arrow_table(pa.table({"x": pa.array(values, kind)})).column("x")


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2, None], "number"),
        ([Decimal("1.5"), None], "number"),
        ([datetime.timedelta(seconds=2), None], "number"),
        ([True, None, False], "boolean"),
        ([datetime.date(2020, 1, 1), None], "date"),
        ([datetime.time(12, 30), None], "date"),
        ([None, None], "drop"),
        ([float("nan"), None], "drop"),
        (["", " \t", None], "drop"),
        (["a", "b", ""], "category"),
        (["1", "?", "NA", "nan", "null", "None", "-", "", " 2.5 ", "-1e3"], "number"),
        (["1", "2", "three"], "category"),
        (["?", "NA"], "category"),
        (["02134", "94110"], "category"),
        (["0.5", "0", "-0.25"], "number"),
        (["2011-01-01", "", "NA", "1969-12-31"], "date"),
        (["2011-01-01T12:00:00.123456789+02:00", "2011-01-01 10:00"], "date"),
        (["2011-02-30", "2011-01-01"], "category"),
        (["2011-01-01", "today"], "category"),
        (["1,5", "2,5"], "category"),
        (["10.0.0.1", "192.168.0.1"], "category"),
        (MANY, "text"),
        ([*MANY, None, ""], "text"),
        (MANY[:3] * 20, "category"),
        (["one two", "three four"] * 30, "category"),
        (["a b c d", "e f g h", "i j k"], "text"),
        ([f"Ann Lee{k}" for k in range(30)], "text"),
        ([f"Ann Lee{k % 12}" for k in range(30)], "category"),
        (["2011/07/13", "2012/01/31 10:00"], "date"),
        (["2011/07-13", "2012/01/31"], "category"),
    ],
)
def test_kinds_follow_from_all_values(values, kind):
    assert settle("x", column(values)).kind == kind


def test_the_last_cell_can_decide():
    assert settle("x", column([str(k) for k in range(100_000)] + ["007"])).kind == "category"
    assert settle("x", column(["2011-01-01"] * 100_000 + ["x"])).kind == "category"


def test_a_dictionary_type_is_a_category():
    found = settle("x", column(["1", "2", "1"]).dictionary_encode())
    assert found.kind == "category"
    assert found.values.levels.to_pylist() == ["1", "2"]


def test_numbers_in_strings_are_numbers_with_gaps():
    found = settle("x", column(["1", "?", " 2.5", "", "+3"])).values
    assert np.array_equal(found, [1, np.nan, 2.5, np.nan, 3], equal_nan=True)


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        ("number", ["1", "NA", "one"], "column 'x' is a column of numbers, but row 2 holds 'one'"),
        ("date", ["2011-01-01", "2011-02-30"], "column 'x' is a column of dates, but row 1 holds '2011-02-30'"),
        ("date", [1, 2], "column 'x' of type int64 cannot be a date"),
        ("text", [1, 2], "column 'x' of type int64 cannot be text"),
        ("number", [1.0, float("inf")], r"column 'x' holds an infinite value \(inf\) in row 1"),
    ],
)
def test_a_cell_that_does_not_fit_is_named(kind, values, message):
    with pytest.raises((TypeError, ValueError), match=message):
        read_as(Kind(kind), "x", column(values))


@pytest.mark.parametrize("values", [[[1], [2]], [{"a": 1}], [b"x"]])
def test_types_that_cannot_be_encoded_are_refused(values):
    with pytest.raises(TypeError, match=r"column 'x' has the type .*'drop'"):
        settle("x", column(values))


def test_unknown_names_and_kinds_are_refused():
    with pytest.raises(ValueError, match=r"columns names 'zpi'.* Did you mean 'zip'\?"):
        check_choices({"zpi": "category"}, ["zip", "age"])
    with pytest.raises(ValueError, match=r"unknown kind 'txt' of column 'zip'. Did you mean 'text'\?"):
        check_choices({"zip": "txt"}, ["zip", "age"])


def test_levels_of_numbers_are_the_same_with_and_without_gaps():
    whole, gaps = (read_as(Kind.CATEGORY, "x", column(v)).values for v in ([94110, 7], [94110.0, 7.0, None]))
    assert whole.levels.to_pylist() == gaps.levels.to_pylist() == ["94110", "7"]
    assert read_as(Kind.CATEGORY, "x", column([-0.0, 0.0, 1.5])).values.levels.to_pylist() == ["0", "1.5"]
    assert read_as(Kind.CATEGORY, "x", column([True, None])).values.levels.to_pylist() == ["True"]


def with_misprints(n_cells, *rows):
    return [f"n/{row}" if row in rows else str(row) for row in range(n_cells)] + ["NA", None]


@pytest.mark.parametrize("row", [0, 3, 999])
def test_one_cell_in_a_thousand_may_be_no_number(row):
    found = settle("x", column(with_misprints(1000, row)))
    assert (found.kind, found.misprints.rows.tolist(), found.misprints.first) == ("number", [row], f"n/{row}")
    assert found.misprints.cells == 1000
    assert np.flatnonzero(np.isnan(found.values)).tolist() == sorted([row, 1000, 1001])


def test_more_than_one_cell_in_a_thousand_makes_a_category():
    assert settle("x", column(with_misprints(1999, 5, 6))).kind == "category"
    small = settle("x", column(with_misprints(999, 5)))
    assert (small.kind, small.misprints.first) == ("category", "n/5")  # worth a warning
    assert settle("x", column(with_misprints(150, 5, 6))).misprints is None
    assert settle("x", column(["007", "x"] + ["94110"] * 2000)).kind == "category"


def test_stated_kinds_decide_about_misprints():
    cells = column(with_misprints(3000, 5))
    assert read_as(Kind.CATEGORY, "x", cells).misprints is None
    assert read_as(Kind.NUMBER, "x", cells).misprints.rows.tolist() == [5]
    with pytest.raises(ValueError, match="column 'x' is a column of numbers, but row 5 holds 'n/5'"):
        read_as(Kind.NUMBER, "x", column(with_misprints(3000, 5, 6, 7, 8)))
