"""Data frames of every kind in front of the estimators that encode them, and what they have learnt in files."""

from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import sgdone
from sgdone import LinearClassifier, LinearRegressor, SGDClassifier

from ..case_kind import Kind, Note
from ..judging import Refused, answer, argument_error
from ..odd_frames import odd_frame, same_rows
from ..odd_values import odd_value, shown

_ESTIMATORS = (LinearClassifier, LinearRegressor, LinearClassifier, LinearRegressor, SGDClassifier)
_ROW_COUNTS = (1, 2, 3, 24, 24, 24, 150)
_CHOICES = ("number", "category", "text", "date", "drop")


def _run(_: None, random: Random, folder: Path, note: Note) -> None:
    estimator = random.choice(_ESTIMATORS)
    words, kinds, frame = odd_frame(random, random.choice(_ROW_COUNTS))
    options = {} if estimator is SGDClassifier else _options(kinds, random)
    note(f"{estimator.__name__}({', '.join(f'{name}={shown(value)}' for name, value in options.items())})")
    model = estimator(random_state=0, **options)
    call = random.choice(["fit", "fit", "partial_fit"])
    note(f"{call} {words}")
    _learn(model, call, frame, random)
    first = frame
    accepted, refusal = False, None
    for _ in range(random.choice([1, 2, 3])):
        call = random.choice(["partial_fit", "predict", "predict", "summary", "save", "same rows", "same rows"])
        if call == "same rows":
            words, frame = same_rows(first, random)
            note(f"{call}: {words}")
            accepted |= _same(model, first, frame, note)
            continue
        words, _kinds, frame = odd_frame(random, random.choice(_ROW_COUNTS), kinds)
        note(f"{call} {words}")
        try:
            if call == "partial_fit":
                _learn(model, call, frame, random)
            else:
                {"predict": _predict, "summary": _summary, "save": _save}[call](model, frame, random, folder)
            accepted = True
        except Refused as error:
            note(f"  refused: {error}")
            refusal = error
    if refusal is not None and not accepted:
        raise refusal


def _options(kinds: dict[str, str], random: Random) -> dict[str, Any]:
    """Kinds that the user states, or anything else."""
    if random.random() < 0.7:
        return {}
    if random.random() < 0.2:
        return {"columns": odd_value(random)}
    return {"columns": {name: random.choice(_CHOICES) for name in kinds if random.random() < 0.5}}


def _labels(model: Any, n_rows: int, random: Random) -> Any:
    if not hasattr(model, "predict_proba"):
        return np.array([random.gauss(0, 1) for _ in range(n_rows)])
    return np.array([random.randrange(2) for _ in range(n_rows)])


def _learn(model: Any, call: str, frame: Any, random: Random) -> None:
    options = {"classes": [0, 1]} if call == "partial_fit" and hasattr(model, "predict_proba") else {}
    n_rows = frame.shape[0]
    y = _labels(model, n_rows, random)
    if random.random() < 0.2:
        options["sample_weight"] = [random.choice([0.0, 1.0, 2.0]) for _ in range(n_rows)]
    answer(lambda: getattr(model, call)(frame, y, **options), argument_error)
    if not np.all(np.isfinite(model.coef_)):
        raise AssertionError("coefficients are not finite")
    if len(model.get_feature_names_out()) != model.coef_.shape[-1]:
        raise AssertionError("there are not as many names as coefficients")
    _predict(model, frame, random)


def _predict(model: Any, frame: Any, random: Random, *_: Any) -> None:
    way = "decision_function" if hasattr(model, "decision_function") else "predict"
    scores = answer(lambda: getattr(model, way)(frame), argument_error)
    if len(scores) != frame.shape[0]:
        raise AssertionError("there are not as many predictions as rows")


def _summary(model: Any, frame: Any, random: Random, *_: Any) -> None:
    y = _labels(model, frame.shape[0], random)
    str(answer(lambda: model.summary(frame, y), argument_error))


def _save(model: Any, frame: Any, random: Random, folder: Path) -> None:
    """Save and load: the loaded model predicts the same numbers, or refuses the rows with the same words."""
    path = folder / "frames.safetensors"
    sgdone.save(model, path, words=random.random() < 0.5)
    loaded = sgdone.load(path)
    way = "decision_function" if hasattr(model, "decision_function") else "predict"
    if _outcome(loaded, way, frame) != _outcome(model, way, frame):
        raise AssertionError("the loaded model predicts something else")


def _same(model: Any, frame: Any, again: Any, note: Note) -> bool:
    """Whether the rows in another form were accepted; their predictions are the same then."""
    way = "decision_function" if hasattr(model, "decision_function") else "predict"
    expected = answer(lambda: getattr(model, way)(frame), argument_error)
    try:
        found = answer(lambda: getattr(model, way)(again), argument_error)
    except Refused as error:
        note(f"  refused: {error}")
        return False
    if not np.allclose(found, expected, rtol=1e-12, atol=1e-12, equal_nan=True):
        raise AssertionError("the same rows have other predictions")
    return True


def _outcome(model: Any, way: str, frame: Any) -> Any:
    try:
        return answer(lambda: getattr(model, way)(frame), argument_error).tobytes()
    except Refused as error:
        return str(error)


KIND = Kind("frames", 2, _run)
