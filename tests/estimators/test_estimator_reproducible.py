"""The same bits, and copies that behave like the original."""

import copy
import pickle
import subprocess
import sys
import textwrap

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone

from sgdone import (
    CustomLoss,
    LinearClassifier,
    LinearRegressor,
    SGDClassifier,
    SGDRegressor,
    batches,
    losses,
    solvers,
    steps,
    stopping,
)
from sgdone.matrices.mixed_matrix import with_dense_columns
from storage_forms import at_offset
from tiers import fast_first, interpreted


@pytest.fixture
def ten_classes(rng):
    X = rng.standard_normal((6000, 8))
    return X, rng.integers(0, 10, 6000)


@pytest.mark.parametrize("form", fast_first(1, [np.asarray, sparse.csr_array]), ids=["dense", "csr"])
@pytest.mark.parametrize("n_jobs", [2, 3, -1, 100])
def test_threads_change_no_bit(n_jobs, form, ten_classes, same_model):
    X, y = ten_classes
    alone = SGDClassifier(solver="asgd", random_state=0).fit(form(X), y)
    together = SGDClassifier(solver="asgd", random_state=0, n_jobs=n_jobs).fit(form(X), y)
    same_model(together, alone)
    assert [v.step for v in together.verdict_.per_class.values()] == [v.step for v in alone.verdict_.per_class.values()]
    same_model(together.partial_fit(form(X), y), alone.partial_fit(form(X), y))


def single(X):
    return X.astype(np.float32)


def part_dense(X):
    return with_dense_columns(X, 4)


#: Each a form of the rows, and a fit that takes another way through them.
WAYS = {
    "exact": (np.asarray, LinearClassifier(alpha=0.01, random_state=0)),
    "named method": (np.asarray, SGDClassifier(random_state=0)),
    "bank": (np.asarray, LinearClassifier("hinge", random_state=0)),
    "in blocks": (lambda X: np.tile(X, (10, 1)), LinearClassifier(stop=1, shuffle=False, random_state=0)),
    "huber": (np.asarray, LinearRegressor("huber", random_state=0)),
    "least squares": (np.asarray, LinearRegressor(random_state=0)),
    "single": (single, LinearClassifier(random_state=0)),
    "single, bank": (single, LinearClassifier("hinge", random_state=0)),
    "sparse": (sparse.csr_array, LinearClassifier(random_state=0)),
    "sparse, bank": (sparse.csr_array, LinearClassifier("hinge", random_state=0)),
    "sparse, named method": (sparse.csr_matrix, SGDClassifier(solver="asgd", random_state=0)),
    "sparse, least squares": (sparse.csr_array, LinearRegressor(random_state=0)),
    "part dense": (part_dense, LinearClassifier(random_state=0)),
    "part dense, bank": (part_dense, LinearClassifier("hinge", random_state=0)),
    "svrg": (np.asarray, SGDRegressor(solver="svrg", random_state=0)),
    "newton": (np.asarray, SGDClassifier(solver="newton", random_state=0)),
}


def rows_and_labels(form=np.asarray):
    """Rows that the exact fit does not copy, with labels 0 and 1."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((7000, 20)) * (rng.random((7000, 20)) < 0.5)
    y = X[:, 0] - X[:, 1] + rng.logistic(size=7000) > 0
    X = form(X)
    return X, np.resize(y, X.shape[0]).astype(float)


@pytest.mark.parametrize("way", fast_first(2, WAYS))
def test_the_place_in_memory_changes_no_bit(way, same_model):
    """NumPy and BLAS take another way through arrays that begin within a number."""
    form, model = WAYS[way]
    X, y = rows_and_labels(form)
    weight = 1.0 + np.arange(y.size) % 3
    expected = clone(model).fit(X, y, sample_weight=weight)
    for offset in (1, 4, 8, 16, 32):
        rows = at_offset(X, offset)
        found = clone(model).fit(rows, at_offset(y, offset), sample_weight=at_offset(weight, offset))
        same_model(found, expected)
        assert found.predict(rows).tobytes() == expected.predict(X).tobytes()


@pytest.mark.slow
def test_the_place_in_memory_changes_no_bit_of_batches_and_summaries(same_model, tmp_path):
    X, y = rows_and_labels()
    given = [(X[k::5].copy(), y[k::5].copy()) for k in range(5)]
    moved = [tuple(at_offset(own, 1) for own in batch) for batch in given]
    for options in ({}, {"max_memory": 1 << 20, "cache": tmp_path}):
        found, expected = (LinearClassifier(random_state=0).fit(batches(own, **options)) for own in (moved, given))
        same_model(found, expected)
    summary = expected.summary(X, y)
    again = expected.summary(at_offset(X, 1), at_offset(y, 1))
    assert (again.coef.tobytes(), again.std_err.tobytes()) == (summary.coef.tobytes(), summary.std_err.tobytes())


@pytest.mark.usefixtures("without_finish")
def test_no_seed_another_order_every_time(binary):
    fits = {LinearClassifier().fit(*binary).coef_.tobytes() for _ in range(3)}
    assert len(fits) == 3


@pytest.mark.usefixtures("without_finish")
def test_a_random_state_goes_on(binary):
    state = np.random.RandomState(0)
    model = LinearClassifier(random_state=state)
    assert model.fit(*binary).coef_.tobytes() != model.fit(*binary).coef_.tobytes()


def test_the_global_seed_is_left_alone(binary):
    np.random.seed(3)  # noqa: NPY002
    expected = np.random.RandomState(3).rand()
    LinearClassifier(random_state=0).fit(*binary)
    assert np.random.rand() == expected  # noqa: NPY002


def test_without_shuffling_the_order_is_the_users(binary, same_model):
    X, y = binary
    first, second = (SGDClassifier(shuffle=False, random_state=seed).fit(X, y) for seed in (0, 1))
    same_model(first, second)
    assert SGDClassifier(shuffle=False).fit(X[::-1], y[::-1]).coef_.tobytes() != first.coef_.tobytes()


@pytest.mark.slow
def test_another_process_the_same_bits():
    code = textwrap.dedent(
        """
        import numpy as np
        from sgdone import LinearClassifier, SGDClassifier
        X = np.random.default_rng(0).standard_normal((3000, 7))
        y = np.where(X[:, 0] > 0, "left", np.where(X[:, 1] > 0, "up", "down"))
        bits = LinearClassifier(random_state=0, n_jobs=2).fit(X, y).coef_.tobytes().hex()
        print(bits)
        """
    )
    elsewhere = subprocess.check_output([sys.executable, "-c", code], text=True)
    here = {}
    exec(code, here)
    assert elsewhere.strip() == here["bits"]


MODELS = [
    LinearClassifier(),
    SGDClassifier("hinge", solver="isgd", step=0.1, stop=2, alpha=0.5, n_jobs=2, class_weight={0: 2.0}),
    SGDClassifier(losses.SquaredHinge(), solver=solvers.Averaged(after=50), step=steps.Xu(), average=True),
    SGDClassifier(stop=stopping.MaxSamples(500) | stopping.ProgressiveLoss(0.1), fit_intercept=False),
    SGDClassifier(solver="sgd", stop=stopping.MarginTest(0.5, fresh=True).then(1.5)),
    SGDClassifier(step=steps.ClassScale(0.1), center=True, stop=stopping.SmallValidationSet(8) | stopping.MaxPasses(3)),
    SGDClassifier(solver="isgd", stop=stopping.Pflug(10) & stopping.MinPasses(0.5)),
    SGDClassifier(solver=solvers.Halving(solvers.SGD(), stopping.Distance() | stopping.Pflug(9), smallest=1e-6)),
]


@interpreted
@pytest.mark.parametrize("model", fast_first(2, MODELS), ids=range(len(MODELS)))
def test_clones(model, binary, same_model):
    fitted = clone(model).set_params(random_state=0).fit(*binary)
    again = clone(fitted)
    assert not hasattr(again, "coef_")
    assert {k: repr(v) for k, v in again.get_params().items()} == {k: repr(v) for k, v in fitted.get_params().items()}
    same_model(again.fit(*binary), fitted)


@interpreted
@pytest.mark.parametrize("model", fast_first(2, MODELS), ids=range(len(MODELS)))
@pytest.mark.parametrize("data", ["binary", "several"])
@pytest.mark.parametrize(
    "duplicate",
    [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))],
    ids=["deepcopy", "pickle"],
)
def test_copies(duplicate, data, model, request, same_model):
    X, y = request.getfixturevalue(data)
    model = clone(model).set_params(random_state=0).fit(X, y)
    again = duplicate(model)
    same_model(again, model)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert str(again.verdict_) == str(model.verdict_)
    assert again.trace_["loss"].tolist() == model.trace_["loss"].tolist()
    before = model.coef_.copy()
    again.partial_fit(X, y, resume=True)
    np.testing.assert_array_equal(model.coef_, before)
    same_model(model.partial_fit(X, y, resume=True), again)


def test_joblib(binary, tmp_path, same_model):
    model = LinearClassifier(random_state=0).fit(*binary)
    joblib.dump(model, tmp_path / "model.joblib")
    for mode in (None, "r"):
        again = joblib.load(tmp_path / "model.joblib", mmap_mode=mode)
        same_model(again, model)
        assert again.partial_fit(*binary).verdict_.step == model._fitted.results[0].state.steps + 300


def cubed(z, y):
    return max(0.0, 1.0 - y * z) ** 3


def slope_of_cubed(z, y):
    return -3.0 * y * max(0.0, 1.0 - y * z) ** 2


@pytest.mark.slow
def test_a_loss_of_the_users_own_is_copied(binary, same_model):
    loss = CustomLoss(value=cubed, slope=slope_of_cubed, task="classification", name="cubed")
    model = SGDClassifier(loss, step=0.01, random_state=0).fit(*binary)
    same_model(copy.deepcopy(model).partial_fit(*binary), model.partial_fit(*binary))
    same_model(clone(model).fit(*binary), SGDClassifier(loss, step=0.01, random_state=0).fit(*binary))


@interpreted
@pytest.mark.parametrize("model", fast_first(2, MODELS), ids=range(len(MODELS)))
def test_it_shows_itself(model, binary):
    assert repr(model).startswith(f"{type(model).__name__}(")
    assert type(model).__name__ in model._repr_html_()
    with config_context(print_changed_only=False):
        assert "fit_intercept=" in repr(model)
    clone(model).fit(*binary)._repr_html_()
