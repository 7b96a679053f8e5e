"""The parts of a model file, changed one by one and signed again, so that nothing but their meaning is wrong."""

import copy
import json
import math
import struct
from collections.abc import Iterator
from functools import reduce
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
from safetensors import numpy as safetensors

from sgdone.model_file.model import MODEL_FILE
from sgdone.state_file.container import digest
from sgdone.state_file.file_format import FileFormat
from sgdone.state_file.plain_forms import from_stream, to_stream

from . import byte_changes

Content = Any
Tensors = dict[str, Any]
Parts = tuple[Content, Tensors]

_NAMES = ["kind", "fields", "value", "items", "x"]
_NUMBERS = [
    0, 1, -1, 2, 3, 7, 625, 2**31, 2**53, -(2**63), 2**63, 2**64, 10**30, 0.0, -0.0, 0.5, -1.5, 5e-324, 1e-300, 1e308,
    -1e308
]  # fmt: skip
_FLOATS = [{"kind": "float", "value": text} for text in ("nan", "inf", "-inf")]
_DTYPES = ["<f8", "<f4", "<f2", "<i8", "<i4", "|i1", "|u1", "<u4", "<u8", "|b1"]


def changed(parts: Parts, others: list[Parts], random: Random) -> tuple[str, Parts]:
    """What was changed, and the parts afterwards."""
    content, tensors = copy.deepcopy(parts)
    words = []
    for _ in range(random.choice([1, 1, 1, 1, 2, 3])):
        change = random.choice(
            [_replace, _replace, _number, _number, _remove, _exchange, _borrow, _tensor, _tensor, _tensor, _levels]
        )
        words.append(change(content, tensors, random.choice(others), random))
    return ", ".join(words), (content, tensors)


def places(code: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The ways to all values inside a value."""
    yield place
    inner = code.items() if isinstance(code, dict) else enumerate(code) if isinstance(code, list) else ()
    for key, value in inner:
        yield from places(value, (*place, key))


def odd_json(random: Random, depth: int = 3) -> Any:
    """Any value of JSON, more often than not one that is seldom thought of."""
    plain = [
        lambda: random.choice([None, True, False, "", "auto", "nan", "\0", "é", "1.5"]),
        lambda: random.choice(_NUMBERS),
        lambda: random.choice([math.pi, *_FLOATS]),
    ]
    nested = [
        lambda: [odd_json(random, depth - 1) for _ in range(random.randrange(4))],
        lambda: {random.choice(_NAMES): odd_json(random, depth - 1) for _ in range(random.randrange(4))},
    ]
    return random.choice(plain + nested if depth else plain)()


def _at(content: Content, place: tuple[Any, ...]) -> Any:
    return reduce(lambda spot, key: spot[key], place, content)


def _any_place(content: Content, random: Random) -> tuple[Any, ...]:
    """A place; each part of the content is as likely as the others, however many values it has."""
    top = random.choice([key for key in content if key not in ("created", "sgdone")])
    ways = [place for place in places(content[top]) if place]
    return (top, *random.choice(ways)) if ways else (top,)


def _set(content: Content, place: tuple[Any, ...], value: Any) -> None:
    _at(content, place[:-1])[place[-1]] = copy.deepcopy(value)  # the next change must not reach what cases share


def _replace(content: Content, tensors: Tensors, other: Parts, random: Random) -> str:
    place = _any_place(content, random)
    value = odd_json(random)
    _set(content, place, value)
    return f"{'.'.join(map(str, place))} = {value!r}"


def _number(content: Content, tensors: Tensors, other: Parts, random: Random) -> str:
    """Another number where there is one: the type stays right more often than not."""
    ways = [way for way in places(content) if way and type(_at(content, way)) in (int, float, bool)]
    place = random.choice(ways)
    before = _at(content, place)
    near = [before + 1, before - 1, -before, before * 2, before / 2, str(before), bool(before), float(before)]
    value = random.choice([*near, random.choice(_NUMBERS), random.choice(_FLOATS)])
    _set(content, place, value)
    return f"{'.'.join(map(str, place))} = {value!r}"


def _remove(content: Content, tensors: Tensors, other: Parts, random: Random) -> str:
    place = _any_place(content, random)
    del _at(content, place[:-1])[place[-1]]
    return f"without {'.'.join(map(str, place))}"


def _exchange(content: Content, tensors: Tensors, other: Parts, random: Random) -> str:
    first, second = _any_place(content, random), _any_place(content, random)
    if first[: len(second)] == second or second[: len(first)] == first:
        return _replace(content, tensors, other, random)
    one, two = _at(content, first), _at(content, second)
    _set(content, first, two)
    _set(content, second, one)
    return f"{'.'.join(map(str, first))} and {'.'.join(map(str, second))} exchanged"


def _borrow(content: Content, tensors: Tensors, other: Parts, random: Random) -> str:
    """Something of another model, with its tensors."""
    theirs, their_tensors = copy.deepcopy(other)
    place = random.choice([way for way in places(theirs) if way and len(way) <= 5])
    try:
        _set(content, place, _at(theirs, place))
    except (KeyError, IndexError, TypeError):
        return _replace(content, tensors, other, random)
    if random.random() < 0.7:
        for name, tensor in their_tensors.items():
            if name.split(".")[0] in map(str, place):
                tensors[name] = tensor
    return f"{'.'.join(map(str, place))} of another model"


def _tensor(content: Content, tensors: Tensors, other: Parts, random: Random) -> str:
    name = random.choice(sorted(tensors))
    how = random.choice(["entry", "entry", "entry", "all", "shape", "type", "other", "without", "from another model"])
    array = tensors[name] = np.array(tensors[name])
    if how in ("entry", "all") and array.size:
        value = random.choice([math.nan, math.inf, -math.inf, *_NUMBERS])
        with np.errstate(all="ignore"):
            new = (
                np.asarray(value).astype(array.dtype)
                if abs(value) < 2**63 or array.dtype.kind == "f"
                else array.flat[0]
            )
        if how == "entry":
            array.flat[random.randrange(array.size)] = new
        else:
            array[...] = new
        return f"tensor {name}: {how} {value}"
    if how == "shape":
        tensors[name] = _other_shape(array, random)
        return f"tensor {name}: shape {tensors[name].shape} instead of {array.shape}"
    if how == "type":
        with np.errstate(all="ignore"):
            tensors[name] = array.astype(random.choice(_DTYPES))
        return f"tensor {name}: {tensors[name].dtype} instead of {array.dtype}"
    if how == "without":
        del tensors[name]
        return f"without tensor {name}"
    if how == "from another model" and name in other[1]:
        tensors[name] = np.array(other[1][name])
        return f"tensor {name} of another model"
    source = random.choice(sorted(tensors))
    tensors[name] = np.array(tensors[source])
    return f"tensor {name}: that of {source}"


def _levels(content: Content, tensors: Tensors, other: Parts, random: Random) -> str:
    """Other levels of categories in a stream that can be read, or bytes of the stream."""
    if not {"encoder.levels", "encoder.levels.sizes"} <= set(tensors):
        return _tensor(content, tensors, other, random)
    stream = tensors["encoder.levels"]
    how = random.choice(["without", "twice", "exchanged", "new", "more", "sizes", "bytes", "bytes"])
    if how == "bytes":
        data = np.frombuffer(byte_changes.changed(stream.tobytes(), random), dtype=np.uint8)
        tensors["encoder.levels"] = data.copy()
        return "bytes of the levels changed"
    if how == "sizes":
        sizes = tensors["encoder.levels.sizes"] = tensors["encoder.levels.sizes"].copy()
        sizes[[0, -1]] += random.choice([[1, -1], [-1, 1], [10**6, -(10**6)], [0, 1]])
        return f"sizes of the levels {sizes}"
    try:
        levels = from_stream(stream).to_pylist()
    except ValueError:  # an earlier change
        return _tensor(content, tensors, other, random)
    place = random.randrange(len(levels))
    odd = random.choice(["", " ", "\0", "\x1b[2J", "(missing)", "é", "x" * 10**5, levels[0]])
    if how == "without":
        del levels[place]
    elif how == "exchanged":
        levels[place], levels[0] = levels[0], levels[place]
    elif how == "more":
        levels.append(odd)
    else:
        levels[place] = levels[place - 1] if how == "twice" else odd
    tensors["encoder.levels"] = to_stream(pa.array(levels, pa.large_string()))
    return f"level {place}: {how} {odd[:20]!r}"


def _other_shape(array: Any, random: Random) -> Any:
    shapes = [array.ravel(), array[None], array[..., None], array.T, array[:0] if array.ndim else array[None][:0]]
    if array.ndim:
        shapes += [array[:-1], np.concatenate([array, array]), array[..., :-1], np.repeat(array[:1], 1000, axis=0)]
    return np.ascontiguousarray(random.choice(shapes))


def file_of(parts: Parts, random: Random, form: FileFormat = MODEL_FILE) -> bytes:
    """The bytes of a file with a right SHA-256; seldom one that only the container's own rules forbid."""
    content, tensors = parts
    text = json.dumps(content)
    metadata: Any = {"format": form.name, "version": str(form.version), "content": text}
    metadata["sha256"] = digest(form, text, tensors)
    if random.random() < 0.95:
        return bytes(safetensors.save(tensors, metadata))
    return _odd_container(metadata, tensors, random)


def _odd_container(metadata: Any, tensors: Tensors, random: Random) -> bytes:
    """A safetensors file written by hand, with one thing that the library would not write."""
    header, data = _described(tensors)
    odd = random.choice(["metadata", "metadata", "version", "format", "content", "sha256", "dtype", "shape", "offsets"])
    if odd == "metadata":
        metadata = random.choice([None, [], {}, "text", 3, [metadata], {"format": None}])
    elif odd in metadata:
        values = [None, 3, [], {}, "", "0", "-1", "2.0", "9" * 5000, "２", "null", "[]", '"text"', "{}", "[" * 100_000]
        metadata[odd] = random.choice(values)
    elif header:
        entry = header[random.choice(sorted(header))]
        if odd == "dtype":
            entry["dtype"] = random.choice(["BF16", "F8_E4M3", "F16", "U64", "BOOL", "X", None, 3])
        elif odd == "shape":
            entry["shape"] = random.choice([[], [0], [-1], [2**62], [2**32, 2**32], [1.5], None, "3", [[3]]])
        else:
            entry["data_offsets"] = random.choice(
                [[0, 0], [0, 2**62], [-1, 8], [8, 0], [], [0], None, [0, len(data) + 8]]
            )
    return _written(header | {"__metadata__": metadata}, data)


def with_metadata(metadata: Any, tensors: Tensors) -> bytes:
    """A safetensors file with metadata of any kind."""
    header, data = _described(tensors)
    return _written(header | {"__metadata__": metadata}, data)


def _described(tensors: Tensors) -> tuple[dict[str, Any], bytes]:
    header: dict[str, Any] = {}
    data = b""
    for name, array in tensors.items():
        raw = np.ascontiguousarray(array).tobytes()
        offsets = [len(data), len(data) + len(raw)]
        header[name] = {"dtype": _name_of(array.dtype), "shape": list(array.shape), "data_offsets": offsets}
        data += raw
    return header, data


def _written(header: dict[str, Any], data: bytes) -> bytes:
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    return struct.pack("<Q", len(head)) + head + data


def _name_of(dtype: Any) -> str:
    return {"b": "BOOL"}.get(dtype.kind, f"{dtype.kind.upper()}{8 * dtype.itemsize}")
