import copy

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline

import sgdone
from full_disk import files_of_at_most
from sgdone import LinearClassifier, LinearRegressor, SGDClassifier, SGDRegressor, losses, solvers, steps, stopping
from sgdone.model_file import read_header
from sgdone.model_file.model_checks import ATTRIBUTES
from sgdone.run.result import Trace
from tiers import fast_first, interpreted

LABELS = {
    "int": np.array([3, 1, 2]),
    "int8": np.array([3, 1, 2], dtype=np.int8),
    "big-endian": np.array([3, 1, 2], dtype=">i4"),
    "float": np.array([0.0, 1.0, -4.0]),
    "half": np.array([0.0, 1.0, -4.0], dtype=np.float16),
    "bool": np.array([True, False]),
    "text": np.array(["b", "äö\U0001f600", ""]),
    "wide text": np.array(["b", "a"], dtype=">U9"),
    "objects": np.array(["b", "a", "\x00c"], dtype=object),
}


def same(one, other):
    """Equal to the last bit, in type too."""
    assert type(one) is type(other)
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        assert one.tolist() == other.tolist() if one.dtype.hasobject else one.tobytes() == other.tobytes()
    elif isinstance(one, Trace):
        assert repr(list(one)) == repr(list(other))
        assert (one.verdict, one.task) == (other.verdict, other.task)
    else:
        assert repr(one) == repr(other)


def all_same(model, loaded):
    assert type(model) is type(loaded)
    assert repr(model.get_params()) == repr(loaded.get_params())
    for name in ATTRIBUTES:
        assert hasattr(model, name) == hasattr(loaded, name)
        if hasattr(model, name):
            same(getattr(model, name), getattr(loaded, name))


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("dtype", fast_first(1, [np.float64, np.float32]))
def test_labels_of_any_kind(kind, dtype, rng, stored):
    y = np.tile(LABELS[kind], 12)
    X = rng.standard_normal((y.size, 3)).astype(dtype)
    model = LinearClassifier(random_state=0, stop=2).fit(X, y)
    loaded = stored(model)
    all_same(model, loaded)
    assert loaded.coef_.dtype == dtype
    same(model.predict(X), loaded.predict(X))
    same(model.predict_proba(X), loaded.predict_proba(X))


@pytest.mark.parametrize("dtype", fast_first(1, [np.float64, np.float32]))
def test_a_regression(dtype, rng, stored):
    X = rng.standard_normal((50, 3)).astype(dtype)
    model = LinearRegressor("huber", random_state=np.int64(3)).fit(sparse.csr_array(X), X[:, 0])
    loaded = stored(model)
    all_same(model, loaded)
    same(model.predict(X), loaded.predict(X))
    assert loaded.trace_.task == "regression"


def test_names_of_features(rows, stored):
    pandas = pytest.importorskip("pandas")
    X, y = rows
    frame = pandas.DataFrame(X, columns=["α", "b c", "", "d"])
    loaded = stored(LinearClassifier(random_state=0).fit(frame, y))
    assert loaded.feature_names_in_.tolist() == ["α", "b c", "", "d"]
    assert loaded.feature_names_in_.dtype == object
    loaded.predict(frame)
    with pytest.raises(ValueError, match="feature names should match"):
        loaded.predict(frame[["b c", "α", "", "d"]])


PARAMETERS = {
    "objects": {
        "loss": losses.Logistic(),
        "solver": solvers.Averaged(solvers.ISGD(), after=10),
        "step": steps.Xu(gamma0=0.1, a=0.0),
        "stop": (stopping.MaxPasses(3) | stopping.MaxSamples(40)) & stopping.ProgressiveLoss(tol=0.5),
    },
    "seconds": {"stop": stopping.MaxSeconds(1e3) | stopping.MaxPasses(float("inf")) | stopping.MaxPasses(2)},
    "NumPy's numbers": {"alpha": np.float32(0.1), "step": np.float64(0.1), "stop": np.int16(2)},
    "weights": {"class_weight": {"no": 1, np.str_("yes"): np.float64(2.5)}, "average": 7},
    "names": {"loss": "squared-hinge", "solver": "aisgd", "step": "inverse_sqrt", "stop": "progressive"},
    "switches": {"fit_intercept": False, "shuffle": False, "warm_start": True, "n_jobs": -1, "alpha": 0},
    "the global generator": {"random_state": None},
}


@interpreted
@pytest.mark.parametrize("parameters", PARAMETERS.values(), ids=PARAMETERS)
def test_parameters(parameters, rows, stored):
    X, y = rows
    model = SGDClassifier(**{"random_state": 0, **parameters}).fit(X, y)
    loaded = stored(model)
    all_same(model, loaded)
    for name, value in model.get_params().items():
        assert type(getattr(loaded, name)) is type(value)
    same(model.decision_function(X), loaded.decision_function(X))
    if model.random_state is not None:
        same(model.fit(X, y).coef_, loaded.fit(X, y).coef_)


@pytest.mark.parametrize("make", [np.random.MT19937, np.random.PCG64, np.random.Philox, np.random.SFC64])
def test_a_random_generator_goes_on_where_it_was(make, rows, stored):
    X, y = rows
    model = SGDClassifier(random_state=np.random.RandomState(make(5)), solver="sgd").fit(X, y)
    loaded = stored(model)
    same(model.fit(X, y).coef_, loaded.fit(X, y).coef_)
    assert model.random_state.normal() == loaded.random_state.normal()


def test_numpys_own_generator_stays_that(rows, stored):
    assert stored(LinearClassifier(random_state=np.random).fit(*rows)).random_state is None


def test_a_diverged_fit(rng, stored):
    X = rng.standard_normal((50, 3)) * 1e100
    with pytest.warns(ConvergenceWarning):
        model = SGDRegressor(step=1e60, random_state=0).fit(X, X[:, 0])
    all_same(model, stored(model))


def test_every_fitted_attribute_is_known(rows):
    pandas = pytest.importorskip("pandas")
    model = LinearClassifier().fit(pandas.DataFrame(rows[0]).rename(columns=str), rows[1])
    fitted = {name for name in dir(model) if name.endswith("_") and not name.startswith("_") and hasattr(model, name)}
    assert fitted <= {*ATTRIBUTES, "encoder_"}, "tell sgdone.model_file.model.ATTRIBUTES of it"


def test_the_model_saved_is_left_alone(rows, stored):
    model = LinearClassifier(random_state=0).fit(*rows)
    before = copy.deepcopy(model)
    loaded = stored(model)
    loaded.coef_[:] = 0.0
    all_same(before, model)


def test_notes_and_header(rows, tmp_path):
    model = LinearClassifier().fit(*rows)
    sgdone.save(model, tmp_path / "m", extra={"label": "größe"})
    header = read_header(tmp_path / "m")
    assert header["extra"] == {"label": "größe"}
    assert header["estimator"] == "LinearClassifier"
    assert header["sgdone"] == sgdone.__version__
    assert header["created"].endswith("+00:00")
    with pytest.raises(TypeError, match="give a dict of texts"):
        sgdone.save(model, tmp_path / "m", extra={"label": 1})


def test_a_file_anyone_can_open(rows, tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    model = LinearClassifier().fit(*rows)
    sgdone.save(model, tmp_path / "m")
    same(safetensors.load_file(tmp_path / "m")["coef_"], model.coef_)


def test_what_cannot_be_saved(rows, tmp_path):
    model = LinearClassifier()
    with pytest.raises(NotFittedError, match="this LinearClassifier is not fitted: call fit before saving it"):
        sgdone.save(model, tmp_path / "m")
    model.fit(*rows)
    with pytest.raises(TypeError, match=r"not a Pipeline: of a pipeline, save the last step"):
        sgdone.save(make_pipeline(model), tmp_path / "m")

    class Mine(LinearClassifier):
        pass

    with pytest.raises(TypeError, match="not a Mine"):
        sgdone.save(Mine().fit(*rows), tmp_path / "m")
    model = SGDClassifier(step=0.1).fit(*rows).set_params(step=len)
    with pytest.raises(TypeError, match=r"step=<built-in function len> is not of sgdone.*set_params\(step="):
        sgdone.save(model, tmp_path / "m")
    model.set_params(step="auto").coef_ = np.zeros((1, 3))
    with pytest.raises(ValueError, match=r"coef_ is no array of floats of shape \(1, 4\)"):
        sgdone.save(model, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_half_written(rows, tmp_path):
    model = LinearClassifier().fit(*rows)
    path = tmp_path / "m"
    sgdone.save(model, path)
    before = path.read_bytes()
    with pytest.raises(OSError, match=r"File too large.*m'"), files_of_at_most(len(before) // 2):
        sgdone.save(model, path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.slow
def test_a_fit_that_ends_between_two_comparisons_of_its_candidates(tmp_path):
    """The last comparison dropped candidates that the sums of progressive losses still had."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60_000, 30))
    y = (X @ rng.standard_normal((30, 7)) + rng.gumbel(size=(60_000, 7))).argmax(axis=1)
    model = LinearClassifier(random_state=0, stop=stopping.MaxSamples(14_500)).fit(X, y)
    sgdone.save(model, tmp_path / "m")
    assert np.array_equal(sgdone.load(tmp_path / "m").coef_, model.coef_)
