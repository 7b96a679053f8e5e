"""Checkpoints, their bytes or their contents changed: they are read as values of the right kinds, or refused."""

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from sgdone import TableEncoder
from sgdone.bank.bank_state import BankState
from sgdone.bank.evaluation import CANDIDATES, Evaluation
from sgdone.interfaces.objective import Objective
from sgdone.losses import Logistic
from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.rows.rows import Block, Rows
from sgdone.rows.validation_rows import ValidationRows
from sgdone.state_file.checkpoint import CHECKPOINT, Checkpoint, check_identity, read_checkpoint, write_checkpoint
from sgdone.state_file.container import read
from sgdone.state_file.file_format import CheckpointError

from .. import byte_changes, model_parts
from ..case_kind import Kind, Note
from ..judging import answer, only
from ..special_files import special_file

_IDENTITY = {"files": [{"name": "a.csv", "bytes": 1024}], "alpha": None, "stop": {"passes": 3}}
_X = np.random.default_rng(0).standard_normal((60, 4))
_FORMS: dict[str, Any] = {
    "dense": lambda: _X,
    "csr": lambda: sparse.csr_array(_X.astype(np.float32)),
    "mixed": lambda: MixedMatrix(np.ascontiguousarray(_X[:, :1]), sparse.csr_array(_X[:, 1:])),
}


def _state(X: Any) -> BankState:
    """A state in the middle of a run, without having trained: no loop is compiled."""
    rows = np.arange(60, dtype=np.uint64)
    block = Block.of(Rows.of(X, names=list("abcd")), np.sign(_X[:, 0]), None)
    state = BankState.initial(block, rows, Objective(Logistic()), None, CANDIDATES, seen=rows, ordered=False)
    state.run.validation = ValidationRows(1, np.zeros(60, np.uint8), rows, block)
    evaluations = state.run.evaluations
    evaluations.last = evaluations.best = Evaluation(60, CANDIDATES, np.abs(_X), np.ones(60), np.ones(60))
    evaluations.best_model = state.solution()
    return state


def _prepare(folder: Path, few_forms: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    table = pa.table({"x": _X[:, 0], "level": [f"level {k % 7}" for k in range(60)]})
    for name, form in _FORMS.items():
        path = folder / name
        parts = {
            "state": _state(form()),
            "rng": np.random.default_rng(0),
            "random_state": np.random.RandomState(0),
            "set_aside": {1, 2, 30},
            "encoder": TableEncoder().fit(table),
        }
        write_checkpoint(path, Checkpoint(_IDENTITY, parts))
        found[name] = (path.read_bytes(), read(path, CHECKPOINT))
    return found


def _run(stored: dict[str, Any], random: Random, folder: Path, note: Note) -> None:
    path = folder / "changed"
    name = random.choice(list(stored))
    data, parts = stored[name]
    if random.random() < 0.02:
        path = special_file(random, folder)
        note(f"special file {path}")
    elif random.random() < 0.5:
        note(f"{name}: bytes changed")
        path.write_bytes(byte_changes.changed(data, random))
    else:
        what, made = model_parts.changed(parts, [other for _, other in stored.values()], random)
        note(f"{name}: {what}")
        path.write_bytes(model_parts.file_of(made, random, CHECKPOINT))
    found = answer(lambda: read_checkpoint(path), only(CheckpointError, path))
    note("read")
    answer(lambda: check_identity(path, found.identity, _IDENTITY), only(CheckpointError, path))
    write_checkpoint(folder / "again", found)
    read_checkpoint(folder / "again")


KIND = Kind("checkpoints", 2, _run, _prepare)
