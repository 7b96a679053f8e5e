"""scikit-learn's callbacks, which follow a fit pass by pass."""

from collections.abc import Callable
from typing import Any, final

from sgdone.fit.fit import CurrentModel, FitCallbacks, ModelHook
from sgdone.fit.fitted_model import FittedModel
from sgdone.interfaces.objective import Model
from sgdone.interfaces.stop_rule import Progress


@final
class SklearnCallbacks(FitCallbacks):
    """scikit-learn's callbacks of an estimator: a task for the fit, for each model of several, and for each pass.

    ``attributes`` returns the attributes that make an estimator of a fitted model.
    """

    def __init__(self, estimator: Any, attributes: Callable[[FittedModel], dict[str, Any]]) -> None:
        self._estimator, self._attributes = estimator, attributes

    def begin(self, n_models: int, max_passes: int | None, data: dict[str, Any]) -> None:
        """Begin a fit of some models to the data, which are the user's own X, whose columns may have names."""
        self._data, self.n_models, self.max_passes = data, n_models, max_passes
        single = n_models == 1
        self._root = self._estimator._init_callback_context(
            max_subtasks=max_passes if single else n_models, sequential_subtasks=single
        )
        self._root.call_on_fit_task_begin(estimator=self._estimator, **data)

    def hook(self, model: int, name: str, current_model: CurrentModel) -> "ModelTask":
        """A hook for the run of one model."""
        return ModelTask(self, model, name, current_model)

    def open(self, parent: Any = None, **options: Any) -> Any:
        """Begin a task under another one or the fit."""
        context = (parent or self._root).subcontext(**options)
        context.call_on_fit_task_begin(estimator=self._estimator, **self._data)
        return context

    def close(self, context: Any, model: Callable[[], FittedModel]) -> bool:
        """End a task; returns whether a callback requests a stop."""

        def attributes() -> dict[str, Any]:
            return self._attributes(model())

        return bool(
            context.call_on_fit_task_end(estimator=self._estimator, reconstruction_attributes=attributes, **self._data)
        )

    def end(self, model: FittedModel) -> None:
        """The fit is over."""
        self.close(self._root, lambda: model)


@final
class ModelTask(ModelHook):
    """A hook that opens and closes a task for each pass of one model."""

    def __init__(self, task: SklearnCallbacks, model: int, name: str, current_model: CurrentModel) -> None:
        self._task, self._model, self._name, self._current_model = task, model, name, current_model
        self._own: Any = None
        self._pass: Any = None

    def begin(self) -> None:
        """The run begins, with its first pass."""
        task = self._task
        if task.n_models > 1:  # a single model has no task of its own
            self._own = task.open(task_name=self._name, task_id=self._model, max_subtasks=task.max_passes)
        self._pass = task.open(self._own, task_name="pass")

    def __call__(self, progress: Progress) -> str | None:
        """Report the state of the run to the callbacks; a reason to stop, if one of them requests it."""
        if self._pass is None:
            self._pass = self._task.open(self._own, task_name="pass")
        if progress.pass_ended and self._close_pass(progress.solution):
            return f"a callback asked to stop after pass {progress.pass_number}"
        return None

    def end(self, model: Model) -> None:
        """The run is over: close what is open."""
        if self._pass is not None:
            self._close_pass(lambda: model)
        if self._own is not None:
            self._task.close(self._own, lambda: self._current_model(self._model, model))

    def _close_pass(self, model: Callable[[], Model]) -> bool:
        # Closed before the callbacks are called: one that raises KeyboardInterrupt is not called again.
        context, self._pass = self._pass, None
        return self._task.close(context, lambda: self._current_model(self._model, model()))
