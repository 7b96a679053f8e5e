"""scikit-learn's callbacks, which follow a fit pass by pass."""

from collections.abc import Callable
from typing import Any, ClassVar, final

import numpy as np

from sgdone.fit.fit import FitProblem
from sgdone.fit.fitted_model import FittedModel
from sgdone.fit.followers import FitFollower, RunHook
from sgdone.fit.options import FitOptions
from sgdone.interfaces.objective import Model
from sgdone.interfaces.stop_rule import Progress


@final
class SklearnCallbacks(FitFollower):
    """scikit-learn's callbacks of an estimator: a task for the fit, for each model of several, and for each pass.

    Parameters
    ----------
    estimator : object
        The estimator that is fitted.
    attributes : callable
        The attributes that make an estimator of a fitted model.
    """

    in_turn: ClassVar[bool] = True

    def __init__(self, estimator: Any, attributes: Callable[[FittedModel], dict[str, Any]]) -> None:
        self._estimator, self._attributes = estimator, attributes

    def begin(self, problem: FitProblem, options: FitOptions) -> bool:
        """Begin a fit to the user's own X, whose columns may have names; other rows have no callbacks."""
        if problem.data is None:
            return False
        self._data, self._n_models = problem.data, len(problem.sources)
        self._max_passes, self._so_far = options.stop.max_passes, _ModelsSoFar(problem, options)
        single = self._n_models == 1
        self._root = self._estimator._init_callback_context(
            max_subtasks=self._max_passes if single else self._n_models, sequential_subtasks=single
        )
        self._root.call_on_fit_task_begin(estimator=self._estimator, **self._data)
        return True

    def hook(self, number: int, name: str) -> "ModelTask":
        """A hook for the run of one model, which begins."""
        return ModelTask(self, number, name.strip())

    def open(self, parent: Any = None, **options: Any) -> Any:
        """Begin a task under another one or the fit."""
        context = (parent or self._root).subcontext(**options)
        context.call_on_fit_task_begin(estimator=self._estimator, **self._data)
        return context

    def open_model(self, number: int, name: str) -> Any:
        """Begin the task of one model of several; a single model has none of its own."""
        if self._n_models == 1:
            return None
        return self.open(task_name=name, task_id=number, max_subtasks=self._max_passes)

    def close(self, context: Any, number: int, model: Callable[[], Model]) -> bool:
        """End a task of a model; returns whether a callback requests a stop."""
        return self._close(context, lambda: self._so_far.with_model(number, model()))

    def end(self, model: FittedModel) -> None:
        """The fit is over."""
        self._close(self._root, lambda: model)

    def _close(self, context: Any, model: Callable[[], FittedModel]) -> bool:
        def attributes() -> dict[str, Any]:
            return self._attributes(model())

        return bool(
            context.call_on_fit_task_end(estimator=self._estimator, reconstruction_attributes=attributes, **self._data)
        )


@final
class ModelTask(RunHook):
    """A hook that opens and closes a task for each pass of one model; the first pass begins with the run."""

    def __init__(self, fit: SklearnCallbacks, number: int, name: str) -> None:
        self._fit, self._number = fit, number
        self._own: Any = fit.open_model(number, name)
        self._pass: Any = fit.open(self._own, task_name="pass")

    def __call__(self, progress: Progress) -> str | None:
        """Report the state of the run to the callbacks; a reason to stop, if one of them requests it."""
        if self._pass is None:
            self._pass = self._fit.open(self._own, task_name="pass")
        if progress.pass_ended and self._close_pass(progress.solution):
            return f"a callback asked to stop after pass {progress.pass_number}"
        return None

    def end(self, model: Model) -> None:
        """The run is over: close what is open."""
        if self._pass is not None:
            self._close_pass(lambda: model)
        if self._own is not None:
            self._fit.close(self._own, self._number, lambda: model)

    def _close_pass(self, model: Callable[[], Model]) -> bool:
        # Closed before the callbacks are called: one that raises KeyboardInterrupt is not called again.
        context, self._pass = self._pass, None
        return self._fit.close(context, self._number, model)


@final
class _ModelsSoFar:
    """Models trained so far as one fitted model, which callbacks may predict with."""

    def __init__(self, problem: FitProblem, options: FitOptions) -> None:
        self._problem, self._options = problem, options
        starts = [start.model for start in problem.starts]
        self._found = {k: model for k, model in enumerate(starts) if model is not None and len(starts) > 1}

    def with_model(self, number: int, model: Model) -> FittedModel:
        """All models, one of them as it is now; those that have not begun predict 0."""
        self._found[number] = model
        problem, unknown = self._problem, Model(np.zeros_like(model.coef), np.zeros_like(model.intercept))
        models = [self._found.get(k, unknown) for k in range(len(problem.sources))]
        coef = np.concatenate([one.coef for one in models])
        intercept = np.concatenate([one.intercept for one in models]).reshape(-1)
        if problem.classes is None:
            return FittedModel(self._options, problem.columns, coef[0], intercept)
        multinomial = problem.objective.predicts == "softmax"
        return FittedModel(self._options, problem.columns, coef, intercept, problem.classes, multinomial)
