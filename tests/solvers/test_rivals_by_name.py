"""Pegasos, online L-BFGS and LIBLINEAR by their short names: optimum, classes, kinds of data, files that lie."""

import copy

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import model_container as container
from sgdone import SGDClassifier, load, losses, save
from sgdone.model_file import ModelFileError
from sgdone.solvers import OLBFGS, Liblinear, Pegasos
from tiers import grid

pytestmark = [pytest.mark.slow, grid]

ALL = pytest.mark.parametrize("name", ["pegasos", "olbfgs", "liblinear"])
STREAMING = pytest.mark.parametrize("name", ["pegasos", "olbfgs"])
ALPHA = 0.01


def budget(name, passes):
    """A number of passes, but for LIBLINEAR, which ends by itself."""
    return "auto" if name == "liblinear" else passes


# --- The optimum --------------------------------------------------------------------------------------------------


def breast_cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), np.where(y > 0, 1.0, -1.0)


def dense_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 20))
    return X, np.where(X @ rng.standard_normal(20) + 2 * rng.standard_normal(2000) > 0, 1.0, -1.0)


#: With an intercept where scikit-learn does not penalise it.
EXACT = {
    "logistic": (True, lambda n: LogisticRegression(C=1 / (ALPHA * n), tol=1e-10, max_iter=1000)),
    "squared_hinge": (False, lambda n: LinearSVC(C=0.5 / (ALPHA * n), tol=1e-10, dual=False, fit_intercept=False)),
    "hinge": (
        False,
        lambda n: LinearSVC(loss="hinge", C=1 / (ALPHA * n), tol=1e-8, max_iter=10**6, fit_intercept=False),
    ),
}


def gap(rows, loss, solver, passes):
    """How far the training objective is from its minimum, relative to it."""
    X, y = rows()
    intercept, make_exact = EXACT[loss]
    exact = make_exact(len(y)).fit(X, y)
    options = {
        "solver": solver,
        "alpha": ALPHA,
        "stop": budget(solver, passes),
        "fit_intercept": intercept,
        "random_state": 1,
    }
    model = SGDClassifier(loss, **options).fit(X, y)
    value = {"logistic": losses.Logistic(), "squared_hinge": losses.SquaredHinge(), "hinge": losses.Hinge()}[loss].value

    def objective(of):
        w, b = of.coef_[0], float(np.ravel(of.intercept_)[0]) if intercept else 0.0
        return np.mean(value(X @ w + b, y)) + 0.5 * ALPHA * w @ w

    return objective(model) / objective(exact) - 1


@pytest.mark.parametrize(
    ("rows", "loss", "name", "passes", "most"),
    [
        (breast_cancer, "logistic", "pegasos", 100, 1e-4),
        (breast_cancer, "logistic", "olbfgs", 100, 1e-3),
        (breast_cancer, "squared_hinge", "pegasos", 300, 1e-3),
        (breast_cancer, "hinge", "pegasos", 1000, 1e-3),
        # Where few rows of a minibatch are inside the margin, the curvature is mostly damping.
        (breast_cancer, "squared_hinge", "olbfgs", 300, 5e-3),
        (breast_cancer, "hinge", "olbfgs", 300, 2e-2),
        *((dense_rows, loss, name, 100, 1e-3) for loss in EXACT for name in ("pegasos", "olbfgs")),
        *((rows, loss, "liblinear", 1, 1e-6) for rows in (breast_cancer, dense_rows) for loss in EXACT),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_it_reaches_the_optimum(rows, loss, name, passes, most):
    assert -1e-6 < gap(rows, loss, name, passes) < most


# --- Classes and kinds of data ------------------------------------------------------------------------------------


@pytest.fixture
def flowers(rng):
    X = rng.standard_normal((300, 4)) * (rng.random((300, 4)) < 0.8)
    X[7] = 0.0
    return X, np.array(["a lily", "a rose", "an iris"])[np.digitize(X[:, 0] + X[:, 1], [-0.7, 0.7])]


# --- Files --------------------------------------------------------------------------------------------------------

SOLVERS = {"pegasos": Pegasos(7), "olbfgs": OLBFGS(7, memory=4)}


LIES = {
    "pegasos": {
        "kept": np.zeros(1),
        "waiting.labels": np.zeros(7),
        "waiting.weights": np.zeros(1),
        "waiting.arrays.0": np.zeros((2, 3)),
    },
    "olbfgs": {
        "steps": np.zeros((4, 4)),
        "changes": np.zeros((3, 5)),
        "curvatures": np.zeros((4, 1)),
        "ring": np.array([4, 0]),
        "waiting.labels": np.zeros(3),
    },
}


def stored(name, form, flowers, path):
    X, y = form(flowers[0]), flowers[1] == "a rose"
    model = SGDClassifier("logistic", solver=SOLVERS[name], alpha=0.1, shuffle=False)
    save(model.partial_fit(X[:100], y[:100], classes=[False, True]), path)
    return container.read(path)


@pytest.mark.parametrize(("name", "place"), [(name, place) for name, lies in LIES.items() for place in lies])
def test_arrays_of_other_shapes_are_refused(name, place, flowers, tmp_path):
    content, tensors = stored(name, np.asarray, flowers, tmp_path / "m")
    key = f"results.0.state.extra.{place}"
    assert key in tensors
    tensors[key] = LIES[name][place]
    container.write(tmp_path / "m", content, tensors)
    with pytest.raises(ModelFileError, match="holds no model"):
        load(tmp_path / "m")


@STREAMING
def test_sparse_rows_that_wait_must_be_sound(name, flowers, tmp_path):
    content, tensors = stored(name, sparse.csr_array, flowers, tmp_path / "m")
    data, indices, indptr = (f"results.0.state.extra.waiting.arrays.{k}" for k in range(3))
    assert tensors[indptr].size == 100 % 7 + 1
    for key, lie in (
        (indices, np.full_like(tensors[indices], 4)),
        (indptr, np.full_like(tensors[indptr], 1)),
        (indptr, tensors[indptr] + 5),
        (data, tensors[data][:-1]),
        (data, tensors[data].astype(np.float32)),
    ):
        wrong = copy.copy(tensors) | {key: lie}
        container.write(tmp_path / "m", content, wrong)
        with pytest.raises(ModelFileError, match="holds no model"):
            load(tmp_path / "m")


@ALL
def test_a_memory_of_another_method_is_refused(name, flowers, tmp_path):
    solver = SOLVERS.get(name, Liblinear())
    model = SGDClassifier("logistic", solver=solver, alpha=0.1).fit(flowers[0], flowers[1] == "a rose")
    save(model, tmp_path / "m")
    content, tensors = container.read(tmp_path / "m")
    content["results"][0]["state"]["fields"]["extra"] = None
    container.write(tmp_path / "m", content, tensors)
    with pytest.raises(ModelFileError, match=r"the state of .* is a NoneType"):
        load(tmp_path / "m")
