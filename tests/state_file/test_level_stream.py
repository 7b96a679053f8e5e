"""Levels of categories as an Arrow stream: streams that are none are refused."""

import contextlib

import numpy as np
import pyarrow as pa
import pytest

from sgdone.state_file.plain_forms import from_stream, to_stream

FIELD = pa.field("level", pa.large_string(), nullable=False)


def stream(values, field=FIELD, times=1, **options):
    """An Arrow stream of record batches of one column."""
    schema, sink = pa.schema([field]), pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        for _ in range(times):
            writer.write_batch(pa.record_batch([pa.array(values, field.type)], schema=schema))
    return np.frombuffer(sink.getvalue(), dtype=np.uint8)


def spoiled(before, after):
    """A stream with some bytes changed."""
    data = stream(["abc", "def"]).tobytes()
    assert before in data
    return np.frombuffer(data.replace(before, after), dtype=np.uint8)


def as_int64(*values):
    return np.array(values, dtype=np.int64).tobytes()


STREAMS = {
    "other strings": (stream(["a"], pa.field("level", pa.string(), nullable=False)), "no column of strings"),
    "numbers": (stream([1], pa.field("level", pa.int64())), "no column of strings"),
    "a dictionary": (
        stream(["a"], pa.field("level", pa.dictionary(pa.int32(), pa.large_string()))),
        "no stream of one record batch",
    ),
    "another name": (stream(["a"], pa.field("x", pa.large_string(), nullable=False)), "no column of strings"),
    "missing values": (stream(["a", None]), "missing values"),
    "two batches": (stream(["a"], times=2), "no stream of one record batch"),
    "compressed": (stream(["a" * 10_000] * 100, compression="zstd"), "compressed"),
    "no UTF-8": (spoiled(b"abcdef", b"ab\xff\xfeef"), "UTF8"),
    "an offset beyond the end": (spoiled(as_int64(0, 3, 6), as_int64(0, 3, 2**40)), "cannot be read"),
    "offsets that decrease": (spoiled(as_int64(0, 3, 6), as_int64(0, 7, 6)), "cannot be read"),
    "a negative offset": (spoiled(as_int64(0, 3, 6), as_int64(-8, 3, 6)), "cannot be read"),
}


@pytest.mark.parametrize("what", STREAMS)
def test_streams_of_levels_that_are_none(what):
    found, match = STREAMS[what]
    with pytest.raises(ValueError, match=match):
        from_stream(found)


def test_a_header_of_every_length_is_refused_or_read():
    """Numbers in the header that are too large, in every place."""
    whole = to_stream(pa.array(["a", "bc"], pa.large_string()))
    for place in range(0, whole.size - 8, 4):
        for value in (2**31 - 1, -(2**31), -1):
            changed = whole.copy()
            changed[place : place + 4] = np.frombuffer(np.int32(value).tobytes(), dtype=np.uint8)
            with contextlib.suppress(ValueError):
                assert len(from_stream(changed)) == 2
