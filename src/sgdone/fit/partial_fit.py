"""Further training on the next rows of a stream, and when it is refused."""

import copy
import math
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.fit.fit import Start, followers_of, train_models
from sgdone.fit.fitted_model import FittedModel
from sgdone.fit.followers import ProgressHook
from sgdone.fit.loaded_rows import LoadedRows
from sgdone.fit.options import FitOptions, is_auto
from sgdone.interfaces.stop_rule import Progress, Stop, StopRule
from sgdone.machine import interruption
from sgdone.run import Result


def partial_fit(
    rows: LoadedRows,
    options: FitOptions,
    last: FittedModel | None = None,
    *,
    resume: bool = False,
    hook: ProgressHook | None = None,
) -> FittedModel:
    """Train on the next rows of a stream in one pass.

    Parameters
    ----------
    rows : LoadedRows
        Rows, read by `LoadedRows.for_partial_fit`.
    options : FitOptions
        Of this call; what defines the objective must not have changed.
    last : FittedModel, optional
        The model to continue; it does not change.
    resume : bool, default=False
        Whether to continue although a stopping rule of the user has ended the model.
    hook : callable, optional
        As in `fit`.
    """
    all_rows_are_read = resume or is_auto(options.parameters["stop"])
    stop = NeverStops(options.stop) if all_rows_are_read else options.stop
    starts = None
    if last is not None:
        last = last.with_new_features(rows.columns, rows.X.shape[1])
        starts = _resumed(last, options, resume=resume)
    with rows.next_problem(options, starts, stop) as problem, interruption.remembered():
        results = problem.finish(train_models(problem, options, followers_of(options, hook))).results
        model = FittedModel.of(options, problem.columns, problem.classes, problem.objective, results)
    if last is not None:
        model = replace(model, feature_std_=last.feature_std_, feature_share_=last.feature_share_)
    return model


@final
@dataclass(frozen=True)
class NeverStops(StopRule):
    """Keeps the state of a rule but never fires: all the rows given to a call of ``partial_fit`` are read.

    It stands for the default rule, which has nothing to say about parts of a stream, and for ``resume=True``.
    """

    rule: StopRule

    @property
    def hold_out(self) -> int:
        """Rows that the rule holds out: it may be called later."""
        return self.rule.hold_out

    @property
    def state_key(self) -> str:
        """The state is the rule's."""
        return self.rule.state_key

    def validate_on(self, state: Any, X: Any, labels: NDArray[np.float64]) -> None:
        """Pass the rows on."""
        self.rule.validate_on(state, X, labels)

    def start(self, n_rows: int | None) -> Any:
        """The state of the rule."""
        return self.rule.start(n_rows)

    def observe(self, state: Any, progress: Progress) -> Stop | None:
        """Never fire."""
        return None


def _resumed(last: FittedModel, options: FitOptions, *, resume: bool) -> list[Start]:
    """Copies of runs to continue; a run that the user's own rule has ended stays as it is.

    Raises if the objective has changed, or if all runs have ended. A rule that is not the one of the last call starts
    again.
    """
    assert last.results is not None
    options.check_unchanged(last.results[0])
    stop, rule = options.parameters["stop"], options.stop
    same_rule = bool(last.last_stop == stop)
    starts, reasons = [], []
    for result in last.results:
        rule_state = copy.deepcopy(result.rule_state) if same_rule else None
        reason = None
        if not (resume or is_auto(stop)):
            reason = _why_ended(result, rule, rule.start(None) if rule_state is None else rule_state, same_rule)
        going_on = replace(result, rule_state=rule_state)
        starts.append(Start(resume=result if reason is not None else going_on, ended=reason is not None))
        reasons.append(reason)
    if all(reason is not None for reason in reasons):
        raise ValueError(
            f"the rule stop={rule!r} has ended this model ({reasons[-1]}): "
            "pass resume=True to partial_fit to continue, or call fit again"
        )
    return starts


def _why_ended(result: Result, rule: StopRule, rule_state: Any, same_rule: bool) -> str | None:
    """Reason why the rule has ended the run, or would before the next row; None if neither."""
    now = Progress(
        result.state.steps,
        result.rows_read,
        None,
        result.passes_begun,
        True,
        math.nan,
        0.0,
        iterate=getattr(result.state, "running", lambda: (np.empty(0), 0.0)),
    )
    stop = rule.observe(copy.deepcopy(rule_state), now)
    if stop is not None:
        return stop.reason
    # An exact phase has a rule of its own.
    by_rule = same_rule and result.verdict.rule and not result.verdict.finish_passes
    return result.verdict.reason if by_rule else None
