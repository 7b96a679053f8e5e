"""Model files, their bytes or their contents changed; whatever can be loaded must be usable."""

import re
import warnings
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

import sgdone
from sgdone import LinearClassifier, LinearRegressor, SGDClassifier, SGDRegressor, losses, solvers, steps, stopping
from sgdone.interfaces.registry import names
from sgdone.interfaces.stop_rule import StopRule
from sgdone.losses.loss import Loss
from sgdone.model_file import ModelFileError, container, read_header
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
_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")


def _few() -> dict[str, Any]:
    """Models of every kind of state that a file can contain, for few compiled loops."""
    slow = {"solver": "sgd", "step": 0.01, "alpha": 0.01}
    rules = MarginTest(9.0) & MaxSamples(10**6) | Pflug(10**6) & SmallValidationSet(4, 10**6)
    return {
        "default, two classes": (LinearClassifier(random_state=0, class_weight={"yes": 2.0, "no": 1.0}), _TWO),
        "default, three classes": (LinearClassifier(random_state=np.random.RandomState(0)), _THREE),
        "default, numbers": (LinearRegressor(random_state=0, stop=2), _TARGET),
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
        if name != "gain":
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
        for form in ("dense", "csr"):
            path = folder / f"{name}, {form}.safetensors"
            if not path.exists():
                X, model = sparse.csr_array(_X) if form == "csr" else _X, clone(model)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    _fitted(model, X, y)
                sgdone.save(model, path)
            found[f"{name}, {form}"] = (path.read_bytes(), container.read(path), y)
            if few_forms and name in ("asgd", "one against the rest"):
                break
    return found


def _fitted(model: Any, X: Any, y: Any) -> None:
    """A fit; of rules that do not let ``partial_fit`` continue after it, the rows as a part of a stream."""
    if model.get_params()["stop"] == "auto" or not isinstance(model, SGDClassifier) or model._method().needs_all_rows:
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
    X = _X[:, : model.n_features_in_] if model.n_features_in_ <= 3 else np.zeros((len(_X), model.n_features_in_))
    X = X if model.n_features_in_ < 10**5 else sparse.csr_array(X.shape)
    note("predict")
    scores = (model.decision_function if hasattr(model, "decision_function") else model.predict)(X)
    model.predict(X)
    str(model.verdict_), repr(model), len(model.trace_.to_frame())
    note("save and load")
    sgdone.save(model, folder / "again.safetensors")
    again = sgdone.load(folder / "again.safetensors")
    if not np.array_equal(again.coef_, model.coef_) or _shown(again) != _shown(model):
        raise AssertionError("the model saved and loaded again is another one")
    if not np.all(np.isfinite(scores)):
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


def _shown(model: Any) -> str:
    """The parameters, without the addresses of random generators."""
    return re.sub(r" at 0x\w+", "", repr(model.get_params()))


KIND = Kind("models", 10, _prepare, _run)
