"""Arguments and parameters of the four estimators."""

from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from sgdone import LinearClassifier, LinearRegressor, SGDClassifier, SGDRegressor, losses, solvers, steps, stopping
from sgdone.interfaces.method import names
from sgdone.interfaces.stop_rule import StopRule
from sgdone.losses.loss import Loss
from sgdone.solvers.single_model import SingleModel
from sgdone.steps.step_size import StepSize

from ..case_kind import Kind, Note
from ..judging import Refused, answer, argument_error
from ..odd_arrays import N_FEATURES, odd_labels, odd_rows, odd_weights
from ..odd_values import odd_value, shown

_ESTIMATORS = (LinearClassifier, LinearRegressor, SGDClassifier, SGDRegressor)
_ROW_COUNTS = (1, 2, 3, 24, 24, 24, 150)
#: Whatever these mean, a case that asks for it legitimately runs for ever.
_ENDLESS = (float("inf"), 2**31, 2**64, 10**400, 1e308)


def _prepare(folder: Path, few_forms: bool) -> dict[str, Any]:
    """Registered names of what the parameters can be."""
    if few_forms:
        return {"few": True, "solver": ["asgd", "sgd"], "loss": ["logistic", "squared"], "step": [], "stop": [1, 2]}
    return {
        "few": False,
        "solver": [*names(SingleModel, solvers)],
        "loss": [*names(Loss, losses)],
        "step": [*names(StepSize, steps)],
        "stop": [*names(StopRule, stopping), 1, 2.5, stopping.MaxPasses(1), stopping.MaxSamples(30)],
    }


def _run(known: dict[str, Any], random: Random, folder: Path, note: Note) -> None:
    estimator = random.choice(_ESTIMATORS)
    parameters = _parameters(estimator, known, random)
    note(f"{estimator.__name__}({', '.join(f'{name}={shown(value)}' for name, value in parameters.items())})")
    model = estimator(**parameters)
    accepted, refusal = False, None
    for _ in range(random.choice([1, 2, 2, 3])):
        call = random.choice(["fit", "fit", "partial_fit", "partial_fit", "predict"])
        try:
            (_predict if call == "predict" else _learn)(model, call, known, random, note)
            accepted = True
        except Refused as error:
            note(f"  refused: {error}")
            refusal = error
    if not accepted and refusal is not None:
        raise refusal


def _parameters(estimator: Any, known: dict[str, Any], random: Random) -> dict[str, Any]:
    """The defaults with a short fit, and one or two parameters set to anything."""
    defaults = estimator().get_params()
    chosen = {name: random.choice(known[name]) for name in ("solver",) if name in defaults}
    chosen |= {"random_state": 0}
    for name in random.sample(sorted(defaults), random.choice([0, 0, 0, 1, 1, 2])):
        value = random.choice(known[name]) if known.get(name) and random.random() < 0.5 else odd_value(random)
        if name in ("stop", "n_jobs") and any(
            value is each or (type(value) is type(each) and value == each) for each in _ENDLESS
        ):
            continue
        chosen[name] = value
    return chosen


def _learn(model: Any, call: str, known: dict[str, Any], random: Random, note: Note) -> None:
    n_rows = random.choice(_ROW_COUNTS)
    rows, X = odd_rows(random, n_rows, known["few"])
    labels, y = odd_labels(random, n_rows)
    options: dict[str, Any] = {}
    words = [rows, f"y: {labels}"]
    if random.random() < 0.3:
        words.append("sample_weight: {}")
        name, options["sample_weight"] = odd_weights(random, n_rows)
        words[-1] = words[-1].format(name)
    if call == "fit" and random.random() < 0.15:
        options["coef_init"] = random.choice([np.zeros(N_FEATURES), np.full((1, N_FEATURES), 1e300), odd_value(random)])
    if call == "fit" and random.random() < 0.15:
        options["intercept_init"] = random.choice([[0.0], [1e300], [np.nan], odd_value(random)])
    if call == "partial_fit" and hasattr(model, "predict_proba") and random.random() < 0.8:
        options["classes"] = random.choice([[0, 1], [0, 1, 2], ["no", "yes"], [1, 0], [0, 0], [], odd_value(random)])
    shown_options = {name: shown(value) for name, value in options.items() if name != "sample_weight"}
    note(f"{call} {n_rows} rows: {', '.join(words)} {shown_options or ''}")
    answer(lambda: getattr(model, call)(X, y, **options), argument_error)
    X = np.zeros((2, model.n_features_in_))
    answer(lambda: model.predict(X), argument_error)


def _predict(model: Any, call: str, known: dict[str, Any], random: Random, note: Note) -> None:
    rows, X = odd_rows(random, random.choice(_ROW_COUNTS), known["few"])
    ways = [
        way for way in ("predict", "decision_function", "predict_proba", "predict_log_proba") if hasattr(model, way)
    ]
    way = random.choice(ways)
    note(f"{way} {rows}")
    answer(lambda: getattr(model, way)(X), argument_error)


KIND = Kind("calls", 1, _run, _prepare)
