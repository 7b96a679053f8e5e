"""What it takes to go on training: states of runs, and what the stopping rules remember."""

from dataclasses import replace
from typing import Any

import numpy as np

from sgdone.auto import AutoResult
from sgdone.auto.checks import check_learner
from sgdone.estimators.base import LinearModel
from sgdone.estimators.specs import as_rule, as_solver
from sgdone.kernels.model import LENGTH
from sgdone.model_file.codec import Decoder, Encoder, NotStorable
from sgdone.run import Result
from sgdone.solvers.state import State
from sgdone.trace import Trace


def encode_results(model: LinearModel, encoder: Encoder) -> list[dict[str, Any]] | None:
    """The runs behind a model, without what its attributes already say."""
    if not hasattr(model, "_results"):
        return None
    return [
        {
            "state": encoder.encode(result.state, f"results.{k}.state"),
            "rule_state": _encode_rule_state(model, result.rule_state, encoder, f"results.{k}.rule_state"),
            "rows_read": int(result.rows_read),
            "passes_begun": int(result.passes_begun),
        }
        for k, result in enumerate(model._results)
    ]


def decode_results(
    model: LinearModel, codes: list[dict[str, Any]], decoder: Decoder
) -> list[Result] | list[AutoResult]:
    """The runs again, with the weights, traces and verdicts that the model's attributes hold."""
    if len(codes) == 1 and codes[0]["state"]["kind"] == "auto.Learner":
        return [_decode_bank(model, codes[0], decoder)]
    keys = list(model.verdict_.per_class) or [None]
    verdicts = model.verdict_.per_class or {None: model.verdict_}
    coef = model.coef_.reshape(-1, model.n_features_in_)
    if not len(codes) == len(keys) == len(coef) == model.intercept_.size:
        raise ValueError(f"{len(codes)} runs, {len(keys)} verdicts and {len(coef)} rows of coefficients do not agree")
    results = []
    for k, (key, code) in enumerate(zip(keys, codes, strict=True)):
        state = decoder.decode(code["state"])
        _check_state(state, model)
        as_solver(model.solver, model.average, state.problem.l1_ratio).check(state)
        rows = [replace(row, label=None) for row in model.trace_ if row.label == key]
        trace = Trace(rows, verdicts[key], model.trace_.task)
        rule_state = _decode_rule_state(model, code["rule_state"], decoder)
        results.append(
            Result(
                coef=coef[k],
                intercept=float(model.intercept_.flat[k]),
                trace=trace,
                verdict=verdicts[key],
                state=state,
                rule_state=rule_state,
                rows_read=int(code["rows_read"]),
                passes_begun=int(code["passes_begun"]),
            )
        )
    return results


def _decode_bank(model: LinearModel, code: dict[str, Any], decoder: Decoder) -> AutoResult:
    """The run of a fit that was left to itself."""
    learner = decoder.decode(code["state"])
    check_learner(learner, model.n_features_in_, model.intercept_.size, regression=model._task == "regression")
    return AutoResult(
        coef=model.coef_.reshape(-1, model.n_features_in_),
        intercept=model.intercept_,
        trace=Trace(list(model.trace_), model.verdict_, model.trace_.task),
        verdict=model.verdict_,
        state=learner,
        rule_state=_decode_rule_state(model, code["rule_state"], decoder),
        rows_read=int(code["rows_read"]),
        passes_begun=int(code["passes_begun"]),
    )


def _encode_rule_state(model: LinearModel, state: Any, encoder: Encoder, place: str) -> Any:
    """The state, or nothing where it cannot be stored: the rule then starts anew."""
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
        as_rule(model.stop).check(state, model.n_features_in_)
    except (AttributeError, IndexError, TypeError) as error:
        raise ValueError(f"what stop={model.stop!r} remembers is not of its kind: {error}") from None
    return state


def _check_state(state: Any, model: LinearModel) -> None:
    """Refuse arrays of another shape or type than the compiled loops, which do not look, will take them for."""
    if not isinstance(state, State):
        raise ValueError(f"a state is {type(state).__name__}")
    first = state.problem.access.vectors_first
    features, vectors = model.n_features_in_, state.weights.shape[0 if first else 1]
    fits = (
        vectors in ((1, 2) if state.phase == "plain" else (2,))
        and state.problem.n_features == features
        and state.weights.shape == ((vectors, features) if first else (features, vectors))
        and state.weights.dtype == state.problem.dtype
        and state.offsets.shape == (vectors, 2)
        and state.numbers.shape == (LENGTH,)
        and state.offsets.dtype == state.numbers.dtype == np.float64
    )
    if not fits:
        raise ValueError(f"weights of shape {state.weights.shape} do not fit a model of {features} features")
