"""Fitting to labels of any kind, and predicting them with their probabilities."""

import os
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_expit

from sgdone.estimators.linear_model import unchanged_if_it_fails
from sgdone.estimators.source_fit import fit_rows, partial_fit_rows, predicted_in_parts
from sgdone.estimators.summarised import Summarised
from sgdone.fit.checkpoints import FitCheckpoints, refuse_checkpoint
from sgdone.fit.labels import (
    Frequencies,
    check_classes,
    check_sample_weight,
    count_positive,
    encode,
    encode_known,
    known_classes,
    refuse_balanced,
    signs,
    with_class_weight,
)
from sgdone.fit.open_rows import (
    check_rows_and_labels,
    check_rows_to_predict,
    is_predicted_in_parts,
    is_row_input,
    linear_scores,
)
from sgdone.fit.optimum_check import as_check_optimum, with_optimum_check
from sgdone.fit.options import as_bool, as_loss
from sgdone.fit.training import FitTask, Start, fit_data
from sgdone.interfaces.objective import Model, Objective, Predicts
from sgdone.losses.learning_task import Task
from sgdone.machine import interruption


def estimates_probabilities(model: Any) -> bool:
    """Whether a classifier's loss has probabilities; an AttributeError if not, as in scikit-learn."""
    loss = as_loss(model.loss, "classification")
    if not loss.probabilistic:
        raise AttributeError(
            f"probability estimates need a loss that has them: use loss='logistic' (this one is {loss.name!r})"
        )
    return True


def probabilities(scores: NDArray[Any], *, multinomial: bool = False) -> NDArray[Any]:
    """A column a class; for more than two, the softmax, or the one-vs-rest probabilities made to sum to 1.

    Examples
    --------
    >>> probabilities(np.array([0.0]))
    array([[0.5, 0.5]])
    """
    if scores.ndim == 1:
        return np.column_stack([expit(-scores), expit(scores)])
    return np.asarray(np.exp(log_probabilities(scores, multinomial=multinomial)))


def log_probabilities(scores: NDArray[Any], *, multinomial: bool = False) -> NDArray[Any]:
    """Logarithms of the same, exact where the probabilities themselves underflow."""
    if scores.ndim == 1:
        return np.column_stack([log_expit(-scores), log_expit(scores)])
    logs = scores if multinomial else log_expit(scores)
    return np.asarray(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))


class Classification(Summarised):
    """Fitting and predicting labels; not for users."""

    _task: ClassVar[Task] = "classification"
    class_weight: Any
    check_optimum: Any
    classes_: NDArray[Any]
    multinomial_: bool

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
        """Train until the stopping rule fires.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features), or a source
            Training rows. A source, from `sgdone.files` or `sgdone.batches`, has the labels and weights too.
        y : array of shape (n_samples,)
            Labels of any kind; required unless ``X`` is a source.
        coef_init, intercept_init : arrays, optional
            The model to start from.
        sample_weight : array of shape (n_samples,), optional
            Non-negative weights; they multiply the loss of a row, and a row of weight 0 is not read.
        checkpoint : path, optional
            File for checkpoints of a fit on a source that does not fit into memory. Ctrl-C and SIGTERM write one too.
        every : float, default=60
            Seconds between two checkpoints.
        resume : bool, default=False
            Whether to go on from the checkpoint, if it exists: the model is the same, bit for bit, as without the
            interruption.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        if is_row_input(X, y):
            given = [("y", y), ("coef_init", coef_init), ("intercept_init", intercept_init)]
            given.append(("sample_weight", sample_weight))
            return fit_rows(self, X, given, FitCheckpoints.of(checkpoint, every, resume))  # type: ignore[no-any-return]
        refuse_checkpoint(checkpoint, resume)
        last_names = self._names_in_encoder()
        rows, y = check_rows_and_labels(self, X, y, purpose="fit", numeric=False, sample_weight=sample_weight)
        classes, numbers = encode(y)
        own_weight = check_sample_weight(sample_weight, rows.shape[0])
        weights = self._frequencies(with_class_weight(self.class_weight, own_weight, classes, numbers))
        check_classes(classes, numbers, weights.weights)
        self._n_outputs = _n_outputs(classes)
        start = self._start_model(coef_init, intercept_init, rows, weights.weights, last_names)
        data = fit_data(X, y, own_weight)
        return self._fit_classes(rows, classes, numbers, weights, self._starts(start), data=data)

    @unchanged_if_it_fails
    def partial_fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        resume: bool = False,
    ) -> Self:
        """Train on some rows of a stream in one pass; step sizes continue from call to call.

        Parameters
        ----------
        X, y, sample_weight
            As in ``fit``.
        classes : array, optional
            All labels that can occur; needed in the first call. Of a source, those of its first rows by default.
        resume : bool
            Continue although a stopping rule given by the user has ended the model.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        if is_row_input(X, y):
            return partial_fit_rows(self, X, y, sample_weight, classes=classes, resume=resume)  # type: ignore[no-any-return]
        first = not hasattr(self, "_results")
        known = known_classes(classes, None if first else self.classes_)
        refuse_balanced(self.class_weight)
        dtype = None if first else self.coef_.dtype
        X, y = check_rows_and_labels(
            self, X, y, dtype=dtype, purpose="partial_fit", numeric=False, sample_weight=sample_weight
        )
        self._append_features(X.shape[1])
        numbers = encode_known(y, known)
        weight = check_sample_weight(sample_weight, X.shape[0])
        check_classes(known, numbers, None)
        weight = with_class_weight(self.class_weight, weight, known, numbers)
        self._n_outputs = _n_outputs(known)
        starts = self._starts(self._start_model(None, None, X, weight)) if first else self._resumed(resume)
        return self._fit_classes(X, known, numbers, Frequencies(weight), starts, resume=resume)

    def _shapes(self, n_features: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return (self._n_outputs, n_features), (self._n_outputs,)

    def _starts(self, start: Model | None) -> list[Start]:
        """One start for all classes if the method trains them together, else one per class."""
        if start is None or self._method().offers.several_outputs:
            return [Start(start)] * (1 if self._method().offers.several_outputs else self._n_outputs)
        return [Start(Model(start.coef[k : k + 1], start.intercept[k : k + 1])) for k in range(self._n_outputs)]

    @interruption.remembered()
    def _fit_classes(
        self,
        X: Any,
        classes: NDArray[Any],
        numbers: NDArray[np.integer[Any]],
        frequencies: Frequencies,
        starts: list[Start],
        *,
        resume: bool = False,
        data: dict[str, Any] | None = None,
    ) -> Self:
        """Train the models and become fitted; ``data`` is what callbacks see, None in ``partial_fit``."""
        weight = frequencies.weights
        check = as_check_optimum(self.check_optimum) if data is not None else False
        objective = self._objective(count_positive(weight, X.shape[0]), classes.size)
        single = len(starts) == 1
        together = single and classes.size > 2
        labels = [partial(np.asarray, numbers, dtype=np.float64)] if together else self._signs(numbers, len(starts))
        names = [""] if single else [f"class {label!r} " for label in classes.tolist()]
        task = None if data is None else FitTask(self, len(starts), self._rule().max_passes, data)
        has_callbacks = task is not None and task.active
        results = self._train(
            X,
            labels,
            frequencies,
            objective,
            starts,
            names,
            partial_fit=data is None,
            resume=resume,
            task=task,
            snapshot=self._snapshot(starts, X, classes, objective.predicts == "softmax") if has_callbacks else None,
        )
        cost = self._method().cost_per_pass
        results = with_optimum_check(check, results, X, labels, weight, self._names_of_columns(), cost)
        attributes = self._fitted_attributes(results, [None] if single else classes.tolist(), X.shape[1])
        attributes |= {"classes_": classes, "multinomial_": objective.predicts == "softmax"}
        if data is not None:
            attributes |= self._measured(results[0], X, weight)
        self._keep(attributes, partial_fit=data is None)
        if task is not None:
            task.end(attributes)
        return self

    @staticmethod
    def _signs(numbers: NDArray[np.integer[Any]], count: int) -> list[Any]:
        return [partial(signs, numbers, k) for k in ([1] if count == 1 else range(count))]

    def _snapshot(self, starts: list[Start], X: Any, classes: NDArray[Any], multinomial: bool) -> Any:
        """The models trained so far, as callbacks see them."""
        coef = np.zeros((self._n_outputs, X.shape[1]), dtype=X.dtype)
        intercept = np.zeros(self._n_outputs)
        for k, start in enumerate(starts):
            if start.model is not None and len(starts) == self._n_outputs:
                coef[k], intercept[k] = start.model.coef[0], start.model.intercept[0]

        def snapshot(number: int, model: Model) -> dict[str, Any]:
            coef[number : number + len(model.coef)] = model.coef
            intercept[number : number + len(model.coef)] = model.intercept
            return {
                "coef_": coef.copy(),
                "intercept_": intercept.copy(),
                "classes_": classes,
                "multinomial_": multinomial,
            }

        return snapshot

    def _labels_and_weights(
        self, labels: NDArray[Any], weight: NDArray[np.float64] | None
    ) -> tuple[NDArray[Any], NDArray[np.float64] | None]:
        numbers = encode_known(labels, self.classes_)
        weight = with_class_weight(self.class_weight, weight, self.classes_, numbers)
        present = np.unique(numbers if weight is None else numbers[weight > 0])
        if present.size < self.classes_.size:
            missing = np.delete(self.classes_, present).tolist()[0]
            raise ValueError(f"y has no row of the class {missing!r}: give the rows of the fit, with all classes")
        return (numbers if self.classes_.size > 2 else signs(numbers, 1)), weight

    def _summary_objective(self) -> Objective:
        if getattr(self, "center", False):
            raise ValueError("center=True sets the intercept from the means of the classes: fit with center=False")
        loss, several = self._fitted_loss(), self.classes_.size > 2
        predicts: Predicts = "two_classes" if not several else "softmax" if self.multinomial_ else "one_vs_rest"
        return Objective(
            loss,
            0.0,
            fit_intercept=as_bool("fit_intercept", self.fit_intercept),
            predicts=predicts,
            n_outputs=self.classes_.size if several else 1,
        )

    def _class_labels(self) -> list[Any]:
        return list(self.classes_.tolist())

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Signed scores: shape (n_samples,) for two classes (positive for ``classes_[1]``), else one per class."""
        self._check_fitted()
        if is_predicted_in_parts(X):
            return predicted_in_parts(X, self.decision_function)  # type: ignore[return-value]  # one array a part
        X = check_rows_to_predict(self, X)
        scores = linear_scores(X, self.coef_, self.intercept_, self._names_of_columns())
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The most likely label of each row; of a source, an iterator of them, an array a part."""
        if is_predicted_in_parts(X):
            return predicted_in_parts(X, self.predict)  # type: ignore[return-value]
        scores = self.decision_function(X)
        numbers = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        labels: NDArray[Any] = self.classes_[numbers]
        return labels

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Probabilities of the classes; for more than two, the softmax of the scores if ``multinomial_``.

        Otherwise they are the one-vs-rest probabilities, normalised to sum to 1.
        """
        if is_predicted_in_parts(X):
            return predicted_in_parts(X, self.predict_proba)  # type: ignore[return-value]
        return probabilities(self.decision_function(X), multinomial=getattr(self, "multinomial_", False))

    def predict_log_proba(self, X: Any) -> NDArray[Any]:
        """Logarithms of the probabilities, exact where the probabilities themselves underflow."""
        if is_predicted_in_parts(X):
            return predicted_in_parts(X, self.predict_log_proba)  # type: ignore[return-value]
        return log_probabilities(self.decision_function(X), multinomial=getattr(self, "multinomial_", False))


def _n_outputs(classes: NDArray[Any]) -> int:
    return 1 if classes.size == 2 else classes.size
