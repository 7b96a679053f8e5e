import datetime

import numpy as np
import pyarrow as pa
import pytest

from sgdone import TableEncoder
from sgdone.cluster.tables import merge_encoders
from sgdone.tables import arrow_table
from sgdone.tables.date_values import date_values

MOMENTS = [
    datetime.datetime(1969, 7, 20, 20, 17, 40, 123456),
    datetime.datetime(1900, 2, 28, 23, 59, 59),
    datetime.datetime(1, 1, 1),
    datetime.datetime(2024, 2, 29, 0, 0, 1),
    datetime.datetime(9999, 12, 31, 12),
    datetime.datetime(1970, 1, 1),
    datetime.datetime(1969, 12, 31, 23, 59, 59, 999999),
]


def read(values, kind=None):
    return date_values("d", arrow_table(pa.table({"d": pa.array(values, kind)})).column("d"))


@pytest.mark.parametrize("as_strings", [False, True])
def test_parts_are_those_of_python(as_strings):
    found = read([str(moment) for moment in MOMENTS] if as_strings else MOMENTS, None)
    assert found.months().tolist() == [moment.month - 1 for moment in MOMENTS]
    assert found.weekdays().tolist() == [moment.weekday() for moment in MOMENTS]
    assert found.hours().tolist() == [moment.hour for moment in MOMENTS]
    since = [(moment - datetime.datetime(1970, 1, 1)) / datetime.timedelta(days=1) for moment in MOMENTS]
    assert np.allclose(found.days(), since, rtol=1e-15, atol=0)


def test_time_zones_shift_the_parts_and_not_the_trend():
    berlin = pa.timestamp("us", "Europe/Berlin")
    at = [datetime.datetime(2020, 6, 30, 23, 30, tzinfo=datetime.UTC)]
    local, utc = read(at, berlin), read(at, pa.timestamp("us", "UTC"))
    assert local.days() == utc.days()
    assert (local.months()[0] + 1, local.hours()[0], utc.months()[0] + 1, utc.hours()[0]) == (7, 1, 6, 23)
    written = read(["2020-07-01T01:30:00+02:00", "2020-06-30 23:30Z", "2020-06-30T18:00-0530", "2020-06-30 23:30"])
    assert np.array_equal(written.days(), np.repeat(utc.days(), 4))
    assert written.hours().tolist() == [1, 23, 18, 23]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_the_unit_of_timestamps_does_not_matter(unit):
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    found = read([-1 * per_second, 86_400 * per_second, None], pa.timestamp(unit))
    assert found.utc[:2].tolist() == [-1_000_000, 86_400_000_000]
    assert found.missing.tolist() == [False, False, True]


def test_seconds_beyond_the_range_are_an_error():
    with pytest.raises(ValueError, match="column 'd' of type"):
        read([2**62], pa.timestamp("s"))


def names(values, kind=None):
    encoder = TableEncoder().fit(pa.table({"d": pa.array(values, kind)}))
    return encoder.get_feature_names_out().tolist()


def test_features_of_dates():
    days = [datetime.date(2011, 1, 31), datetime.date(2011, 2, 1), None]
    assert names(days) == ["d", "d.month=1", "d.month=2", "d.weekday=Mon", "d.weekday=Tue", "d missing"]
    # Months do not differ, hours do.
    times = [datetime.datetime(2011, 1, 31, 13), datetime.datetime(2011, 1, 31)]
    assert names(times) == ["d", "d.hour=0", "d.hour=13"]
    assert names([datetime.time(23, 59), datetime.time(1)]) == ["d", "d.hour=1", "d.hour=23"]


def test_a_month_that_was_not_in_fit_has_no_entry():
    encoder = TableEncoder().fit(pa.table({"d": ["2011-01-31", "2011-02-01"]}))
    found = encoder.encode(pa.table({"d": ["2011-03-07"]}))
    assert [encoder.get_feature_names_out()[1 + j] for j in found.sparse.indices] == ["d.weekday=Mon"]


def test_times_of_the_day_are_not_dates():
    encoder = TableEncoder().fit(pa.table({"d": [datetime.time(1), datetime.time(2)]}))
    with pytest.raises(TypeError, match="column 'd' was a date"):
        encoder.transform(pa.table({"d": [datetime.date(2011, 1, 1)]}))


def test_hours_of_rows_at_midnight_alone():
    times = pa.table({"t": pa.array(["2020-01-01T00:00", "2020-01-02T07:30", "2020-02-03T00:00"])})
    encoder = TableEncoder().fit(times)
    midnight = times.slice(0, 1)
    assert (encoder.transform(midnight) != encoder.transform(times)[[0]]).nnz == 0
    hour = encoder.get_feature_names_out().tolist().index("t.hour=0")
    assert encoder.transform(midnight)[0, hour] == 1


def test_one_instant_on_two_clocks_is_not_constant():
    table = pa.table({"t": ["2020-01-01T00:00:00+00:00", "2020-01-01T02:00:00+02:00"], "x": [1.0, 2.0]})
    encoder = TableEncoder().fit(table)
    assert not encoder.left_out_
    assert {"t.hour=0", "t.hour=2"} < set(encoder.get_feature_names_out())


def test_a_gap_is_not_the_first_of_1970():
    days = pa.array([0, 3, 5], pa.date32())
    gaps = pa.array([None, 3, 5], pa.date32())
    assert not TableEncoder().fit(pa.table({"first": days, "second": gaps})).left_out_


def stamps(zone, *hours):
    instants = [datetime.datetime(2024, 3, 30, hour, tzinfo=datetime.UTC) for hour in hours or range(0, 24, 5)]
    return pa.table({"d": pa.array(instants, pa.timestamp("us", zone))})


def written(offset):
    zone = datetime.timezone(datetime.timedelta(hours=offset))
    return pa.table({"d": [at.astimezone(zone).isoformat() for at in stamps("UTC").column("d").to_pylist()]})


def dense(encoder, table):
    return encoder.transform(table).toarray()


@pytest.mark.parametrize("first", [stamps("Europe/Berlin"), stamps("UTC"), stamps("-03:00"), written(2), written(0)])
@pytest.mark.parametrize("later", [stamps("Asia/Tokyo"), stamps("+05:30"), written(-8), written(0)])
def test_later_dates_are_compared_in_the_zone_of_fit(first, later):
    encoder = TableEncoder().fit(first)
    for fitted in (encoder, TableEncoder.from_state(encoder.state())):
        np.testing.assert_array_equal(dense(fitted, later), dense(encoder, first))


NAIVE = pa.table({"d": pa.array([0, 10**12], pa.timestamp("us"))})


@pytest.mark.parametrize(
    ("first", "later", "message"),
    [
        (NAIVE, stamps("UTC"), "'d' had no time zone in fit, and has the time zone UTC now: convert it"),
        (NAIVE, written(1), "'d' had no time zone in fit, and has the time zone \\+01:00 now"),
        (stamps("UTC"), NAIVE, "'d' had the time zone UTC in fit, and has no time zone now: state"),
        (written(1), pa.table({"d": ["2024-01-01", "2024-01-02T12:00:00Z"]}), "has times with and without a time zone"),
        (pa.concat_tables([written(1), written(2)]), NAIVE, "'d' had several time zones in fit, and has no time zone"),
    ],
)
def test_dates_with_and_without_a_zone_are_not_compared(first, later, message):
    encoder = TableEncoder().fit(first)
    with pytest.raises(ValueError, match=message):
        encoder.transform(later)
    with pytest.warns(UserWarning, match="missing values in columns"):
        encoder.transform(pa.table({"d": pa.array([None], later.schema.field("d").type)}))


def test_cells_with_several_offsets_keep_their_clocks_in_one_call_or_two():
    winter, summer = written(1), written(2)
    whole, parts = TableEncoder().partial_fit(pa.concat_tables([winter, summer])), TableEncoder().partial_fit(winter)
    parts.partial_fit(summer)
    alone, other = TableEncoder().partial_fit(winter), TableEncoder().partial_fit(summer)
    merged = merge_encoders(alone, other, winter.num_rows, summer.num_rows)
    for encoder in (whole, parts, merged):
        names = encoder.get_feature_names_out().tolist()
        at_one, at_two = dense(encoder, winter), dense(encoder, summer)
        assert at_one[0, names.index("d.hour=1")] == at_two[0, names.index("d.hour=2")] == 1
    with pytest.raises(ValueError, match="the time zone Asia/Tokyo in some rows and the time zone UTC in others"):
        merge_encoders(TableEncoder().fit(stamps("Asia/Tokyo")), TableEncoder().fit(stamps("UTC")), 5, 5)
