"""Feature matrices, labels and weights of every kind that someone may pass."""

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

N_FEATURES = 3
Rows = NDArray[np.float64]
_ODD_NUMBERS = [np.nan, np.inf, -np.inf, 1e308, -1e308, 1e300, 1e160, 1e-160, 1e-300, 5e-324, 0.0, -0.0, 2.0**53, 1e20]


def odd_rows(random: Random, n_rows: int, few_forms: bool) -> tuple[str, Any]:
    """A name and a matrix of ``n_rows`` rows, or what someone took for one."""
    X = np.random.default_rng(random.getrandbits(32)).standard_normal((n_rows, N_FEATURES))
    if random.random() < 0.3:
        name, X = _with_odd_numbers(X, random)
    else:
        name = "rows"
    if random.random() < 0.35:
        return name, X
    forms = {**_FORMS, **_SPARSE, **({} if few_forms else _OTHER_TYPES)}
    form = random.choice(list(forms))
    with np.errstate(all="ignore"):
        return f"{name} as {form}", forms[form](X, random)


def _with_odd_numbers(X: Rows, random: Random) -> tuple[str, Rows]:
    how = random.choice(["cell", "column", "row", "all", "factor", "constant column", "equal rows"])
    number = random.choice(_ODD_NUMBERS)
    X = X.copy()
    row, column = random.randrange(max(1, len(X))), random.randrange(N_FEATURES)
    with np.errstate(all="ignore"):
        if not len(X):
            return how, X
        if how == "cell":
            X[row, column] = number
        elif how in ("column", "constant column"):
            X[:, column] = X[:, column] * number if how == "column" else number
        elif how == "row":
            X[row] = number
        elif how == "all":
            X[:] = number
        elif how == "factor":
            X *= number
        else:
            X[:] = X[row]
    return f"{how} {number}", X


def _spoiled_csr(change: Callable[[Any, Random], None]) -> Callable[[Rows, Random], Any]:
    def make(X: Rows, random: Random) -> Any:
        made = sparse.csr_array(X * (X > -0.5))
        change(made, random)
        return made

    return make


def _any_index(made: Any, random: Random) -> None:
    if made.indices.size:
        made.indices[random.randrange(made.indices.size)] = random.choice([-1, 3, 4, 2**31 - 1, -(2**31), 0])


def _any_pointer(made: Any, random: Random) -> None:
    made.indptr[random.randrange(made.indptr.size)] = random.choice([-1, 1, 10**6, 2**31 - 1, made.indices.size + 1])


def _unsorted(made: Any, random: Random) -> None:
    for first, last in zip(made.indptr[:-1], made.indptr[1:], strict=True):
        made.indices[first:last] = made.indices[first:last][::-1].copy()
        made.data[first:last] = made.data[first:last][::-1].copy()
    made.has_sorted_indices = random.random() < 0.3


def _duplicates(made: Any, random: Random) -> None:
    made.indices[:] = 0
    made.has_canonical_format = random.random() < 0.5


def _int64(made: Any, random: Random) -> None:
    made.indices, made.indptr = made.indices.astype(np.int64), made.indptr.astype(np.int64)


def _short_data(made: Any, random: Random) -> None:
    made.data = made.data[:-1]


def _read_only(made: Any, random: Random) -> None:
    for array in (made.data, made.indices, made.indptr):
        array.flags.writeable = False


def _objects(X: Rows, random: Random) -> Any:
    made = X.astype(object)
    if made.size:
        odd = random.choice([None, "text", "1.5", b"1", {}, [], 10**400, 1j, pd.NA, np.nan, True, pd.Timestamp(0)])
        made[random.randrange(len(made)), random.randrange(N_FEATURES)] = odd
    return made


def _read_only_array(X: Rows, random: Random) -> Any:
    X = X.copy()
    X.flags.writeable = False
    return X


def _frame(X: Rows, random: Random) -> Any:
    frame = pd.DataFrame(X, columns=random.choice([["a", "b", "c"], [0, 1, 2], ["a", "a", "b"], [1, "b", None]]))
    odd = random.choice([None, "category", "string", "boolean", "Int64", "datetime64[ns]", "Sparse[float]"])
    if odd in ("category", "string"):
        frame.isetitem(0, pd.Series(["p", "q"] * len(X))[: len(X)].astype(odd))
    elif odd is not None:
        frame.isetitem(0, pd.Series(np.arange(len(X)) % 2).astype(odd))
    return frame


def at_odd_place(array: Any, random: Random) -> Any:
    """A copy that begins anywhere: within a number, or at one of its multiples."""
    memory = np.empty(array.nbytes + 128, dtype=np.uint8)
    first = -memory.ctypes.data % 64 + random.choice([1, 2, 3, 4, 5, 7, 8, 12, 16, 32, 63])
    made = memory[first : first + array.nbytes].view(array.dtype).reshape(array.shape)
    made[...] = array
    return made


def in_odd_layout(array: Any, random: Random, *, native: bool = False) -> tuple[str, Any]:
    """A name and an array with the same values that lies differently in memory; of the same dtype if ``native``."""
    native = native or array.dtype != np.float64
    name = random.choice([name for name in _LAYOUTS if not native or name != "big endian"])
    if random.random() < 0.4:
        name = "unaligned"  # the only one of which no copy is made for another reason
    made = _LAYOUTS[name](array, random)
    if random.random() < 0.3:
        made.flags.writeable = False
        name += ", read-only"
    return name, made


_LAYOUTS: dict[str, Callable[[Any, Random], Any]] = {
    "unaligned": at_odd_place,
    "read-only": lambda array, random: _read_only_array(array, random),
    "big endian": lambda array, random: at_odd_place(array.astype(">f8"), random),
    "columns first": lambda array, random: at_odd_place(array.T, random).T,
    "backwards": lambda array, random: at_odd_place(array[::-1], random)[::-1],
    "every third": lambda array, random: at_odd_place(np.repeat(array, 3, axis=-1), random)[..., ::3],
    "within records": lambda array, random: _within_records(array, random),
}


def _within_records(array: Any, random: Random) -> Any:
    """The field of packed records: neither aligned nor contiguous."""
    records = np.zeros(array.shape, dtype=[("before", np.uint8), ("value", array.dtype)])
    records["value"] = array
    return records["value"]


def _masked(X: Rows, random: Random) -> Any:
    return np.ma.masked_array(X, mask=random.choice([False, X > 1.0, True]))


_FORMS: dict[str, Callable[[Rows, Random], Any]] = {
    "a list": lambda X, random: X.tolist(),
    "a list of arrays": lambda X, random: list(X),
    "a tuple of tuples": lambda X, random: tuple(map(tuple, X.tolist())),
    "ragged lists": lambda X, random: [row[: random.randrange(1, 4)] for row in X.tolist()],
    "a masked array": _masked,
    "objects": _objects,
    "float16": lambda X, random: X.astype(np.float16),
    "longdouble": lambda X, random: X.astype(np.longdouble),
    "int8": lambda X, random: np.nan_to_num(X).astype(np.int8),
    "uint64": lambda X, random: np.abs(np.nan_to_num(X)).astype(np.uint64),
    "bool": lambda X, random: X > 0,
    "complex": lambda X, random: X + 0j,
    "text": lambda X, random: X.astype(str),
    "bytes": lambda X, random: X.astype("S8"),
    "big endian": lambda X, random: X.astype(">f8"),
    "dates": lambda X, random: np.nan_to_num(X).astype("int64").astype("datetime64[s]"),
    "a record array": lambda X, random: np.zeros(len(X), dtype=[("a", float), ("b", float)]),
    "read-only": _read_only_array,
    "Fortran order": lambda X, random: np.asfortranarray(X),
    "every second column": lambda X, random: np.repeat(X, 2, axis=1)[:, ::2],
    "reversed": lambda X, random: X[::-1],
    "one row broadcast": lambda X, random: np.broadcast_to(X[0] if len(X) else np.zeros(3), X.shape),
    "unaligned": lambda X, random: at_odd_place(X, random),
    "a matrix": lambda X, random: np.asmatrix(X),
    "no rows": lambda X, random: X[:0],
    "no columns": lambda X, random: X[:, :0],
    "one column": lambda X, random: X[:, :1],
    "four columns": lambda X, random: np.column_stack([X, X[:, 0]]),
    "one row": lambda X, random: X[:1],
    "one dimension": lambda X, random: X.ravel(),
    "no dimension": lambda X, random: np.array(1.0),
    "three dimensions": lambda X, random: X[None],
    "a number": lambda X, random: 1.0,
    "a string": lambda X, random: "rows",
    "None": lambda X, random: None,
    "a generator": lambda X, random: (row for row in X),
    "a dict": lambda X, random: {"a": X[:, 0]},
    "a frame": _frame,
    "a series": lambda X, random: pd.Series(X[:, 0]),
    "an arrow table": lambda X, random: pa.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]}),
}
_SPARSE: dict[str, Callable[[Rows, Random], Any]] = {
    "CSR": _spoiled_csr(lambda made, random: None),
    "CSR with any index": _spoiled_csr(_any_index),
    "CSR with any pointer": _spoiled_csr(_any_pointer),
    "CSR unsorted": _spoiled_csr(_unsorted),
    "CSR with duplicates": _spoiled_csr(_duplicates),
    "CSR with int64": _spoiled_csr(_int64),
    "CSR with data cut short": _spoiled_csr(_short_data),
    "CSR read-only": _spoiled_csr(_read_only),
    "CSR without entries": lambda X, random: sparse.csr_array(X.shape),
    "CSR of many columns": lambda X, random: sparse.csr_array((len(X), 3 * 10**5)),
    "a CSR matrix": lambda X, random: sparse.csr_matrix(X),
    "CSC": lambda X, random: sparse.csc_array(X),
    "COO": lambda X, random: sparse.coo_array(X),
    "LIL": lambda X, random: sparse.lil_array(X),
    "BSR": lambda X, random: sparse.bsr_array(X) if len(X) else sparse.csr_array(X),
    "CSR of objects": lambda X, random: sparse.csr_array(X > 0),
}
#: These need loops of their own.
_OTHER_TYPES: dict[str, Callable[[Rows, Random], Any]] = {
    "float32": lambda X, random: X.astype(np.float32),
    "CSR of float32": lambda X, random: sparse.csr_array(X.astype(np.float32)),
}


def odd_labels(random: Random, n_rows: int) -> tuple[str, Any]:
    """A name and ``n_rows`` labels, or what someone took for them."""
    name = random.choice(["two classes", "numbers"] if random.random() < 0.4 else list(_LABELS))
    with np.errstate(all="ignore"):
        return name, _LABELS[name](np.random.default_rng(random.getrandbits(32)), n_rows, random)


def _with_one(values: Any, odd: Any, random: Random) -> Any:
    made = np.array(values, dtype=object)
    if made.size:
        made[random.randrange(made.size)] = odd
    return made


def _numbers_with(rng: Any, n: int, random: Random) -> Any:
    y = rng.standard_normal(n)
    if n:
        y[random.randrange(n)] = random.choice(_ODD_NUMBERS)
    return y


_LABELS: dict[str, Callable[[Any, int, Random], Any]] = {
    "two classes": lambda rng, n, random: rng.integers(0, 2, n),
    "three classes": lambda rng, n, random: rng.integers(0, 3, n),
    "numbers": lambda rng, n, random: rng.standard_normal(n),
    "numbers, one of them odd": _numbers_with,
    "huge numbers": lambda rng, n, random: rng.standard_normal(n) * random.choice([1e300, 1e160, 1e20]),
    "tiny numbers": lambda rng, n, random: rng.standard_normal(n) * random.choice([1e-300, 1e-160, 5e-324]),
    "equal numbers": lambda rng, n, random: np.full(n, random.choice(_ODD_NUMBERS)),
    "one class": lambda rng, n, random: np.zeros(n, int),
    "as many classes as rows": lambda rng, n, random: np.arange(n),
    "one row of a class": lambda rng, n, random: np.arange(n) == 0,
    "strings": lambda rng, n, random: rng.choice(["no", "yes"], n),
    "odd strings": lambda rng, n, random: rng.choice(["", " ", "a\n", "é", "\0", "nan"], n),
    "strings of digits": lambda rng, n, random: rng.choice(["007", "07", "7"], n),
    "bytes": lambda rng, n, random: rng.choice([b"no", b"yes"], n),
    "bools": lambda rng, n, random: rng.integers(0, 2, n).astype(bool),
    "objects": lambda rng, n, random: rng.integers(0, 2, n).astype(object),
    "objects, one of them odd": lambda rng, n, random: _with_one(
        rng.integers(0, 2, n), random.choice([None, np.nan, "x", 1.5, pd.NA, (1, 2), [], {}, b"x", 1j, 10**30]), random
    ),
    "float16": lambda rng, n, random: rng.integers(0, 2, n).astype(np.float16),
    "uint64": lambda rng, n, random: np.uint64(2**64 - 1) - rng.integers(0, 2, n).astype(np.uint64),
    "large integers": lambda rng, n, random: 2**62 + rng.integers(0, 2, n),
    "integers above 2**64": lambda rng, n, random: [10**30 + int(k) for k in rng.integers(0, 2, n)],
    "dates": lambda rng, n, random: rng.integers(0, 2, n).astype("datetime64[D]"),
    "complex": lambda rng, n, random: rng.integers(0, 2, n) + 0j,
    "a list": lambda rng, n, random: rng.integers(0, 2, n).tolist(),
    "mixed": lambda rng, n, random: [0, "1", 2.0, None][:n] * (n // 4 + 1),
    "None": lambda rng, n, random: None,
    "a column": lambda rng, n, random: rng.integers(0, 2, (n, 1)),
    "two columns": lambda rng, n, random: rng.integers(0, 2, (n, 2)),
    "a number": lambda rng, n, random: 1.0,
    "too few": lambda rng, n, random: rng.integers(0, 2, max(0, n - 1)),
    "too many": lambda rng, n, random: rng.integers(0, 2, n + 1),
    "masked": lambda rng, n, random: np.ma.masked_array(rng.integers(0, 2, n), mask=rng.random(n) < 0.3),
    "a sparse column": lambda rng, n, random: sparse.csr_array(rng.integers(0, 2, (n, 1))),
    "a series": lambda rng, n, random: pd.Series(rng.integers(0, 2, n), index=np.arange(n) + 100),
    "a nullable series": lambda rng, n, random: pd.array([None, *rng.integers(0, 2, max(0, n - 1))], dtype="Int64"),
    "categories": lambda rng, n, random: pd.Categorical(rng.choice(["a", "b"], n), categories=["b", "a", "c"]),
    "an arrow array": lambda rng, n, random: pa.array(rng.integers(0, 2, n)),
}


def odd_weights(random: Random, n_rows: int) -> tuple[str, Any]:
    """A name and weights of rows."""
    rng = np.random.default_rng(random.getrandbits(32))
    name = random.choice(list(_WEIGHTS))
    return name, _WEIGHTS[name](rng, n_rows, random)


def _weights_with(rng: Any, n: int, random: Random) -> Any:
    weights = rng.random(n)
    if n:
        weights[random.randrange(n)] = random.choice([*_ODD_NUMBERS, -1.0])
    return weights


_WEIGHTS: dict[str, Callable[[Any, int, Random], Any]] = {
    "any": lambda rng, n, random: rng.random(n),
    "one of them odd": _weights_with,
    "all zero": lambda rng, n, random: np.zeros(n),
    "one positive": lambda rng, n, random: (np.arange(n) == 0).astype(float),
    "tiny": lambda rng, n, random: np.full(n, random.choice([1e-310, 1e-300, 5e-324, 1e-160])),
    "huge": lambda rng, n, random: np.full(n, random.choice([1e308, 1e300, 1e160])),
    "far apart": lambda rng, n, random: 10.0 ** rng.integers(-300, 300, n),
    "integers": lambda rng, n, random: rng.integers(0, 3, n),
    "bools": lambda rng, n, random: rng.random(n) < 0.5,
    "strings": lambda rng, n, random: ["1"] * n,
    "objects": lambda rng, n, random: _with_one(rng.random(n), random.choice([None, "x", pd.NA, 10**400]), random),
    "too few": lambda rng, n, random: rng.random(max(0, n - 1)),
    "a column": lambda rng, n, random: rng.random((n, 1)),
    "a number": lambda rng, n, random: random.choice([1.0, 0.0, -1.0, np.nan]),
    "a string": lambda rng, n, random: "balanced",
    "masked": lambda rng, n, random: np.ma.masked_array(rng.random(n), mask=rng.random(n) < 0.3),
    "a list": lambda rng, n, random: rng.random(n).tolist(),
}
