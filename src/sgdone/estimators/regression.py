"""What the two regressors share."""

import os
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgdone.estimators.linear_model import unchanged_if_it_fails
from sgdone.estimators.source_fit import fit_rows, partial_fit_rows, predicted_in_parts
from sgdone.estimators.summarised import Summarised
from sgdone.fit.checkpoints import FitCheckpoints, refuse_checkpoint
from sgdone.fit.labels import Frequencies, check_sample_weight, count_positive
from sgdone.fit.open_rows import (
    check_rows_and_labels,
    check_rows_to_predict,
    is_predicted_in_parts,
    is_row_input,
    linear_scores,
)
from sgdone.fit.options import as_bool
from sgdone.fit.training import FitTask, Start, fit_data
from sgdone.interfaces.objective import Model, Objective
from sgdone.losses.learning_task import Task
from sgdone.machine import interruption

#: Targets whose squares have all their digits.
_SMALLEST = 1e-145


class Regression(Summarised):
    """Fitting and predicting real numbers; not for users."""

    _task: ClassVar[Task] = "regression"

    @unchanged_if_it_fails
    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        coef_init: ArrayLike | None = None,
        intercept_init: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        every: float = 60.0,
        resume: bool = False,
    ) -> Self:
        """Train until the stopping rule fires; parameters as in `LinearClassifier.fit`, ``y`` real numbers."""
        if is_row_input(X, y):
            given = [("y", y), ("coef_init", coef_init), ("intercept_init", intercept_init)]
            given.append(("sample_weight", sample_weight))
            return fit_rows(self, X, given, FitCheckpoints.of(checkpoint, every, resume))  # type: ignore[no-any-return]
        refuse_checkpoint(checkpoint, resume)
        last_names = self._names_in_encoder()
        rows, y = check_rows_and_labels(self, X, y, purpose="fit", numeric=True, sample_weight=sample_weight)
        weight = check_sample_weight(sample_weight, rows.shape[0])
        starts = [Start(self._start_model(coef_init, intercept_init, rows, weight, last_names))]
        return self._fit_targets(rows, y, self._frequencies(weight), starts, data=fit_data(X, y, weight))

    @unchanged_if_it_fails
    def partial_fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        resume: bool = False,
    ) -> Self:
        """Train on some rows of a stream in one pass; step sizes continue from call to call."""
        if is_row_input(X, y):
            return partial_fit_rows(self, X, y, sample_weight, resume=resume)  # type: ignore[no-any-return]
        first = not hasattr(self, "_results")
        dtype = None if first else self.coef_.dtype
        X, y = check_rows_and_labels(
            self, X, y, dtype=dtype, purpose="partial_fit", numeric=True, sample_weight=sample_weight
        )
        self._append_features(X.shape[1])
        weight = check_sample_weight(sample_weight, X.shape[0])
        starts = [Start(self._start_model(None, None, X, weight))] if first else self._resumed(resume)
        return self._fit_targets(X, y, Frequencies(weight), starts, resume=resume)

    def _shapes(self, n_features: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return (n_features,), (1,)

    @interruption.remembered()
    def _fit_targets(
        self,
        X: Any,
        y: NDArray[Any],
        frequencies: Frequencies,
        starts: list[Start],
        *,
        resume: bool = False,
        data: dict[str, Any] | None = None,
    ) -> Self:
        """Train the model and become fitted; ``data`` is what callbacks see, None in ``partial_fit``."""

        def snapshot(number: int, model: Model) -> dict[str, Any]:
            return {"coef_": model.coef[0].copy(), "intercept_": model.intercept.copy()}

        task = None if data is None else FitTask(self, 1, self._rule().max_passes, data)
        targets = np.ascontiguousarray(y, dtype=np.float64)
        _check_size(targets)
        weight = frequencies.weights
        objective = self._objective(count_positive(weight, X.shape[0]), None)
        results = self._train(
            X,
            [lambda: targets],
            frequencies,
            objective,
            starts,
            [""],
            partial_fit=data is None,
            resume=resume,
            task=task,
            snapshot=snapshot,
        )
        attributes = self._fitted_attributes(results, [None], X.shape[1])
        if data is not None:
            attributes |= self._measured(results[0], X, weight)
        self._keep(attributes, partial_fit=data is None)
        if task is not None:
            task.end(attributes)
        return self

    def _labels_and_weights(
        self, labels: NDArray[Any], weight: NDArray[np.float64] | None
    ) -> tuple[NDArray[Any], NDArray[np.float64] | None]:
        return labels, weight

    def _summary_objective(self) -> Objective:
        intercept = as_bool("fit_intercept", self.fit_intercept)
        return Objective(self._fitted_loss(), 0.0, fit_intercept=intercept, predicts="target")

    def _class_labels(self) -> None:
        return None

    def predict(self, X: Any) -> NDArray[Any]:
        """The predicted number of each row; of a source, an iterator of them, an array a part."""
        self._check_fitted()
        if is_predicted_in_parts(X):
            return predicted_in_parts(X, self.predict)  # type: ignore[return-value]
        X = check_rows_to_predict(self, X)
        return linear_scores(X, self.coef_, self.intercept_[0], self._names_of_columns())


def _check_size(targets: NDArray[np.float64]) -> None:
    """Raise for targets so small that their squares underflow: every model would have the loss 0."""
    largest = float(np.abs(targets).max(initial=0.0))
    if 0 < largest < _SMALLEST:
        raise ValueError(f"y has no value above {largest:.2g}: its squares underflow. Multiply y by a large number")
