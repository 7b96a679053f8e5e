"""Parameters of the estimators that run one named method: `SGDClassifier` and `SGDRegressor`."""

from typing import Any

from sgdone.estimators.linear_model import LinearModel, refuse_change
from sgdone.estimators.parameters import (
    as_alpha,
    as_bool,
    as_l1_ratio,
    as_monitors,
    as_rule,
    as_solver,
    as_step,
    is_auto,
)
from sgdone.interfaces.objective import Objective
from sgdone.interfaces.stop_rule import StopRule
from sgdone.run import Result
from sgdone.solvers import SingleModel
from sgdone.solvers.single_model import shown_method
from sgdone.stopping import MaxPasses

#: Budget of a method that ends by itself.
_MOST_PASSES = 100


class NamedMethod(LinearModel):
    """A linear model trained by one method on the features as they are; not for users."""

    solver: Any
    step: Any
    penalty: str
    l1_ratio: float
    average: Any

    def _method(self) -> SingleModel:
        method = as_solver(self.solver, self.average, as_l1_ratio(self.penalty, self.l1_ratio))
        return method.ending_by_itself() if is_auto(self.stop) else method

    def _rule(self) -> StopRule:
        method, rule = self._method(), as_rule(self.stop)
        if is_auto(self.stop):
            return MaxPasses(_MOST_PASSES) if method.ends_by_itself else as_rule(method.default_rule)
        if not method.takes_stop:
            raise ValueError(f"{method} ends by itself, and stop={self.stop!r} would have no effect: remove stop")
        return rule

    def _objective(self, n_rows: int, n_classes: int | None) -> Objective:
        center, fit_intercept = getattr(self, "center", False), as_bool("fit_intercept", self.fit_intercept)
        if as_bool("center", center) and not fit_intercept:
            raise ValueError("center=True sets the intercept, but fit_intercept=False: remove one of them")
        return Objective(
            self._loss(),
            as_alpha(self.alpha, n_rows),
            as_l1_ratio(self.penalty, self.l1_ratio),
            fit_intercept,
            center,
            "target" if self._task == "regression" else "two_classes",
        )

    def _run_options(self) -> dict[str, Any]:
        return {"step": as_step(self.step), "monitors": as_monitors(getattr(self, "monitors", None))}

    def _check_unchanged(self, last: Result) -> None:
        refuse_change("solver", shown_method(last.state.method), str(self._method()))
        super()._check_unchanged(last)
