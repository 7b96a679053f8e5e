"""Plain values stored for objects that are not dataclasses: random generators, traces, matrices, encoders of tables."""

import importlib
import itertools
import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from sgdone.interfaces.margin_statistics import MarginStatistics
from sgdone.interfaces.objective import Model
from sgdone.matrices.csr import check_csr, csr_of
from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.rows.rows import Order, Rows
from sgdone.tables import EncoderState, TableEncoding


class PlainForm(NamedTuple):
    """Stored form of the objects of a class: a value that the codec can hold, under a name."""

    kind: str
    #: The name of the value in the JSON.
    part: str
    of_class: type
    pack: Callable[[Any], Any]
    #: Restores the object; inconsistent values raise a ValueError or a similar error.
    unpack: Callable[[Any], Any]


@lru_cache(maxsize=1)
def plain_forms() -> dict[str, PlainForm]:
    """All stored forms, by kind."""
    forms = (
        PlainForm("RandomState", "state", np.random.RandomState, pack_random_state, unpack_random_state),
        PlainForm("Generator", "state", np.random.Generator, pack_generator, unpack_generator),
        PlainForm("trace", "table", trace_module().Trace, to_columns, from_columns),
        PlainForm("model", "parts", Model, tuple, _model),
        PlainForm("csr", "parts", sparse.csr_array, pack_csr, unpack_csr),
        PlainForm("mixed matrix", "parts", MixedMatrix, vars, lambda own: MixedMatrix(own["dense"], own["sparse"])),
        PlainForm("matrix rows", "parts", Rows, pack_rows, unpack_rows),
        PlainForm("order", "parts", Order, pack_order, unpack_order),
        PlainForm("encoder state", "parts", EncoderState, pack_encoder_state, unpack_encoder_state),
        PlainForm(
            "encoder",
            "parts",
            TableEncoding,
            lambda encoder: pack_encoder_state(encoder.state()),
            lambda parts: TableEncoding.from_state(unpack_encoder_state(parts)),
        ),
    )
    return {form.kind: form for form in forms}


def form_of(value: Any) -> PlainForm | None:
    """The stored form of a value, if it has one."""
    return next((form for form in plain_forms().values() if isinstance(value, form.of_class)), None)


def _model(parts: Any) -> Model:
    coef, intercept = parts
    fit = all(isinstance(array, np.ndarray) and array.dtype.kind == "f" for array in (coef, intercept))
    if not fit or coef.ndim != 2 or intercept.shape != coef.shape[:1]:
        raise ValueError("a model does not have coefficients, and an intercept for each of its outputs")
    return Model(coef, intercept)


_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")

#: Largest value of each whole number in the states; the smallest is 0. NumPy uses positions without checking them.
_LARGEST = {
    "pos": 624,
    "buffer_pos": 4,
    "has_gauss": 1,
    "has_uint32": 1,
    "uinteger": 2**32 - 1,
    "state": 2**128 - 1,
    "inc": 2**128 - 1,
}
#: Seeds of NumPy have as many words; far more would fill the memory.
_LARGEST_POOL = 64


def pack_random_state(generator: np.random.RandomState) -> dict[str, Any]:
    """State that determines the next draws."""
    state: dict[str, Any] = generator.get_state(legacy=False)
    _check_known(state["bit_generator"])
    return state


def unpack_random_state(state: Any) -> np.random.RandomState:
    """A generator that continues the draws of the stored one; raise a ValueError for an impossible state."""
    generator = np.random.RandomState(_bit_generator(state)())
    _check("random state", state, generator.get_state(legacy=False))
    generator.set_state(state)
    return generator


def pack_generator(generator: np.random.Generator) -> dict[str, Any]:
    """State that determines the next draws, and the generators that will be spawned."""
    bits: Any = generator.bit_generator
    state, seed = dict(bits.state), bits.seed_seq
    _check_known(state["bit_generator"])
    if type(seed) is not np.random.SeedSequence:
        raise TypeError(f"a file cannot hold a random generator whose seed is a {type(seed).__name__}")
    return {"state": state, "seed": seed.state}


def unpack_generator(parts: Any) -> np.random.Generator:
    """A generator that continues the draws and spawns of the stored one; raise for an impossible state."""
    if not isinstance(parts, dict) or sorted(parts) != ["seed", "state"]:
        raise ValueError("a random generator has a state and a seed")
    state = parts["state"]
    made = _bit_generator(state)(_seed(parts["seed"]))
    _check("random state", state, made.state)
    made.state = state
    return np.random.Generator(made)


def _check_known(name: str) -> None:
    if name not in _GENERATORS:
        raise TypeError(f"a file cannot hold the random generator {name}: use one of NumPy's")


def _bit_generator(state: Any) -> Any:
    name = state.get("bit_generator") if isinstance(state, dict) else None
    if name not in _GENERATORS:
        raise ValueError(f"no random generator is called {name!r}")
    return getattr(np.random, name)


def _seed(parts: Any) -> np.random.SeedSequence:
    """The seed of a generator, which decides what it spawns."""
    if not isinstance(parts, dict) or sorted(parts) != ["entropy", "n_children_spawned", "pool_size", "spawn_key"]:
        raise ValueError("the seed of a random generator has other parts")
    entropy, spawned, size, key = (parts[name] for name in sorted(parts))
    numbers = [*(entropy if isinstance(entropy, (list, tuple)) else [entropy]), *key, spawned]
    if not all(type(number) is int and number >= 0 for number in numbers) or max(*key, spawned, 0) >= 2**32:
        raise ValueError("the seed of a random generator holds other values than whole numbers")
    if type(size) is not int or not 4 <= size <= _LARGEST_POOL:
        raise ValueError(f"the seed of a random generator has the size {size!r}")
    return np.random.SeedSequence(entropy, spawn_key=key, pool_size=size, n_children_spawned=spawned)


def _check(name: str, found: Any, example: Any) -> None:
    """Raise a ValueError unless a part of a state has the types of another generator's."""
    if isinstance(example, dict):
        if not isinstance(found, dict) or found.keys() != example.keys():
            raise ValueError(f"{name} does not have the parts {', '.join(example)}")
        for key, value in example.items():
            _check(key, found[key], value)
    elif isinstance(example, np.ndarray):
        if not isinstance(found, np.ndarray) or found.dtype != example.dtype or found.shape != example.shape:
            raise ValueError(f"{name} of a random state is no array of {example.size} numbers of {example.dtype}")
    elif isinstance(example, str):
        if found != example:
            raise ValueError(f"{name} of a random state is {found!r}")
    elif isinstance(example, float):
        if type(found) is not float or not np.isfinite(found):
            raise ValueError(f"{name} of a random state is {found!r}, not a finite number")
    elif type(found) is not int or not 0 <= found <= _LARGEST[name]:
        raise ValueError(f"{name} of a random state is {found!r}, not a whole number from 0 to {_LARGEST[name]}")


def trace_module() -> Any:
    """The module of traces, imported when it is needed: the driver, which keeps traces, uses this package."""
    return importlib.import_module("sgdone.run.result")


def to_columns(trace: Any) -> dict[str, Any]:
    """Columns of numbers, and the number of each row's class in a list of classes; the verdict is kept elsewhere."""
    labels = trace.labels()
    numbers = {label: k for k, label in enumerate(labels)}
    names = _column_names(margins=trace.has_margins)
    columns: dict[str, Any] = {name: trace.column(name) for name in names}
    columns["task"] = trace.task
    if trace.has_traffic:
        columns["traffic"] = {name: trace.column(name).tolist() for name in trace_module().TRAFFIC}
    return columns | {"class": np.array([numbers[row.label] for row in trace], dtype=np.int64), "classes": labels}


def from_columns(columns: dict[str, Any]) -> Any:
    """The trace, of plain Python numbers; raise a ValueError for columns that no trace has."""
    numbers, classes, task = columns.pop("class"), columns.pop("classes"), columns.pop("task")
    traffic = columns.pop("traffic", None)
    module = trace_module()
    names = _column_names(margins=len(columns) > len(module.MEASURES))
    if sorted(columns) != sorted(names):
        raise ValueError(f"a trace has the columns {', '.join(columns)}")
    if task not in ("classification", "regression") or not isinstance(classes, list):
        raise ValueError(f"a trace is of the task {task!r}")
    _check_column("class", numbers, numbers, whole=True)
    if numbers.size and not 0 <= numbers.min() <= numbers.max() < len(classes):
        raise ValueError(f"a trace of {len(classes)} classes has rows of others")
    for name, column in columns.items():
        _check_column(name, column, numbers, whole=name == "step")
    labels = [classes[k] for k in numbers.tolist()]
    measures = (columns[name].tolist() for name in module.MEASURES)
    margins = _margins(columns, names[len(module.MEASURES) :], len(labels))
    rows = [
        module.TraceRow(*row) for row in zip(*measures, labels, margins, _traffic(traffic, len(labels)), strict=True)
    ]
    return module.Trace(rows, task=task)


def _column_names(*, margins: bool) -> tuple[str, ...]:
    module = trace_module()
    names: tuple[str, ...] = module.MEASURES
    return (*names, *module.MARGINS) if margins else names


def _check_column(name: str, column: Any, numbers: Any, *, whole: bool) -> None:
    """Raise unless a column is valid in a trace; NaN is valid: it stands for values that were not measured."""
    # A trace without rows has columns of the type that NumPy gives to nothing.
    expected = np.dtype(np.int64 if whole and numbers.size else np.float64)
    if name == "class":
        expected = np.dtype(np.int64)
    fits = isinstance(column, np.ndarray) and column.ndim == 1 and column.shape == numbers.shape
    if not fits or column.dtype != expected or (whole and column.min(initial=0) < 0):
        raise ValueError(f"the column {name} of a trace is not valid")


def _margins(columns: dict[str, Any], names: tuple[str, ...], n_rows: int) -> list[MarginStatistics | None]:
    """Margins of each row of the trace; their mean is NaN in rows without margins."""
    if not names:
        return [None] * n_rows
    table = zip(*(columns[name].tolist() for name in names), strict=True)
    return [None if math.isnan(numbers[0]) else MarginStatistics(*numbers) for numbers in table]


def _traffic(columns: Any, n_rows: int) -> list[Any]:
    """Traffic of each round; None for the rows of a fit on one machine."""
    if columns is None:
        return [None] * n_rows
    module = trace_module()
    if sorted(columns) != sorted(module.TRAFFIC) or any(len(values) != n_rows for values in columns.values()):
        raise ValueError("the traffic of a trace is not valid")
    found = [module.Traffic(*row) for row in zip(*(columns[name] for name in module.TRAFFIC), strict=True)]
    numbers = [number for row in found for number in (row.bytes_sent, row.bytes_received)]
    if not all(type(row.request) is str for row in found) or not all(type(n) is int and n >= 0 for n in numbers):
        raise ValueError("the traffic of a trace is not valid")
    return found


def pack_csr(matrix: Any) -> dict[str, Any]:
    """Values, columns and row boundaries with their types, and the shape."""
    parts = {name: getattr(matrix, name) for name in ("data", "indices", "indptr")}
    return {**parts, "shape": [int(size) for size in matrix.shape]}


def unpack_csr(parts: Any) -> Any:
    """The matrix; raise a ValueError for inconsistent parts: no loop checks them again."""
    data, indices, indptr, (n_rows, n_columns) = (parts[name] for name in ("data", "indices", "indptr", "shape"))
    if not all(isinstance(part, np.ndarray) and part.ndim == 1 for part in (data, indices, indptr)):
        raise ValueError("a sparse matrix is made of other parts than arrays")
    if not all(part.dtype.kind in "iu" and part.dtype.itemsize in (4, 8) for part in (indices, indptr)):
        raise ValueError("the columns and boundaries of a sparse matrix are not whole numbers")
    if not all(type(size) is int and size >= 0 for size in (n_rows, n_columns)) or indptr.size != n_rows + 1:
        raise ValueError(f"a sparse matrix of {n_rows!r} rows has {indptr.size - 1} boundaries")
    if data.size != indices.size or indptr[-1] != data.size:
        raise ValueError(f"a sparse matrix has {data.size} values and {indices.size} columns")
    check_csr(indices, indptr, n_columns)
    return csr_of(data, indices, indptr, (n_rows, n_columns))


def pack_rows(rows: Rows) -> dict[str, Any]:
    """The matrix in the user's units, and the other arguments of `Rows.of`."""
    names = None if rows.names is None else [str(name) for name in rows.names]
    return {"matrix": _matrix(rows), "scaling": rows.scaling, "names": names, "roles": rows.roles}


def unpack_rows(parts: Any) -> Rows:
    """The rows; raise a ValueError for a matrix that no loop can read."""
    matrix, scaling, names, roles = (parts[name] for name in ("matrix", "scaling", "names", "roles"))
    kinds = (np.ndarray, MixedMatrix, sparse.csr_array)
    if not isinstance(matrix, kinds) or matrix.ndim != 2 or matrix.dtype not in (np.float32, np.float64):
        raise ValueError("rows are not those of a matrix of float32 or float64")
    if isinstance(matrix, np.ndarray) and not matrix.flags.c_contiguous:
        raise ValueError("rows of a dense matrix do not follow each other")
    n_features = matrix.shape[1]
    if roles is not None and (roles.dtype != np.int32 or roles.shape != (n_features,)):
        raise ValueError(f"rows of {n_features} columns have roles of others")
    if names is not None and len(names) != n_features:
        raise ValueError(f"rows of {n_features} columns have {len(names)} names")
    for factors in () if scaling is None else (scaling.scale, scaling.shift):
        if factors is not None and factors.shape != (n_features,):
            raise ValueError(f"rows of {n_features} columns have units of others")
    return Rows.of(matrix, scaling, names, roles)


def pack_order(order: Order) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Row numbers in the order of use, and those to prefetch."""
    return order.rows, order.upcoming


def unpack_order(parts: Any) -> Order:
    """The order; raise a ValueError for anything but two arrays of as many row numbers."""
    rows, upcoming = parts
    if any(not isinstance(one, np.ndarray) or one.dtype != np.uint64 or one.ndim != 1 for one in parts):
        raise ValueError("an order of rows does not consist of row numbers")
    if rows.size != upcoming.size:
        raise ValueError("an order of rows has other numbers of rows to prefetch")
    return Order.of(rows, upcoming)


def _matrix(rows: Rows) -> Any:
    """The matrix without copying its values; of sparse columns, with the types that the loops read."""
    if rows.mixed is not None:
        return MixedMatrix(*(_matrix(part) for part in rows.mixed))
    if rows.is_dense:
        return rows.arrays[0]
    data, indices, indptr = rows.arrays[:3]
    return csr_of(data, indices, indptr, (rows.n_rows, rows.n_features))


def pack_encoder_state(state: EncoderState) -> dict[str, Any]:
    """The parts of a state; its levels as bytes."""
    levels = None if state.levels is None else to_stream(state.levels)
    return {"header": state.header, "arrays": dict(state.arrays), "levels": levels}


def unpack_encoder_state(parts: Any) -> EncoderState:
    """The state; the encoder made from it checks its consistency."""
    header, arrays, levels = (parts[name] for name in ("header", "arrays", "levels"))
    if not isinstance(header, dict) or not isinstance(arrays, dict):
        raise ValueError("the state of an encoder has no header, or no arrays")
    if not all(isinstance(name, str) and isinstance(array, np.ndarray) for name, array in arrays.items()):
        raise ValueError("the arrays of an encoder are none")
    return EncoderState(header, arrays, None if levels is None else from_stream(levels))


_SCHEMA = pa.schema([pa.field("level", pa.large_string(), nullable=False)])


def to_stream(levels: Any) -> NDArray[np.uint8]:
    """An array of strings as an Arrow IPC stream of one record batch, not compressed."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, _SCHEMA) as writer:
        writer.write_batch(pa.record_batch([levels], schema=_SCHEMA))
    return np.frombuffer(sink.getvalue(), dtype=np.uint8)


def from_stream(stream: NDArray[Any]) -> Any:
    """The array of strings; a stream that `to_stream` cannot have written is a ValueError."""
    if not isinstance(stream, np.ndarray) or stream.dtype != np.uint8 or stream.ndim != 1:
        raise ValueError("levels are no stream of bytes")
    try:
        reader = pa.ipc.MessageReader.open_stream(pa.py_buffer(stream.tobytes()))
        messages = list(itertools.islice(reader, 3))
        if [message.type for message in messages] != ["schema", "record batch"]:
            raise ValueError("levels are no stream of one record batch")
        schema, batch = messages
        if pa.ipc.read_schema(schema) != _SCHEMA:
            raise ValueError("levels are no column of strings")
        if _is_compressed(batch.metadata.to_pybytes()):
            raise ValueError("levels are compressed")  # a few bytes could become more than fit into memory
        made = pa.ipc.read_record_batch(batch, _SCHEMA)
        made.validate(full=True)
        levels = made.column(0)
        if levels.null_count or levels.offset:
            raise ValueError("levels have missing values")
        return pa.concat_arrays([levels])
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"levels cannot be read: {error}") from error


def _is_compressed(message: bytes) -> bool:
    """Whether the buffers of a record batch are compressed: the fourth field of RecordBatch in Arrow's Message.fbs.

    A FlatBuffers table begins with the distance back to a list of 16-bit numbers: the size of that list, the size of
    the table, and where each field is in the table, 0 if it is absent.
    """

    def integer(place: int, size: int, signed: bool = False) -> int:
        if not 0 <= place <= len(message) - size:
            raise ValueError("levels have a header that cannot be read")
        return int.from_bytes(message[place : place + size], "little", signed=signed)

    def field(table: int, number: int) -> int:
        """Position of a field of a table; 0 if it is absent."""
        places = table - integer(table, 4, signed=True)
        at = 4 + 2 * number
        distance = integer(places + at, 2) if at < integer(places, 2) else 0
        return table + distance if distance else 0

    header = field(integer(0, 4), 2)  # the third field of Message
    if not header:
        raise ValueError("levels have a header that cannot be read")
    return field(header + integer(header, 4), 3) != 0
