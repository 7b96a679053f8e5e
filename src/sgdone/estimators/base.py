"""What the classifier and the regressor share."""

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from sgdone.auto import AutoResult, Learner
from sgdone.estimators.automatic import is_automatic
from sgdone.estimators.callbacks import WRAPPERS_OF_FIT, CallbackSupportMixin
from sgdone.estimators.resuming import resumed, rule_for_rows
from sgdone.estimators.specs import (
    TaskName,
    as_alpha,
    as_l1_ratio,
    as_loss,
    as_monitors,
    as_rule,
    as_solver,
    as_step,
    as_tol,
)
from sgdone.estimators.training import Plan, Start
from sgdone.losses.loss import Loss
from sgdone.run import Hook, Result
from sgdone.solvers.state import State
from sgdone.stopping.base import StopRule
from sgdone.trace import Trace
from sgdone.verdict import Status, Verdict


class LinearModel(CallbackSupportMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is not typed
    """Parameters, plans and fitted attributes of a linear model; not for the user."""

    _task: ClassVar[TaskName]
    #: Told of every stretch of rows; the command line's progress line.
    _progress_hook: Hook | None = None
    #: What the verdict calls the columns of rows that carry no names.
    _feature_names: Sequence[str] | None = None

    coef_: NDArray[Any]
    intercept_: NDArray[Any]
    n_iter_: int
    alpha_: float
    trace_: Trace
    verdict_: Verdict
    _results: Sequence[Result | AutoResult]

    def _plan(self, n_positive: int, *, partial: bool, resume: bool = False) -> Plan:
        """The parameters as objects, each checked."""
        l1_ratio = as_l1_ratio(self.penalty, self.l1_ratio)
        loss, rule = as_loss(self.loss, self._task), as_rule(self.stop)
        return Plan(
            loss,
            as_solver(self.solver, self.average, l1_ratio),
            as_step(self.step),
            rule_for_rows(self.stop, resume) if partial else rule,
            as_alpha(self.alpha, n_positive),
            l1_ratio,
            _as_bool("fit_intercept", self.fit_intercept),
            self._centered(),
            _as_bool("shuffle", self.shuffle),
            self._task,
            int(check_random_state(self.random_state).randint(2**31)),
            getattr(self, "n_jobs", None),
            int(self.verbose),
            single_pass=partial,
            progress=self._progress_hook,
            feature_names=getattr(self, "feature_names_in_", self._feature_names),
            monitors=as_monitors(getattr(self, "monitors", None)),
            automatic=self._goes_on_as_bank(loss, rule) if partial else is_automatic(self, loss, rule),
            given_alpha=None if _is_auto(self.alpha) else as_alpha(self.alpha, n_positive),
            rule_given=not _is_auto(self.stop),
            tol=as_tol(self.tol),
        )

    def _centered(self) -> bool:
        """Whether the intercept comes from centring the rows."""
        center = _as_bool("center", getattr(self, "center", False))
        if center and not self.fit_intercept:
            raise ValueError("center=True makes an intercept, which fit_intercept=False rules out: drop one of them")
        return center

    @abstractmethod
    def _shapes(self, n_features: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Shapes of ``coef_`` and ``intercept_``."""

    def _starts(self, coef_init: Any, intercept_init: Any, n_features: int) -> list[Start]:
        """Where ``fit`` starts: what was given, the last fit if ``warm_start``, or zero."""
        shape, offset_shape = self._shapes(n_features)
        n_models = int(np.prod(offset_shape))
        names = ["coef_init", "intercept_init"]
        if self.warm_start and hasattr(self, "coef_"):
            if coef_init is None:
                coef_init, names[0] = self.coef_, "warm_start=True: coef_ of the last fit"
            if intercept_init is None:
                intercept_init, names[1] = self.intercept_, "warm_start=True: intercept_ of the last fit"
        coef = _given(names[0], coef_init, shape).reshape(n_models, n_features)
        offsets = _given(names[1], intercept_init, offset_shape)
        return [Start(coef[k], float(offsets[k])) for k in range(n_models)]

    def _resumed(self, resume: bool) -> list[Start]:
        """Where ``partial_fit`` goes on, with the same objective and solver as before."""
        last = self._results[0]
        if isinstance(last, AutoResult):
            self._check_same(last.state)
        else:
            self._check_same_method(last.state)
        same_rule = getattr(self, "_ruled_by", self.stop) == self.stop
        return resumed(self._results, self.stop, resume=resume, same_rule=same_rule)

    def _check_same_method(self, state: State) -> None:
        """Refuse to go on with another objective or solver."""
        problem = state.problem
        l1_ratio = as_l1_ratio(self.penalty, self.l1_ratio)
        for what, before, now in (
            ("loss", repr(problem.loss), repr(as_loss(self.loss, self._task))),
            ("solver", state.method, repr(as_solver(self.solver, self.average, l1_ratio))),
            ("l1_ratio", problem.l1_ratio, l1_ratio),
            ("alpha", problem.alpha, problem.alpha if _is_auto(self.alpha) else as_alpha(self.alpha, 1)),
            ("center", problem.scaling is not None, self._centered()),
            ("fit_intercept", problem.fit_intercept, self.fit_intercept and not self._centered()),
        ):
            if before != now:
                raise ValueError(f"{what} was {before} and is {now} now: partial_fit cannot go on, call fit anew")

    def _goes_on_as_bank(self, loss: Loss, rule: StopRule) -> bool:
        """Whether ``partial_fit`` is left to itself: the first call, or ``fit``, has settled it."""
        known = getattr(self, "_results", None)
        return isinstance(known[0], AutoResult) if known else is_automatic(self, loss, rule)

    def _method(self) -> str:
        """What a fit would be made by now."""
        loss, l1_ratio = as_loss(self.loss, self._task), as_l1_ratio(self.penalty, self.l1_ratio)
        if is_automatic(self, loss, as_rule(self.stop)):
            return "auto"
        return repr(as_solver(self.solver, self.average, l1_ratio))

    def _check_same(self, learner: Learner) -> None:
        """The same for a fit that is left to itself."""
        for what, before, now in (
            ("loss", repr(learner.task.loss), repr(as_loss(self.loss, self._task))),
            ("alpha", learner.alpha, None if _is_auto(self.alpha) else as_alpha(self.alpha, 1)),
            ("fit_intercept", learner.task.fit_intercept, self.fit_intercept),
            ("solver", "auto", self._method()),
        ):
            if before != now:
                raise ValueError(f"{what} was {before} and is {now} now: partial_fit cannot go on, call fit anew")

    def _attributes(self, results: Sequence[Result | AutoResult], labels: list[Any], n_features: int) -> dict[str, Any]:
        """The fitted attributes that all linear models have."""
        shape, offset_shape = self._shapes(n_features)
        traces = [_named(result.trace, label) for result, label in zip(results, labels, strict=True)]
        verdicts = [result.verdict for result in results]
        verdict = verdicts[0] if len(results) == 1 else Verdict.of_classes(dict(zip(labels, verdicts, strict=True)))
        trace = Trace([row for part in traces for row in part], verdict, self._task)
        return {
            "coef_": np.stack([result.coef for result in results]).reshape(shape),
            "intercept_": np.array([result.intercept for result in results]).reshape(offset_shape),
            "n_iter_": max(1, *(int(np.ceil(verdict.passes)) for verdict in verdicts)),
            "alpha_": float(results[0].state.problem.alpha),
            "trace_": trace,
            "verdict_": verdict,
            "_results": list(results),
            "_ruled_by": self.stop,
        }

    def _keep(self, attributes: dict[str, Any], *, partial: bool) -> None:
        """Become fitted: nothing is set before everything is known."""
        for name, value in attributes.items():
            setattr(self, name, value)
        if self.verdict_.status is Status.DIVERGED:
            frames = 4 if partial else 4 + WRAPPERS_OF_FIT
            warnings.warn(str(self.verdict_), ConvergenceWarning, stacklevel=frames)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _as_bool(name: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}={value!r} is not True or False")
    return bool(value)


def _named(trace: Trace, label: Any) -> Trace:
    """The trace with its class written into each row."""
    return trace if label is None else Trace([replace(row, label=label) for row in trace], trace.verdict, trace.task)


def _given(name: str, value: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Initial weights of a shape; an axis of one model may be left out."""
    if value is None:
        return np.zeros(shape)
    array = np.asarray(value, dtype=np.float64)
    if array.shape not in (shape, shape[1:] if shape[0] == 1 else shape):
        raise ValueError(f"{name} has shape {array.shape}, but this problem needs {shape}")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} holds NaN or infinity")
    return array.reshape(shape)
