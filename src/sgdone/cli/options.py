"""Options of ``fit`` as parameters of an estimator, each checked before any data is read."""

from dataclasses import dataclass
from typing import Any, Literal, final

from sklearn.utils import check_random_state

from sgdone import losses, stopping
from sgdone.cli.errors import usage
from sgdone.data.learning_task import Task
from sgdone.estimators import LinearClassifier, LinearRegressor
from sgdone.estimators.automatic import is_automatic
from sgdone.estimators.specs import as_alpha, as_loss, as_rule, as_solver, as_step, as_tol
from sgdone.losses.loss import Loss
from sgdone.registry import by_name


@final
@dataclass(frozen=True)
class Options:
    """What the user wrote."""

    task: Task | Literal["auto"]
    loss: str | None
    solver: str
    step: str
    stop: str
    tol: float
    passes: float | None
    alpha: str
    seed: int
    center: bool = False

    def parameters(self) -> dict[str, Any]:
        """All parameters but the loss, which waits for the labels."""
        if self.loss is not None:
            with usage("--loss"):
                by_name(self.loss, Loss, losses, "loss")
        with usage("--solver"):
            as_solver(self.solver, None)
        with usage("--step"):
            as_step(_number_or_name(self.step))
        with usage("--tol"):
            as_tol(self.tol)
        with usage("--seed"):
            check_random_state(self.seed)
        with usage("--alpha"):
            as_alpha(_number_or_name(self.alpha), 1)
        return {
            "solver": self.solver,
            "step": _number_or_name(self.step),
            "stop": self._rule(),
            "tol": self.tol,
            "alpha": _number_or_name(self.alpha),
            "random_state": self.seed,
        }

    def _rule(self) -> Any:
        stop = _number_or_name(self.stop)
        with usage("--stop"):
            rule = as_rule(stop)
        if self.passes is None:
            return stop
        with usage("--passes"):
            if not isinstance(stop, str):
                raise ValueError(f"--stop {self.stop} already says how many passes: leave one of them out")
            limit = stopping.MaxPasses(int(self.passes) if self.passes.is_integer() else self.passes)
        if stop != "auto":
            return rule | limit
        return limit if self._left_to_itself() else stopping.ProgressiveLoss() | limit

    def _left_to_itself(self) -> bool:
        """Whether the fit chooses its own method: a rule that watches the progressive loss would choose another."""
        model = LinearClassifier(solver=self.solver, step=_number_or_name(self.step), center=self.center)
        loss = losses.Logistic() if self.loss is None else by_name(self.loss, Loss, losses, "loss")
        return is_automatic(model, loss, as_rule("auto"))

    def suggested_task(self) -> Task | None:
        """The task, if an option tells it."""
        if self.task != "auto":
            return self.task
        if self.loss is None:
            return None
        with usage("--loss"):
            task = by_name(self.loss, Loss, losses, "loss").task
        return None if task == "both" else task

    def estimator(self, task: Task) -> LinearClassifier | LinearRegressor:
        """The estimator, not yet fitted."""
        parameters = self.parameters()
        if self.loss is not None:
            with usage("--loss"):
                as_loss(self.loss, task)
            parameters["loss"] = self.loss
        if task == "classification":
            return LinearClassifier(n_jobs=-1, center=self.center, **parameters)
        with usage("--center"):
            if self.center:
                raise ValueError("it puts the origin between two classes, and this is a regression: leave it out")
        return LinearRegressor(**parameters)


def _number_or_name(text: str) -> Any:
    try:
        value = float(text)
    except ValueError:
        return text
    return int(value) if value.is_integer() else value
