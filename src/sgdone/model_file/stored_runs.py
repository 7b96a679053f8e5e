"""States of runs and of stopping rules in a model file, to continue training from."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sgdone.fit.fitted_model import FittedModel
from sgdone.interfaces.objective import Model, Objective
from sgdone.interfaces.stop_rule import NEVER
from sgdone.run import Result, Trace
from sgdone.state_file.codec import Decoder, Encoder

_PARTS = ("state", "objective", "rule_state", "rows_read", "passes_begun")


def encode_results(model: FittedModel, encoder: Encoder) -> list[dict[str, Any]] | None:
    """The runs behind a model, without what its attributes already say."""
    if model.results is None:
        return None
    try:
        results = [replace(result, state=result.state.copy()) for result in model.results]
        check_results(model, results)
    except ValueError as error:
        raise ValueError(
            f"this model cannot be stored ({error}). If its parameters were changed after the fit, set the parameters "
            "back, or fit it again"
        ) from error
    return [
        {
            "state": encoder.encode(result.state, f"results.{k}.state"),
            "objective": encoder.encode(result.objective, f"results.{k}.objective"),
            "rule_state": {"known": encoder.encode(result.rule_state, f"results.{k}.rule_state")}
            if _has_same_rule(model)
            else None,
            "rows_read": int(result.rows_read),
            "passes_begun": int(result.passes_begun),
        }
        for k, result in enumerate(results)
    ]


def decode_results(model: FittedModel, codes: list[dict[str, Any]], decoder: Decoder) -> list[Result]:
    """The runs, with the weights, traces and verdicts that the model's attributes hold."""
    keys = list(model.verdict_.per_class) or [None]
    verdicts = model.verdict_.per_class or {None: model.verdict_}
    coef = np.atleast_2d(model.coef_)
    if len(codes) != len(keys) or len(coef) % len(codes):
        raise ValueError(f"{len(codes)} runs, {len(keys)} verdicts and {len(coef)} rows of coefficients do not agree")
    outputs = len(coef) // len(codes)
    results = []
    for k, (key, code) in enumerate(zip(keys, codes, strict=True)):
        if sorted(code) != sorted(_PARTS):
            raise ValueError(f"a run has the parts {', '.join(code)}")
        rows = [replace(row, label=None) for row in model.trace_ if row.label == key]
        own = slice(k * outputs, (k + 1) * outputs)
        rule_state = code["rule_state"]
        results.append(
            Result(
                model=Model(coef[own], model.intercept_.reshape(-1)[own]),
                trace=Trace(rows, verdicts[key], model.trace_.task),
                verdict=verdicts[key],
                objective=decoder.decode(code["objective"]),
                state=decoder.decode(code["state"]),
                rule_state=None if rule_state is None else decoder.decode(rule_state["known"]),
                rows_read=_count(code["rows_read"]),
                passes_begun=_count(code["passes_begun"]),
            )
        )
        if rule_state is None:
            model.last_stop = None  # by none of its rules, so that the present one starts again
    check_results(model, results)
    return results


def check_results(model: FittedModel, results: Sequence[Result]) -> None:
    """Raise a ValueError for runs with which ``partial_fit`` could not continue."""
    options, n_features = model.options, model.n_features
    method, rule, loss = options.method, options.stop, options.loss
    for result in results:
        objective, state = result.objective, result.state
        if not isinstance(objective, Objective) or objective.task != options.task:
            raise ValueError(f"a run has the objective {objective!r}")
        if objective.n_outputs != len(result.model.coef) or type(objective.loss) is not type(loss):
            raise ValueError(f"a run has the objective {objective!r}, with {len(result.model.coef)} outputs")
        method.check_state(state, objective, n_features)
        # The method may have found a penalty or the scale of a loss; all else is the same.
        if replace(state.objective, alpha=None, loss=loss) != replace(objective, alpha=None, loss=loss):
            raise ValueError(f"a run has the objectives {objective!r} and {state.objective!r}")
        if type(state.objective.loss) is not type(loss) or method.solution(state).coef.dtype != model.coef_.dtype:
            raise ValueError("the state of a run is one of another loss, or of numbers of another type")
        if _has_same_rule(model) and result.rule_state is not None:
            rule.check(result.rule_state, n_features)


def _has_same_rule(model: FittedModel) -> bool:
    """Whether the rule was not exchanged since the last call: another one starts again."""
    return bool(model.last_stop == model.options.parameters["stop"])


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < NEVER:
        raise ValueError(f"a run has read {value!r} rows or passes")
    return value
