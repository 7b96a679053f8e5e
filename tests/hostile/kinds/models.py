"""Model files, their bytes or their contents changed; whatever can be loaded must be usable."""

import datetime
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse
from sklearn.base import clone

import model_container as container
import sgdone
from sgdone import LinearClassifier, LinearRegressor, SGDClassifier, SGDRegressor, losses, solvers, steps, stopping
from sgdone.interfaces.method import names
from sgdone.interfaces.stop_rule import StopRule
from sgdone.losses.loss import Loss
from sgdone.model_file import ModelFileError, read_header
from sgdone.solvers.single_model import SingleModel
from sgdone.steps.step_size import StepSize
from sgdone.stopping import MarginTest, MaxPasses, MaxSamples, Pflug, SmallValidationSet

from .. import byte_changes, model_parts
from ..case_kind import Kind, Note
from ..judging import Refused, answer, argument_error, only
from ..special_files import special_file

_X = np.random.default_rng(0).standard_normal((40, 3))
_TWO = np.where(_X @ [1.0, -2.0, 0.5] > 0, "yes", "no")
_THREE = np.digitize(_X[:, 0], [-0.5, 0.5])
_TARGET = _X @ [1.0, -2.0, 0.5]
_WORDS = np.array(["free", "prize", "call", "lunch", "é"])
_DAYS = datetime.datetime(2020, 2, 28)
#: The same rows with columns of every kind.
_TABLE = pa.table(
    {
        "x": _X[:, 0],
        "gaps": [None if k % 5 == 0 else value for k, value in enumerate(_X[:, 1])],
        "flag": _X[:, 2] > 0,
        "level": ["ab"[k % 2] if k % 7 else None for k in range(40)],
        "other": [f"level {k % 9}" for k in range(40)],
        "when": [_DAYS + datetime.timedelta(hours=37 * k) for k in range(40)],
        "note": [" ".join(_WORDS[[k % 5, k % 3, k % 4]]) + f" n{k}" for k in range(40)],
    }
)
#: Coefficients with which the rows of the cases have finite scores.
_LARGE = 1e300
_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")


def _few() -> dict[str, Any]:
    """Models of every kind of state that a file can contain, for few compiled loops."""
    slow = {"solver": "sgd", "step": 0.01, "alpha": 0.01}
    rules = MarginTest(9.0) & MaxSamples(10**6) | Pflug(10**6) & SmallValidationSet(4, 10**6)
    return {
        "default, two classes": (LinearClassifier(random_state=0, class_weight={"yes": 2.0, "no": 1.0}), _TWO),
        "default, three classes": (LinearClassifier(random_state=np.random.RandomState(0)), _THREE),
        "default, numbers": (LinearRegressor(random_state=0, stop=2), _TARGET),
        "table, two classes": (LinearClassifier(random_state=0, columns={"flag": "category"}), _TWO),
        "table, three classes": (LinearClassifier(random_state=0), _THREE),
        "table, numbers": (LinearRegressor(random_state=0), _TARGET),
        "asgd": (SGDClassifier(random_state=np.random.RandomState(np.random.PCG64(0)), monitors=["margins"]), _TWO),
        "rules": (SGDClassifier(stop=rules.then(2), shuffle=False, **slow), _TWO),
        "one against the rest": (
            SGDClassifier(solver="sgd", stop=MaxPasses(2) | MarginTest(9.0), random_state=0),
            _THREE,
        ),
    }


def _all() -> dict[str, Any]:
    """The same with every method, loss, step, rule and random generator."""
    found = _few()
    for name, method in names(SingleModel, solvers).items():
        stop = 2 if method().takes_stop else "auto"
        found[f"solver {name}"] = (
            SGDClassifier(_loss_for(name), solver=name, alpha=0.1, stop=stop, random_state=0),
            _TWO,
        )
    for name, kind in names(Loss, losses).items():
        estimator, y = (SGDRegressor, _TARGET) if kind.task == "regression" else (SGDClassifier, _TWO)
        found[f"loss {name}"] = (estimator(name, solver="sgd", step=1e-3, stop=1, random_state=0), y)
    for name in names(StepSize, steps):
        loss = "margin_pursuit" if name == "pursuit" else "logistic"  # its steps need the scale of that loss
        found[f"step {name}"] = (SGDClassifier(loss, step=name, solver="sgd", stop=1, random_state=0), _TWO)
    for name in names(StopRule, stopping):
        if name == "decrement":  # only Newton's method has one
            found[f"rule {name}"] = (SGDClassifier(stop=name, solver="newton", alpha=0.1), _TWO)
        elif name != "gain":
            found[f"rule {name}"] = (SGDClassifier(stop=name, solver="sgd", step=0.01, random_state=0), _TWO)
    for name in _GENERATORS:
        generator = np.random.RandomState(getattr(np.random, name)(0))
        found[f"generator {name}"] = (SGDRegressor(random_state=generator, solver="sgd", stop=1), _TARGET)
    found["halving"] = (SGDClassifier(solver=solvers.Halving(detector=Pflug(5)), step=0.1, stop=2), _TWO)
    found["centred"] = (SGDClassifier(stop=MarginTest(9.0) | MaxPasses(1), center=True, solver="sgd", step=0.01), _TWO)
    found["l1"] = (SGDClassifier(penalty="l1", alpha=0.01, solver="sgd", stop=1), _TWO)
    return found


def _loss_for(solver: str) -> str:
    """A loss that the method can minimise."""
    made = names(SingleModel, solvers)[solver]()
    return "logistic" if made.losses is None or losses.Logistic in made.losses else made.losses[0].name


def _prepare(folder: Path, few_forms: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, (model, y) in (_few() if few_forms else _all()).items():
        for form in ("raw", "plain") if name.startswith("table") else ("dense", "csr"):
            path = folder / f"{name}, {form}.safetensors"
            if not path.exists():
                X, model = _FORMS[form](), clone(model)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    _fitted(model, X, y)
                sgdone.save(model, path)
            found[f"{name}, {form}"] = (path.read_bytes(), container.read(path), y)
            if few_forms and name in ("asgd", "one against the rest"):
                break
    return found


_FORMS: dict[str, Callable[[], Any]] = {
    "dense": lambda: _X,
    "csr": lambda: sparse.csr_array(_X),
    "raw": lambda: _TABLE,
    "plain": lambda: _TABLE.select(["x", "flag"]),
}


def _rows_for(model: Any) -> Any:
    """Rows with the columns that the model needs; those that no model of these cases has are numbers."""
    if hasattr(model, "encoder_"):
        known = set(_TABLE.column_names)
        names = model.feature_names_in_.tolist()
        return pa.table({name: _TABLE.column(name if name in known else "x") for name in names})
    X = _X[:, : model.n_features_in_] if model.n_features_in_ <= 3 else np.zeros((len(_X), model.n_features_in_))
    return X if model.n_features_in_ < 10**5 else sparse.csr_array(X.shape)


def _fitted(model: Any, X: Any, y: Any) -> None:
    """A fit; of rules that do not let ``partial_fit`` continue after it, the rows as a part of a stream."""
    if (
        model.get_params()["stop"] == "auto"
        or not isinstance(model, SGDClassifier)
        or model._options().method.needs.all_rows
    ):
        model.fit(X, y)
    else:
        model.partial_fit(X, y, classes=np.unique(y))


def _run(models: dict[str, Any], random: Random, folder: Path, note: Note) -> None:
    path = folder / "changed.safetensors"
    name = random.choice(list(models))
    data, parts, y = models[name]
    raw = random.random() < 0.5
    if random.random() < 0.01:
        path = special_file(random, folder)
        note(f"special file {path}")
    elif raw:
        note(f"{name}: bytes changed")
        path.write_bytes(byte_changes.changed(data, random))
    else:
        what, made = model_parts.changed(parts, [other for _, other, _ in models.values()], random)
        note(f"{name}: {what}")
        path.write_bytes(model_parts.file_of(made, random))
    if random.random() < 0.1:
        answer(lambda: read_header(path), only(ModelFileError, path))
    model = answer(lambda: sgdone.load(path), only(ModelFileError, path))
    note("loaded")
    _use(model, y, folder, note)


def _use(model: Any, y: Any, folder: Path, note: Note) -> None:
    """Predict, save and load again, and continue: another model than the one stored, but a model."""
    X = _rows_for(model)
    note("predict")
    # A changed encoder may refuse the columns, as those of another kind.
    scores = answer(
        lambda: (model.decision_function if hasattr(model, "decision_function") else model.predict)(X), argument_error
    )
    model.predict(X)
    str(model.verdict_), repr(model), len(model.trace_.to_frame())
    note("save and load")
    sgdone.save(model, folder / "again.safetensors")
    again = sgdone.load(folder / "again.safetensors")
    if not np.array_equal(again.coef_, model.coef_) or _shown(again) != _shown(model):
        raise AssertionError("the model saved and loaded again is another one")
    # Coefficients near the largest float are allowed, and give infinite scores; nothing else does.
    if not np.all(np.isfinite(scores)) and np.abs(model.coef_).max() < _LARGE and not _fills_with_large(model):
        raise AssertionError("scores of finite rows are not finite")
    note("partial_fit")
    labels = np.resize(model.classes_, len(y)) if hasattr(model, "classes_") else y
    try:
        answer(lambda: model.partial_fit(X, labels), argument_error)
    except Refused as error:
        note(f"  refused: {error}")
        return
    model.predict(X)
    note("save and load what was continued")
    sgdone.save(model, folder / "again.safetensors")
    sgdone.load(folder / "again.safetensors")


def _fills_with_large(model: Any) -> bool:
    """Whether gaps are filled with numbers that are too large for finite scores."""
    if not hasattr(model, "encoder_"):
        return False
    means = model.encoder_.state().arrays.get("mean", np.zeros(1))
    return bool(np.abs(means).max(initial=0.0) * max(1.0, np.abs(model.coef_).max()) >= _LARGE)


def _shown(model: Any) -> str:
    """The parameters, without the addresses of random generators."""
    return re.sub(r" at 0x\w+", "", repr(model.get_params()))


KIND = Kind("models", 10, _run, _prepare)
