"""What it takes to continue training: states of runs and of stopping rules."""

from dataclasses import replace
from typing import Any

from sgdone.estimators.linear_model import LinearModel
from sgdone.interfaces.objective import Objective
from sgdone.interfaces.progress import Model
from sgdone.model_file.codec import Decoder, Encoder, NotStorable
from sgdone.run import Result, Trace


def encode_results(model: LinearModel, encoder: Encoder) -> list[dict[str, Any]] | None:
    """The runs behind a model, without what its attributes already say."""
    if not hasattr(model, "_results"):
        return None
    return [
        {
            "state": encoder.encode(result.state, f"results.{k}.state"),
            "objective": encoder.encode(result.objective, f"results.{k}.objective"),
            "rule_state": _encode_rule_state(result.rule_state, encoder, f"results.{k}.rule_state"),
            "rows_read": int(result.rows_read),
            "passes_begun": int(result.passes_begun),
        }
        for k, result in enumerate(model._results)
    ]


def decode_results(model: LinearModel, codes: list[dict[str, Any]], decoder: Decoder) -> list[Result]:
    """The runs, with the weights, traces and verdicts that the model's attributes hold."""
    keys = list(model.verdict_.per_class) or [None]
    verdicts = model.verdict_.per_class or {None: model.verdict_}
    coef = model.coef_.reshape(-1, model.n_features_in_)
    if len(codes) != len(keys) or len(coef) % len(codes) or len(coef) != model.intercept_.size:
        raise ValueError(f"{len(codes)} runs, {len(keys)} verdicts and {len(coef)} rows of coefficients do not agree")
    outputs = len(coef) // len(codes)
    method = model._method()
    results = []
    for k, (key, code) in enumerate(zip(keys, codes, strict=True)):
        state, objective = decoder.decode(code["state"]), decoder.decode(code["objective"])
        if not isinstance(objective, Objective) or objective.task != model._task or objective.n_outputs != outputs:
            raise ValueError(f"a run has the objective {objective!r}")
        method.check_state(state, objective, model.n_features_in_)
        rows = [replace(row, label=None) for row in model.trace_ if row.label == key]
        own = slice(k * outputs, (k + 1) * outputs)
        results.append(
            Result(
                model=Model(coef[own], model.intercept_.reshape(-1)[own]),
                trace=Trace(rows, verdicts[key], model.trace_.task),
                verdict=verdicts[key],
                objective=objective,
                state=state,
                rule_state=_decode_rule_state(model, code["rule_state"], decoder),
                rows_read=int(code["rows_read"]),
                passes_begun=int(code["passes_begun"]),
            )
        )
    return results


def _encode_rule_state(state: Any, encoder: Encoder, place: str) -> Any:
    """The state, or None if it cannot be stored: the rule then starts again."""
    try:
        return {"known": encoder.encode(state, place)}
    except (NotStorable, TypeError, ValueError):
        return None


def _decode_rule_state(model: LinearModel, code: Any, decoder: Decoder) -> Any:
    if code is None:
        return None
    state = decoder.decode(code["known"])
    if state is None:
        return None
    try:
        model._rule().check(state, model.n_features_in_)
    except (AttributeError, IndexError, TypeError) as error:
        raise ValueError(f"the state of stop={model.stop!r} is not of its kind: {error}") from None
    return state
