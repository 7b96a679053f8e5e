"""Values of a running fit: what decides later bits comes back, and what is one object stays one."""

import json

import numpy as np
import pytest
from scipy import sparse

from model_file.table_rows import FIRST, SECOND
from sgdone import TableEncoder
from sgdone.interfaces.objective import Judgement, Model, Objective
from sgdone.losses import Huber
from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.rows.rows import Block, Order, Rows, Scaling
from sgdone.state_file.codec import Decoder, Encoder, NotStorable
from sgdone.state_file.plain_forms import unpack_order, unpack_rows
from sgdone.stopping import Gain, MarginTest, MaxPasses, MaxSamples, Pflug
from state_file.same_values import assert_same
from storage_forms import long_indices, unsorted


def there_and_back(value, *, running=True):
    encoder = Encoder(running=running)
    code = json.loads(json.dumps(encoder.encode(value, "value"), allow_nan=False))
    tensors = {name: tensor.copy() for name, tensor in encoder.tensors.items()}
    decoder = Decoder(tensors, None, running=running)
    back = decoder.decode(code)
    decoder.check_all_used()
    return back


def read_only(array):
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    "value",
    [
        {1, 2, 30},
        set(),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(24, dtype=np.int16).reshape(2, 3, 4).T,
        np.asfortranarray([["a", "bc"], ["d", "é"]]),
        np.arange(12.0)[::-2],
        read_only(np.arange(3, dtype=np.float32)),
        np.array([np.nan, -np.nan, -0.0, np.inf]),
        Model(np.ones((2, 3), np.float32), np.array([np.nan, 1.0])),
        Judgement(1.0, 0.5, float("nan"), float("inf"), 1.0, 0.1, estimated_by="training"),
        [Objective(Huber(0.5), predicts="target"), None],
    ],
    ids=lambda value: type(value).__name__,
)
def test_values(value):
    assert_same(there_and_back(value), value)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", [np.ascontiguousarray, sparse.csr_array, long_indices, unsorted, "mixed"])
def test_rows_and_their_scaling(form, dtype):
    X = np.where(np.arange(12.0).reshape(4, 3) % 2, np.arange(12.0).reshape(4, 3), 0.0).astype(dtype)
    matrix = MixedMatrix(X[:, :1].copy(), sparse.csr_array(X[:, 1:])) if form == "mixed" else form(X)
    scaling = Scaling(np.array([1.0, 2.0, 3.0]), np.array([1.0, 0.0, 0.0]))
    for rows in (Rows.of(matrix), Rows.of(matrix, scaling, ["a", "b", "c"], np.array([0, 1, 2], np.int32))):
        back = there_and_back(rows)
        assert_same(back, rows)
        assert back.types == rows.types


def test_matrices():
    X = long_indices(np.eye(3))
    back = there_and_back(X)
    assert (back.indices.dtype, back.indptr.dtype, back.shape) == (np.int64, np.int64, (3, 3))
    assert (back.toarray() == np.eye(3)).all()
    mixed = there_and_back(MixedMatrix(np.ones((3, 1)), sparse.csr_array(np.eye(3))))
    assert (mixed.toarray() == np.hstack([np.ones((3, 1)), np.eye(3)])).all()


@pytest.mark.parametrize(
    ("part", "numbers"), [(1, [0, 1, 9]), (1, [0, 1, -1]), (1, [0, 1]), (2, [0, 2, 1, 3]), (2, [0, 1, 2, 9]), (2, [0])]
)
def test_a_matrix_that_no_loop_could_read(part, numbers):
    encoder = Encoder(running=True)
    code = encoder.encode(sparse.csr_array(np.eye(3)), "m")
    name = list(encoder.tensors)[part]
    tensors = encoder.tensors | {name: np.array(numbers, np.int32)}
    with pytest.raises(ValueError, match=r"CSR matrix X|a sparse matrix"):
        Decoder(tensors, None, running=True).decode(code)


@pytest.mark.parametrize(
    "parts",
    [
        {"matrix": np.ones(3)},
        {"matrix": np.ones((2, 3), np.int64)},
        {"matrix": np.ones((2, 3, 1))},
        {"matrix": np.asfortranarray(np.ones((2, 3)))},
        {"matrix": [[1.0, 2.0]]},
        {"names": ["a"]},
        {"roles": np.zeros(2, np.int32)},
        {"roles": np.zeros(3)},
        {"scaling": Scaling(np.ones(2))},
        {"scaling": Scaling(np.ones(3), np.ones(4))},
    ],
    ids=lambda parts: next(iter(parts)),
)
def test_rows_that_do_not_fit_together(parts):
    good = {"matrix": np.ones((2, 3)), "scaling": None, "names": None, "roles": None}
    assert unpack_rows(good).n_features == 3
    with pytest.raises(ValueError, match="rows"):
        unpack_rows(good | parts)


@pytest.mark.parametrize("parts", [(np.zeros(2), np.zeros(2)), (np.zeros(2, np.uint64), np.zeros(3, np.uint64))])
def test_orders_that_are_not_row_numbers(parts):
    with pytest.raises(ValueError, match="order of rows"):
        unpack_order(parts)


def test_what_is_one_object_stays_one():
    array, judgement = np.arange(3.0), Judgement(1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
    rng = np.random.default_rng(0)
    block = Block(Rows.of(np.eye(3)), array, np.ones(1), Order.of(np.arange(3, dtype=np.uint64)))
    value = [array, array, array.copy(), judgement, [judgement], rng, (rng,), block]
    back = there_and_back(value)
    assert back[0] is back[1]
    assert back[0] is not back[2]
    assert back[3] is back[4][0]
    assert back[5] is back[6][0]
    assert back[7].labels is back[0]
    assert back[7].order.rows is back[7].order.upcoming
    apart = there_and_back([array, array], running=False)
    assert apart[0] is not apart[1]


def test_references_that_lead_nowhere():
    for code in (
        {"kind": "same", "as": 0},
        {"kind": "set", "items": [{"kind": "same", "as": 0}], "id": 0},
        [{"kind": "set", "items": [], "id": 0}, {"kind": "set", "items": [], "id": 0}],
        {"kind": "set", "items": [1, 1]},
    ):
        with pytest.raises((KeyError, ValueError)):
            Decoder({}, None, running=True).decode(code)
    for code in ({"kind": "set", "items": [], "id": 0}, {"kind": "same", "as": 0}):
        with pytest.raises((TypeError, ValueError)):
            Decoder({}, None).decode(code)


@pytest.mark.parametrize("name", ["MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"])
def test_a_generator_draws_and_spawns_as_it_would_have(name):
    rng = np.random.Generator(getattr(np.random, name)(7))
    rng.integers(0, 9, 3, dtype=np.int32), rng.spawn(2)
    child = rng.spawn(1)[0]
    for one in (rng, child):
        back = there_and_back(one)
        assert back.random(5).tolist() == one.random(5).tolist()
        assert back.spawn(1)[0].random() == one.spawn(1)[0].random()


def test_generators_that_cannot_be():
    encoder = Encoder()
    code = encoder.encode(np.random.default_rng(0), "rng")
    text = json.dumps(code)
    for before, after in (
        ('"PCG64"', '"os"'),
        ('["pool_size", 4]', '["pool_size", 1000000000000]'),
        ('["n_children_spawned", 0]', '["n_children_spawned", -1]'),
        ('["entropy", 0]', '["entropy", "0"]'),
        ('["has_uint32", 0]', '["has_uint32", 2]'),
    ):
        assert before in text
        with pytest.raises(ValueError, match="random"):
            Decoder({}, None).decode(json.loads(text.replace(before, after)))

    class Own(np.random.SeedSequence):
        pass

    with pytest.raises(TypeError, match="whose seed is a Own"):
        Encoder().encode(np.random.default_rng(Own(1)), "rng")


@pytest.mark.parametrize(
    "rule",
    [
        Gain(),
        MaxPasses(3) | MaxSamples(9),
        MarginTest(9.0) & (Pflug(5) | Gain()),
        (MarginTest(9.0) & MaxPasses(1)).then(1.5),
    ],
    ids=str,
)
def test_states_of_rules(rule):
    state = rule.start(100)
    assert_same(there_and_back(state), state)


@pytest.mark.filterwarnings("ignore:most categories were not seen in fit")
def test_an_encoder_of_tables():
    encoder = TableEncoder().fit(FIRST)
    back, state = there_and_back([encoder, encoder.state()])
    for made in (back, TableEncoder.from_state(state)):
        assert made.get_feature_names_out().tolist() == encoder.get_feature_names_out().tolist()
        found, expected = made.encode(SECOND).tocsr(), encoder.transform(SECOND)
        assert found.indices.tobytes() == expected.indices.tobytes()
        assert found.data.tobytes() == expected.data.tobytes()


def test_what_a_file_cannot_hold():
    for value in (print, object(), frozenset({1}), np.array([1j])):
        with pytest.raises(NotStorable, match=r"state\.1 is .*, which a file cannot hold"):
            Encoder(running=True).encode([1, value], "state")
