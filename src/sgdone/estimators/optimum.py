"""Does the fit have an optimum to converge to? The verdict says so where it has none."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from sgdone.auto import AutoResult
from sgdone.diagnose import Separation, fast_check, separation
from sgdone.estimators.training import Plan
from sgdone.run import Result
from sgdone.verdict import Status, Verdict

CheckOptimum = Literal["fast", "thorough", False]

_MODES: tuple[CheckOptimum, ...] = ("fast", "thorough", False)
#: Ends that say nothing about the optimum.
_ON_THE_WAY = (Status.DIVERGED, Status.INTERRUPTED, Status.STOPPED)
#: α times rows below which a penalty holds nothing: it is 1 by default.
_TINY = 1e-3
#: What `sgdone.diagnose.Separation.infinite` means.
_SIGNS = {-1: "−", 1: "+", 2: "±"}
#: Signs take a linear program each, and are asked for up to this many.
_MOST_SIGNS = 200
#: What the check may cost beside the fit, in passes over the rows; more if no penalty holds the coefficients.
_SHARE_OF_FIT, _SHARE_OF_UNPENALISED_FIT = 0.1, 1.0
#: How much more a pass of a bank costs than one of a single model, about.
_MODELS_IN_BANK = 10
#: Coefficients that are named one by one.
_NAMED = 5
#: A direction's entry beside its largest, both times the size of their columns, below which it is rounding.
_ROUNDING = 1e-6


@final
@dataclass(frozen=True)
class TwoClasses:
    """A model of two classes, and how its fit ended."""

    coef: NDArray[Any]
    intercept: float
    verdict: Verdict


Judged = TypeVar("Judged", Result, TwoClasses)


@final
@dataclass(frozen=True)
class _Answer:
    """What kind of separation there is, of how many rows, and which coefficients run away (none: not told)."""

    kind: str
    n_separable: int
    n_rows: int
    runaways: Sequence[str]


def as_check_optimum(value: Any) -> CheckOptimum:
    """The parameter, if it is one of its values."""
    for known in _MODES:
        if value is known or (isinstance(value, str) and value == known):
            return known
    raise ValueError(f'check_optimum={value!r} is not "fast", "thorough" or False')


def judged_by_optimum(
    mode: CheckOptimum,
    results: Sequence[Judged],
    plan: Plan,
    X: Any,
    labels: Sequence[Callable[[], NDArray[np.float64]]],
    weight: NDArray[np.float64] | None,
) -> list[Judged]:
    """The same results, their verdicts saying where there is no finite optimum, or none without the penalty."""
    # Centred rows have their intercept elsewhere.
    if mode is False or plan.center or not plan.loss.fades:
        return list(results)
    judged = list(results)
    try:
        for k, result in enumerate(results):
            if _is_asked(mode, result, plan, X.shape[0]):
                answer = _ask(mode, result, plan, X, labels[k](), weight)
                judged[k] = result if answer is None else _with(result, plan, answer)
    except KeyboardInterrupt:
        pass  # the models are trained: the question stays open
    return judged


def judged_automatically(
    mode: CheckOptimum,
    result: AutoResult,
    plan: Plan,
    X: Any,
    labels: NDArray[np.float64],
    weight: NDArray[np.float64] | None,
) -> AutoResult:
    """The same for a fit that chose its penalty by itself; of several classes, each is asked against the rest.

    A direction that separates one of them from the rest makes its probability grow without end, coupled or not. With a
    penalty that is but a remark, which as many checks as classes are too dear for: it must be asked for.
    """
    chosen = replace(plan, alpha=result.state.problem.alpha)
    if mode == "fast" and len(result.coef) > 1 and not _unpenalised(chosen, X.shape[0]):
        return result
    spent = _MODELS_IN_BANK if _unpenalised(chosen, X.shape[0]) else 1
    effort = replace(result.verdict, passes=spent * result.verdict.passes)
    for k, (coef, intercept) in enumerate(zip(result.coef, result.intercept, strict=True)):
        signs = labels if len(result.coef) == 1 else np.where(labels == k, 1.0, -1.0)
        asked = TwoClasses(coef, float(intercept), effort)
        told = judged_by_optimum(mode, [asked], chosen, X, [partial(np.asarray, signs)], weight)[0].verdict
        if told is not effort:
            return replace(result, verdict=replace(told, passes=result.verdict.passes))
    return result


def _is_asked(mode: CheckOptimum, result: Result | TwoClasses, plan: Plan, n_rows: int) -> bool:
    """Whether the end of a fit raises the question; not if it has not seen all rows, and a penalty answers it."""
    if result.verdict.status in _ON_THE_WAY:
        return False
    return mode == "thorough" or result.verdict.passes >= 1 or _unpenalised(plan, n_rows)


def _ask(
    mode: CheckOptimum,
    result: Result | TwoClasses,
    plan: Plan,
    X: Any,
    labels: NDArray[np.float64],
    weight: NDArray[np.float64] | None,
) -> _Answer | None:
    """The separation that was proved; None if none was."""
    used = X.shape[0] if weight is None else int(np.count_nonzero(weight))
    if mode == "thorough":
        start = (result.coef, result.intercept)
        shape = separation(X, labels, plan.fit_intercept, weight, start=start)
        if shape.kind not in ("complete", "quasi-complete"):
            return None
        return _Answer(shape.kind, int(shape.separable_rows.sum()), used, _runaways(shape, plan))
    found = fast_check(
        X,
        labels,
        result.coef,
        result.intercept,
        fit_intercept=plan.fit_intercept,
        sample_weight=weight,
        passes=_allowed(plan, used) * result.verdict.passes,
    )
    if found.separable_rows is None or found.kind not in ("complete", "quasi-complete"):
        return None
    runaways = _names(plan, _entries(found.coef, X)) if found.kind == "quasi-complete" else []
    return _Answer(found.kind, int(found.separable_rows.sum()), used, runaways)


def _runaways(shape: Separation, plan: Plan) -> list[str]:
    """The coefficients that have no finite value, with their signs; nothing if that is not told in reasonable time."""
    if len(shape.feature_names) > _MOST_SIGNS:
        return []
    try:
        moved = np.flatnonzero(shape.infinite)
    except (ValueError, RuntimeError):
        return []
    return [f"{name} → {_SIGNS[shape.infinite[j]]}∞" for j, name in zip(moved, _names(plan, moved), strict=True)]


def _unpenalised(plan: Plan, n_rows: int) -> bool:
    return plan.alpha * n_rows < _TINY


def _allowed(plan: Plan, n_rows: int) -> float:
    return _SHARE_OF_UNPENALISED_FIT if _unpenalised(plan, n_rows) else _SHARE_OF_FIT


def _names(plan: Plan, columns: NDArray[np.intp]) -> list[str]:
    """What the user calls some columns."""
    known = plan.feature_names
    return [f"column {j}" if known is None else str(known[j]) for j in columns.tolist()]


def _entries(direction: NDArray[np.float64] | None, X: Any) -> NDArray[np.intp]:
    """The coefficients that a direction moves."""
    if direction is None:
        return np.empty(0, dtype=np.intp)
    largest: Any = abs(X).max(axis=0)
    sizes = np.abs(direction) * np.asarray(largest.toarray() if hasattr(largest, "toarray") else largest).ravel()
    return np.flatnonzero(sizes > _ROUNDING * sizes.max(initial=0.0))


def _with(result: Judged, plan: Plan, answer: _Answer) -> Judged:
    """The result with a verdict that says it."""
    verdict = result.verdict
    if answer.kind == "complete":
        found = f"complete separation: some direction classifies all {answer.n_rows:,} rows without error"
    else:
        count = f"{answer.n_separable:,} of {answer.n_rows:,}"
        found = (
            f"quasi-complete separation: some direction classifies {count} rows without error, the others lie across it"
        )
    whose = f" ({_listed(answer.runaways)})" if answer.runaways else ""
    evidence = verdict.evidence | {"separation": answer.kind, "separable_rows": answer.n_separable}
    if _unpenalised(plan, answer.n_rows):
        reason = (
            f"{found}, and the loss falls for ever along it{whose}; the fit itself: {verdict.status}, {verdict.reason}"
        )
        advice = (
            "Give a penalty (alpha), or ask sgdone.diagnose.separation(X, y) which coefficients have no finite value."
        )
        changed = replace(verdict, status=Status.NO_OPTIMUM, reason=reason, evidence=evidence, advice=advice)
    else:
        held = f"{found.capitalize()}: the penalty alone holds the coefficients{whose}, without it there is no optimum."
        changed = replace(verdict, evidence=evidence, advice=f"{verdict.advice} {held}".strip())
    return replace(result, verdict=changed)


def _listed(names: Sequence[str]) -> str:
    rest = len(names) - _NAMED
    return ", ".join(map(str, names[:_NAMED])) + (f" and {rest:,} more" if rest > 0 else "")
