"""The same numbers elsewhere in memory: unaligned, read-only, of another byte order or stride. No bit may change."""

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from scipy import sparse

import sgdone
from cluster_fits import fit_model
from sgdone import LinearClassifier, LinearRegressor, SGDClassifier, SGDRegressor, losses, solvers
from sgdone.cluster import LocalEngine, Partition
from sgdone.interfaces.method import names
from sgdone.losses.loss import Loss
from sgdone.matrices.mixed_matrix import MixedMatrix, with_dense_columns
from sgdone.solvers.single_model import SingleModel

from ..case_kind import Kind, Note
from ..judging import Refused, answer, argument_error
from ..odd_arrays import in_odd_layout

_ESTIMATORS = (LinearClassifier, LinearClassifier, LinearRegressor, SGDClassifier, SGDRegressor)
#: The last ones are large enough for an exact fit that does not copy its rows.
_SHAPES = ((24, 3), (150, 3), (600, 7), (7000, 20), (7000, 20), (8000, 19))
_STORAGES: dict[str, Callable[[Any], Any]] = {
    "dense": np.asarray,
    "CSR": sparse.csr_array,
    "float32": lambda X: X.astype(np.float32),
    "CSR of float32": lambda X: sparse.csr_array(X.astype(np.float32)),
    "mixed": lambda X: with_dense_columns(X, 2),
}


def _prepare(folder: Path, few_forms: bool) -> dict[str, Any]:
    """Storages, and registered names of methods and losses."""
    if few_forms:
        return {"storage": ["dense", "CSR"], "solver": ["asgd", "sgd"], "loss": []}
    return {"storage": [*_STORAGES], "solver": [*names(SingleModel, solvers)], "loss": [*names(Loss, losses)]}


def _run(known: dict[str, Any], random: Random, folder: Path, note: Note) -> None:
    estimator, storage = random.choice(_ESTIMATORS), random.choice(known["storage"])
    automatic = estimator in (LinearClassifier, LinearRegressor)
    if not automatic and storage == "mixed":
        storage = "CSR"
    parameters: dict[str, Any] = {"random_state": 0}
    if not automatic:
        parameters["solver"] = random.choice(known["solver"])
    if known["loss"] and random.random() < 0.2:
        parameters["loss"] = random.choice(known["loss"])
    way = random.choice(["fit", "fit", "partial_fit", "batches"] + (["partitions"] if automatic else []))
    X, y, weight = _rows(estimator, storage, random)
    place, moved = _elsewhere(X, random)
    (labels, y_moved), (weights, weight_moved) = in_odd_layout(y, random), (None, None)
    if weight is not None:
        weights, weight_moved = in_odd_layout(weight, random)
    note(f"{estimator.__name__}({parameters}) {way} {X.shape} {storage}: {place}; y: {labels}; weights: {weights}")

    def outcome(*arrays: Any) -> Any:
        """The bits of the model and of its predictions, or why there is none."""
        model = estimator(**parameters)
        try:
            answer(lambda: _WAYS[way](model, *arrays), argument_error)
            predicted = answer(lambda: model.predict(arrays[0]), argument_error)
        except Refused as error:
            return str(error)
        # Predicted classes have the byte order of the labels.
        return [own.tobytes() for own in (model.coef_, model.intercept_, predicted.astype(np.float64))]

    expected, found = outcome(X, y, weight), outcome(moved, y_moved, weight_moved)
    if found != expected:
        raise AssertionError("another model, or another message, of the same numbers")
    if isinstance(expected, str):
        raise Refused(expected)


def _rows(estimator: Any, storage: str, random: Random) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(random.getrandbits(32))
    n_rows, n_features = random.choice(_SHAPES)
    X = rng.standard_normal((n_rows, n_features)) * (rng.random((n_rows, n_features)) < 0.7)
    y = X[:, 0] - X[:, 1] + rng.logistic(size=n_rows)
    if hasattr(estimator, "decision_function"):
        y = (y > 0).astype(float) + (y > 2 if random.random() < 0.3 else 0)
    weight = rng.integers(0, 3, n_rows) + rng.random(n_rows) if random.random() < 0.4 else None
    return _STORAGES[storage](X), y, weight


def _elsewhere(X: Any, random: Random) -> tuple[str, Any]:
    """The same matrix, each of its arrays in a layout of its own."""
    if isinstance(X, MixedMatrix):
        dense, entries = np.ascontiguousarray(X.dense), _elsewhere(X.sparse, random)
        name, made = in_odd_layout(dense, random)
        contiguous = made if made.flags.c_contiguous and made.dtype == dense.dtype else dense
        return f"{name} and {entries[0]}", MixedMatrix(contiguous, entries[1])
    if isinstance(X, np.ndarray):
        return in_odd_layout(X, random)
    made = X.copy()
    words = []
    for part in ("data", "indices", "indptr"):
        name, own = in_odd_layout(getattr(X, part), random, native=True)  # as SciPy wants it
        setattr(made, part, own)
        words.append(f"{part} {name}")
    return ", ".join(words), made


def _fit(model: Any, X: Any, y: Any, weight: Any) -> None:
    model.fit(X, y, sample_weight=weight)


def _partial_fit(model: Any, X: Any, y: Any, weight: Any) -> None:
    options = {"classes": np.unique(y)} if hasattr(model, "decision_function") else {}
    for _ in range(2):
        model.partial_fit(X, y, sample_weight=weight, **options)


def _batches(model: Any, X: Any, y: Any, weight: Any) -> None:
    model.fit(sgdone.batches([(X, y) if weight is None else (X, y, weight)]))


def _partitions(model: Any, X: Any, y: Any, weight: Any) -> None:
    parts = [
        Partition(k, X[rows], y[rows], None if weight is None else weight[rows])
        for k, rows in enumerate((slice(0, 10), slice(10, None)))
    ]
    fit_model(model, LocalEngine(parts))


_WAYS: dict[str, Callable[[Any, Any, Any, Any], None]] = {
    "fit": _fit,
    "partial_fit": _partial_fit,
    "batches": _batches,
    "partitions": _partitions,
}

KIND = Kind("layouts", 1, _run, _prepare)
