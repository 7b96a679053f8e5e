"""Whether the loss has a finite minimum: if not, the verdict says so."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.objective import Objective
from sgdone.interfaces.stop_rule import Status
from sgdone.machine import interruption
from sgdone.matrices.mixed_matrix import MixedMatrix, in_one_storage
from sgdone.run import Result
from sgdone.run.result import Verdict

if TYPE_CHECKING:  # imported when a check is made: most fits do not wait for it
    from sgdone.diagnose import Separation

CheckOptimum = Literal["fast", "thorough", False]

_MODES: tuple[CheckOptimum, ...] = ("fast", "thorough", False)
#: Statuses that say nothing about the optimum.
_ON_THE_WAY = (Status.DIVERGED, Status.INTERRUPTED, Status.STOPPED)
#: α times rows below which a penalty has no effect; it is 1 by default.
_TINY = 1e-3
#: What `sgdone.diagnose.Separation.infinite` means.
_SIGNS = {-1: "−", 1: "+", 2: "±"}
#: Signs take a linear program each: largest number of coefficients whose signs are found.
_MOST_SIGNS = 200
#: Largest cost of the check as a share of the fit; more if there is no penalty.
_SHARE_OF_FIT, _SHARE_OF_UNPENALISED_FIT = 0.1, 1.0
#: Entries up to which the check takes a small share of an exact fit.
_MOST_ENTRIES = 20_000
#: Dense entries of a `MixedMatrix` up to which "fast" copies them for the check, which wants one storage.
_MOST_COPIED = 1 << 24
#: Largest number of coefficients that are named.
_NAMED = 5
#: A direction's entry beside its largest, both times the size of their columns, below which it is rounding.
_ROUNDING = 1e-6


@final
@dataclass(frozen=True)
class _Answer:
    """The kind of separation, the number of rows separated, and coefficients without a finite value if known."""

    kind: str
    n_separable: int
    n_rows: int
    infinite_coefficients: Sequence[str]


def as_check_optimum(value: Any) -> CheckOptimum:
    """The parameter, if it is one of its values."""
    for known in _MODES:
        if value is known or (isinstance(value, str) and value == known):
            return known
    raise ValueError(f'check_optimum={value!r} is not "fast", "thorough" or False')


def with_optimum_check(
    mode: CheckOptimum,
    results: Sequence[Result],
    X: Any,
    labels: Sequence[Callable[[], NDArray[np.float64]]],
    weight: NDArray[np.float64] | None,
    feature_names: Sequence[str] | None,
    cost_per_pass: float,
) -> list[Result]:
    """The same results, their verdicts saying where there is no finite optimum, or none without the penalty.

    With several classes in one model, each class is checked against the rest: a direction that separates one of them
    makes its probability grow for ever. If there is a penalty that is only a remark, and as many checks as classes are
    too expensive: then mode "thorough" is needed.
    """
    checked: list[Result] = []
    try:
        with interruption.raised():
            for k, result in enumerate(results):
                checked.append(_checked(mode, result, X, labels[k], weight, feature_names, cost_per_pass))
    except KeyboardInterrupt:
        checked += [_interrupted(result) for result in results[len(checked) :]]
    return checked


def _interrupted(result: Result) -> Result:
    """The models are trained: only the question stays open."""
    if result.verdict.status in _ON_THE_WAY:
        return result
    return replace(result, verdict=result.verdict.interrupted("the check whether an optimum exists was interrupted"))


def _checked(
    mode: CheckOptimum,
    result: Result,
    X: Any,
    labels: Callable[[], NDArray[np.float64]],
    weight: NDArray[np.float64] | None,
    feature_names: Sequence[str] | None,
    cost_per_pass: float,
) -> Result:
    objective, verdict = result.objective, result.verdict
    n_outputs, unpenalised = len(result.model.coef), _is_unpenalised(result, X.shape[0])
    # The intercept of centred rows is determined elsewhere.
    if mode is False or objective.center or not objective.loss.fades or verdict.status in _ON_THE_WAY:
        return result
    if mode == "fast" and verdict.evidence.get("separation") == "complete":
        return with_known_separation(result, X.shape[0])
    # A fit that has not read all rows leaves the question to the penalty.
    if mode == "fast" and not unpenalised and (n_outputs > 1 or verdict.passes < 1):
        return result
    # An exact fit of many entries takes less time than the check, which is only a remark if there is a penalty.
    large = verdict.finish_passes > 0 and not unpenalised and X.shape[0] * X.shape[1] > _MOST_ENTRIES
    if mode == "fast" and (large or verdict.evidence.get("has_finite_optimum")):
        return result
    if isinstance(X, MixedMatrix) and mode == "fast" and X.dense.size > _MOST_COPIED:
        return result
    X, effort = in_one_storage(X), verdict.passes * (cost_per_pass if unpenalised else 1.0)
    for k in range(n_outputs):
        signs = labels() if n_outputs == 1 else np.where(labels() == k, 1.0, -1.0)
        start = (result.model.coef[k], float(result.model.intercept[k]))
        share = _SHARE_OF_UNPENALISED_FIT if unpenalised else _SHARE_OF_FIT
        found = _separation(mode, start, objective, X, signs, weight, share * effort, feature_names)
        if found is not None:
            return replace(result, verdict=_with(verdict, found, unpenalised))
    return result


def with_known_separation(result: Result, n_rows: int) -> Result:
    """The same result, its verdict saying that the classes are separated if the fit has found a model without errors.

    The coefficients of that model are the proof, also with several classes: their differences separate each pair.
    """
    verdict = result.verdict
    if verdict.evidence.get("separation") != "complete" or verdict.status in _ON_THE_WAY:
        return result
    rows = int(verdict.evidence["separable_rows"])
    return replace(result, verdict=_with(verdict, _Answer("complete", rows, rows, []), _is_unpenalised(result, n_rows)))


def _separation(
    mode: CheckOptimum,
    start: tuple[NDArray[Any], float],
    objective: Objective,
    X: Any,
    labels: NDArray[np.float64],
    weight: NDArray[np.float64] | None,
    effort: float,
    feature_names: Sequence[str] | None,
) -> _Answer | None:
    """The separation that was proved; None if none was."""
    from sgdone.diagnose import fast_check, separation

    used = X.shape[0] if weight is None else int(np.count_nonzero(weight))
    fit_intercept = objective.fit_intercept
    if mode == "thorough":
        shape = separation(X, labels, fit_intercept, weight, start=start)
        if shape.kind not in ("complete", "quasi-complete"):
            return None
        return _Answer(shape.kind, int(shape.separable_rows.sum()), used, _infinite_coefficients(shape, feature_names))
    found = fast_check(
        X,
        labels,
        *start,
        fit_intercept=fit_intercept,
        sample_weight=weight,
        passes=effort,
    )
    if found.separable_rows is None or found.kind not in ("complete", "quasi-complete"):
        return None
    infinite_coefficients = _names(feature_names, _entries(found.coef, X)) if found.kind == "quasi-complete" else []
    return _Answer(found.kind, int(found.separable_rows.sum()), used, infinite_coefficients)


def _infinite_coefficients(shape: "Separation", feature_names: Sequence[str] | None) -> list[str]:
    """Coefficients without a finite value, with their signs; empty if finding them takes too long."""
    if len(shape.feature_names) > _MOST_SIGNS:
        return []
    try:
        moved = np.flatnonzero(shape.infinite)
    except (ValueError, RuntimeError):
        return []
    return [
        f"{name} → {_SIGNS[shape.infinite[j]]}∞" for j, name in zip(moved, _names(feature_names, moved), strict=True)
    ]


def _is_unpenalised(result: Result, n_rows: int) -> bool:
    """Whether a penalty that the user gave has no effect; one that was chosen has."""
    given = result.state.objective.alpha
    return given is not None and given * n_rows < _TINY


def _names(known: Sequence[str] | None, columns: NDArray[np.intp]) -> list[str]:
    """Names of some columns."""
    return [f"column {j}" if known is None else str(known[j]) for j in columns.tolist()]


def _entries(direction: NDArray[np.float64] | None, X: Any) -> NDArray[np.intp]:
    """The coefficients that a direction moves."""
    if direction is None:
        return np.empty(0, dtype=np.intp)
    largest: Any = abs(X).max(axis=0)
    sizes = np.abs(direction) * np.asarray(largest.toarray() if hasattr(largest, "toarray") else largest).ravel()
    return np.flatnonzero(sizes > _ROUNDING * sizes.max(initial=0.0))


def _with(verdict: Verdict, answer: _Answer, unpenalised: bool) -> Verdict:
    """The verdict with the separation that was found."""
    if answer.kind == "complete":
        found = f"complete separation: some direction classifies all {answer.n_rows:,} rows without error"
    else:
        count = f"{answer.n_separable:,} of {answer.n_rows:,}"
        found = (
            f"quasi-complete separation: some direction classifies {count} rows without error, the others lie across it"
        )
    whose = f" ({_listed(answer.infinite_coefficients)})" if answer.infinite_coefficients else ""
    evidence = verdict.evidence | {"separation": answer.kind, "separable_rows": answer.n_separable}
    if unpenalised:
        fit_itself = f"the fit itself: {verdict.status}, {verdict.reason}"
        if verdict.finish_passes:
            fit_itself = "the fit ended where further steps hardly change the loss"
        reason = f"{found}, and the loss decreases for ever along it{whose}; {fit_itself}"
        advice = (
            "Use a larger penalty, alpha=0.01 for example. sgdone.diagnose.separation(X, y) names the coefficients "
            "without a finite value."
        )
        return replace(verdict, status=Status.NO_OPTIMUM, reason=reason, evidence=evidence, advice=advice)
    held = f"{found.capitalize()}: only the penalty keeps the coefficients{whose} finite."
    return replace(verdict, evidence=evidence, advice=f"{verdict.advice} {held}".strip())


def _listed(names: Sequence[str]) -> str:
    rest = len(names) - _NAMED
    return ", ".join(map(str, names[:_NAMED])) + (f" and {rest:,} more" if rest > 0 else "")
