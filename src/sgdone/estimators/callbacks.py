"""scikit-learn's callbacks (from version 1.9): a task per pass and, for several classes, a task per class."""

from collections.abc import Callable
from typing import Any

from sgdone.interfaces.objective import Model
from sgdone.interfaces.stop_rule import Progress

#: The fitted attributes at this moment, from the number of a model and the model, for callbacks that predict.
Snapshot = Callable[[int, Model], dict[str, Any]]


def fit_data(X: Any, y: Any, sample_weight: Any) -> dict[str, Any]:
    """The data as callbacks see them: the user's own X, whose columns may have names."""
    return {"X": X, "y": y, "metadata": None if sample_weight is None else {"sample_weight": sample_weight}}


class FitTask:
    """The tasks of one fit, as callbacks see them."""

    def __init__(self, estimator: Any, n_models: int, max_passes: int | None, data: dict[str, Any]) -> None:
        self._estimator, self._data = estimator, data
        self._n_models = n_models
        self._max_passes = max_passes
        self.active = bool(getattr(estimator, "_skl_callbacks", []))
        if not hasattr(estimator, "_init_callback_context"):
            return
        single = n_models == 1
        self._root = estimator._init_callback_context(
            max_subtasks=self._max_passes if single else n_models, sequential_subtasks=single
        )
        self._root.call_on_fit_task_begin(estimator=estimator, **data)

    def hook(self, model: int, name: str, snapshot: Snapshot) -> "ModelTask | None":
        """A hook for the run of one model."""
        if not self.active:
            return None
        return ModelTask(self, model, name, snapshot)

    def open(self, parent: Any = None, **options: Any) -> Any:
        """Begin a task under another one or the fit."""
        context = (parent or self._root).subcontext(**options)
        context.call_on_fit_task_begin(estimator=self._estimator, **self._data)
        return context

    def open_model(self, model: int, name: str) -> Any:
        """Begin the task of one model of several; a single model has none of its own."""
        if self._n_models == 1:
            return None
        return self.open(task_name=name, task_id=model, max_subtasks=self._max_passes)

    def close(self, context: Any, attributes: Any) -> bool:
        """End a task; returns whether a callback requests a stop."""
        return bool(
            context.call_on_fit_task_end(estimator=self._estimator, reconstruction_attributes=attributes, **self._data)
        )

    def end(self, attributes: dict[str, Any]) -> None:
        """The fit is over."""
        if hasattr(self, "_root"):
            self.close(self._root, attributes)


class ModelTask:
    """A hook that opens and closes a task for each pass of one model."""

    def __init__(self, task: FitTask, model: int, name: str, snapshot: Snapshot) -> None:
        self._task, self._model, self._name, self._snapshot = task, model, name, snapshot
        self._own: Any = None
        self._pass: Any = None

    def begin(self) -> None:
        """The run begins, with its first pass."""
        self._own = self._task.open_model(self._model, self._name)
        self._pass = self._task.open(self._own, task_name="pass")

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
            self._task.close(self._own, lambda: self._snapshot(self._model, model))

    def _close_pass(self, model: Callable[[], Model]) -> bool:
        # Closed before the callbacks are called: one that raises KeyboardInterrupt is not called again.
        context, self._pass = self._pass, None
        return self._task.close(context, lambda: self._snapshot(self._model, model()))
