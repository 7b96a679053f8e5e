import pickle

import numpy as np
import pytest
from partitions import logistic_problem, split
from scipy import sparse

import sgdone
from cluster_fits import fit_model
from sgdone import LinearClassifier, LinearRegressor
from sgdone.cluster import Engine, LocalEngine, Partition, partition_work
from sgdone.fit.checkpoints import FitCheckpoints
from sgdone.interfaces.stop_rule import Status
from sgdone.losses import CustomLoss
from sgdone.state_file.file_format import CheckpointError
from sgdone.stopping import MaxPasses
from storage_forms import at_offset
from tiers import fast_first


class Dying(Engine):
    """An engine whose driver dies in a round."""

    def __init__(self, partitions, last=None, error=RuntimeError):
        self._partitions, self._last, self._error, self.asked = partitions, last, error, 0

    def ask(self, parts, *, in_order=False):
        self.asked += 1
        if self.asked == self._last:
            raise self._error
        return [partition_work(parts, partition) for partition in self._partitions]

    def encode(self, encoder):
        raise AssertionError("the rows are arrays")


def fitted(model, engine, **options):
    fit_model(model, engine, **options)
    return model


def test_a_model_file_has_the_rounds(tmp_path):
    model = fitted(LinearClassifier(random_state=0), LocalEngine(split(*logistic_problem(3_000, 4), 5)))
    sgdone.save(model, tmp_path / "model")
    loaded = sgdone.load(tmp_path / "model")
    assert loaded.trace_["bytes_received"].tolist() == model.trace_["bytes_received"].tolist()
    assert loaded.trace_[1].traffic.request == "Statistics"


def test_a_driver_that_dies_goes_on_between_rounds(tmp_path):
    X, y = logistic_problem(1_500, 3)
    expected = fitted(LinearClassifier(random_state=0), LocalEngine(split(X, y, 4)))
    rounds = len(expected.trace_)
    for last in (1, 2, 4, rounds):
        path = tmp_path / f"fit-{last}"
        with pytest.raises(RuntimeError):
            fitted(
                LinearClassifier(random_state=0), Dying(split(X, y, 4), last), checkpoints=FitCheckpoints(path, every=0)
            )
        engine = Dying(split(X, y, 4))
        again = fitted(LinearClassifier(random_state=0), engine, checkpoints=FitCheckpoints(path, 0, resume=True))
        assert again.coef_.tobytes() == expected.coef_.tobytes()
        # The statistics are asked for again, to see that the rows are the same.
        assert engine.asked == rounds - (last - 1) + (1 if last > 2 else 0)
    resumed = {"checkpoints": FitCheckpoints(path, 0, resume=True)}
    other = split(X + 1.0, y, 4)
    with pytest.raises(ValueError, match="the checkpoint is of other rows"):
        fitted(LinearClassifier(random_state=0), LocalEngine(other), **resumed)
    changed = y.copy()
    changed[:300] = y[:300][::-1]  # the same classes, and the same rows without their labels
    for rows in (split(X, changed, 4), split(X, y, 3)):
        with pytest.raises(ValueError, match="the checkpoint is of other rows"):
            fitted(LinearClassifier(random_state=0), LocalEngine(rows), **resumed)
    longer = LinearClassifier(random_state=0, stop=MaxPasses(99))  # a budget may change
    fitted(longer, LocalEngine(split(X, y, 4)), **resumed)
    assert longer.coef_.tobytes() == expected.coef_.tobytes()
    with pytest.raises(CheckpointError, match="alpha"):
        fitted(
            LinearClassifier(alpha=1, random_state=0),
            LocalEngine(other),
            **resumed,
        )


def test_an_error_leaves_the_rounds_before_it(tmp_path):
    """Also those since the file was written last."""
    X, y = logistic_problem(600, 3)
    path = tmp_path / "fit"
    for error in (RuntimeError, KeyboardInterrupt):
        with pytest.raises(error):
            fitted(LinearClassifier(random_state=0), Dying(split(X, y, 2), 4, error), checkpoints=FitCheckpoints(path))
        engine = Dying(split(X, y, 2))
        fitted(LinearClassifier(random_state=0), engine, checkpoints=FitCheckpoints(path, resume=True))
        assert engine.asked < len(fitted(LinearClassifier(random_state=0), LocalEngine(split(X, y, 2))).trace_)
        path.unlink()


def test_ctrl_c_keeps_the_model_so_far(tmp_path):
    X, y = logistic_problem(1_500, 3)
    checkpoints = FitCheckpoints(tmp_path / "fit", every=60)
    engine = Dying(split(X, y, 4), 6, KeyboardInterrupt)
    model = fitted(LinearClassifier(random_state=0), engine, checkpoints=checkpoints)
    assert model.verdict_.status is Status.INTERRUPTED
    assert model.score(X, y) > LinearClassifier(random_state=0).fit(X, y).score(X, y) - 0.05
    assert (tmp_path / "fit").exists()


def test_verbose(capsys):
    X, y = logistic_problem(500, 3)
    fitted(LinearClassifier(stop=MaxPasses(4), verbose=1), LocalEngine(split(X, y, 2)))
    assert capsys.readouterr().out.startswith("round 1: ")


def test_what_a_cluster_cannot_do():
    X, y = logistic_problem(100, 2)
    loss = CustomLoss(lambda z, y: (z - y) ** 2, lambda z, y: 2 * (z - y), task="regression")
    for model, text in (
        (LinearRegressor(loss=loss), "loss of your own"),
        (LinearClassifier(warm_start=True), "warm_start"),
        (LinearClassifier(columns={"a": "category"}), "needs data frames"),
        (LinearClassifier(class_weight="heavy"), "class_weight"),
    ):
        with pytest.raises(ValueError, match=text):
            fit_model(model, LocalEngine(split(X, y, 2)))
        assert not hasattr(model, "coef_")
    with pytest.raises(ValueError, match=r"sum to 0\.01"):
        fit_model(LinearClassifier(), LocalEngine(split(X, y, 2, np.full(100, 1e-4))))


def test_what_cannot_be_a_partition_is_said_by_its_number():
    X, y = logistic_problem(60, 2)
    words = np.array([["1", "2"], ["3", "x"]], dtype=object)
    for bad, text in (
        (Partition.of(1, words, [0, 1]), r"partition 1: row 1 of X holds 'x' in column 1"),
        (Partition.of(1, X[:3], y[:2]), r"partition 1: X has 3 rows, but y has the shape \(2,\)"),
        (Partition.of(1, X[:2], [None, "yes"]), r"partition 1: .* label of row 0 is None"),
        (Partition.of(1, X[:2] * 1j, y[:2]), "partition 1: X holds values of type complex128"),
    ):
        with pytest.raises(ValueError, match=text):
            fit_model(LinearClassifier(), LocalEngine([Partition(0, X, y), bad]))


def travelled(partition):
    """The partition as another process receives it: arrays lie anywhere in a message."""
    buffers = []
    data = pickle.dumps(partition, protocol=5, buffer_callback=buffers.append)
    moved = [at_offset(np.frombuffer(own, dtype=np.uint8), 3) for own in buffers]
    return pickle.loads(data, buffers=moved)


@pytest.mark.parametrize("form", fast_first(1, [np.asarray, sparse.csr_array]), ids=["dense", "csr"])
def test_a_partition_that_has_travelled_gives_the_same_bits(form):
    X, y = logistic_problem(14_000, 20)
    weight = 1.0 + np.arange(14_000) % 3
    parts = [Partition(k, form(X[k::2]), (y[k::2] == "yes").astype(float), weight[k::2]) for k in range(2)]
    sent = [travelled(part) for part in parts]
    for part in sent:
        arrays = [part.X] if form is np.asarray else [part.X.data, part.X.indices, part.X.indptr]
        assert all(array.flags.aligned for array in (*arrays, part.y, part.sample_weight))
    expected, found = (fitted(LinearClassifier(alpha=0.01, random_state=0), LocalEngine(own)) for own in (parts, sent))
    assert found.coef_.tobytes() == expected.coef_.tobytes()


def test_arrays_are_copied_only_if_they_begin_within_a_number():
    X, y = logistic_problem(60, 2)
    assert np.shares_memory(Partition(0, X, y).block_of(np.ones(60)).rows.arrays[0], X)
    moved = at_offset(X, 3)
    assert not moved.flags.aligned
    assert Partition(0, moved, y).X.flags.aligned
