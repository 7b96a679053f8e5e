"""The state of a fit in the middle of its run, stored and read again: the run goes on as if nothing had happened."""

import copy
import inspect
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from sgdone.bank import Bank
from sgdone.interfaces.objective import Objective
from sgdone.losses import Logistic
from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.matrices.row_hash import row_hashes
from sgdone.rows import ArraySource
from sgdone.rows.block_source import BlockSource
from sgdone.rows.blocks import EncodedRows
from sgdone.run import RunOptions, run
from sgdone.run.checkpoints import Checkpoints
from sgdone.state_file.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from sgdone.stopping import Gain, MaxPasses
from state_file.same_values import assert_same


class Listed(list):
    """Blocks that are kept in a list."""

    write, read, is_complete = list.append, list.__getitem__, False

    def close(self):
        pass


def in_parts(X, labels, names=None, size=512):
    """A source that is not in memory, of blocks of its own."""

    def blocks():
        for first in range(0, len(labels), size):
            part, numbers = X[first : first + size], np.arange(first, min(first + size, len(labels)))
            yield EncodedRows(part, labels[numbers], None, row_hashes(part), numbers)

    return BlockSource(blocks, Listed(), seed=0, buffer_bytes=1 << 16, feature_names=names)


def dense(X):
    return X


def mixed(X):
    return MixedMatrix(np.ascontiguousarray(X[:, :2]), sparse.csr_array(X[:, 2:]))


def problem(n_rows):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n_rows, 5)) * (rng.random((n_rows, 5)) < 0.7)
    return X, np.where(X @ [1.0, -2.0, 0.5, 0.0, 1.0] + rng.standard_normal(n_rows) > 0, 1.0, -1.0)


SOURCES = {
    "dense": lambda: ArraySource(*problem(300)),
    "csr in parts": lambda: in_parts(sparse.csr_array(problem(6000)[0]), problem(6000)[1], list("abcde")),
    "mixed in parts": lambda: in_parts(mixed(problem(6000)[0]), problem(6000)[1]),
    "dense in parts, float32": lambda: in_parts(problem(6000)[0].astype(np.float32), problem(6000)[1]),
    "csr, float32": lambda: ArraySource(sparse.csr_array(problem(300)[0].astype(np.float32)), problem(300)[1]),
    "dense, many rows": lambda: ArraySource(*problem(6000)),
}
SLOW = ("mixed in parts", "dense in parts, float32", "csr, float32", "dense, many rows")


def trained(source, hook=None):
    hooks = () if hook is None else (hook,)
    objective = Objective(Logistic())
    stop = (Gain(0.01) & MaxPasses(1)).then(1.5) | MaxPasses(4)
    return run(source, objective, Bank(), stop, RunOptions(hooks=hooks))


def live_state(progress):
    """The state that the driver works on."""
    return inspect.getclosurevars(progress.solution).nonlocals["state"]


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in SOURCES])
def test_a_run_goes_on_from_what_was_read(name, tmp_path):
    source, seen = SOURCES[name](), set()

    def exchange(progress):
        state = live_state(progress)
        write_checkpoint(tmp_path / "c", Checkpoint({}, {"state": state}))
        read = read_checkpoint(tmp_path / "c").parts["state"]
        assert_same(read, state)
        evaluations = read.run.evaluations
        seen.add((read.run.validation.count > 0, evaluations.best is not None and evaluations.best is evaluations.last))
        assert (read.in_units, read.run.folds) == (None, None)
        if source.in_memory:  # the validation rows are rows of the matrix that is trained on
            read.run.validation = replace(read.run.validation, block=state.run.validation.block)
        vars(state).update(vars(read))

    expected, found = trained(source), trained(SOURCES[name](), exchange)
    assert (True, True) in seen
    for result in (found, expected):  # its row numbers are those of the source, or a copy of them
        result.state.run.evaluations.earlier = None
    assert_same(found.model, expected.model)
    assert_same(found.state, expected.state)
    assert_same(found.rule_state, expected.rule_state)
    assert str(found.verdict) == str(expected.verdict)


def test_the_state_of_a_rule_and_the_trace(tmp_path):
    result = trained(SOURCES["dense"]())
    parts = {"rule_state": result.rule_state, "trace": result.trace}
    write_checkpoint(tmp_path / "c", Checkpoint({}, parts))
    read = read_checkpoint(tmp_path / "c").parts
    assert_same(read["rule_state"], result.rule_state)
    assert_same(list(read["trace"]), list(result.trace))
    assert read["trace"].task == result.trace.task


def test_a_snapshot_has_the_state_of_the_rule():
    rule, written = MaxPasses(1).then(2.5) | MaxPasses(6), []
    checkpoints = Checkpoints(lambda snapshot: written.append(copy.deepcopy(snapshot)), 0.0)
    objective = Objective(Logistic())
    expected = run(in_parts(*problem(6000)), objective, Bank(), rule, RunOptions(checkpoints=checkpoints))
    late = next(snapshot for snapshot in written if snapshot.passes_begun == 2)
    again = RunOptions(checkpoints=Checkpoints(lambda snapshot: True, 1e9, late))
    found = run(in_parts(*problem(6000)), objective, Bank(), rule, again)
    assert (found.verdict.rule, found.verdict.step) == (expected.verdict.rule, expected.verdict.step)
    assert_same(found.model, expected.model)
