"""Summaries of fitted models: standard errors, intervals, and intervals of predictions."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgdone.estimators.linear_model import LinearModel
from sgdone.fit.labels import Frequencies, check_sample_weight
from sgdone.fit.open_rows import check_rows_and_labels, check_rows_to_predict, is_row_input, linear_scores, mapped_rows
from sgdone.interfaces.objective import Objective
from sgdone.losses.loss import Loss, real_or_nan
from sgdone.rows.faults import check_labels

if TYPE_CHECKING:  # imported when a summary is asked for: a fit does not wait for them
    from sgdone.inference import Summary
    from sgdone.inference.layout import FittedModel
    from sgdone.inference.prediction import Intervals
    from sgdone.inference.reference_coding import ReferenceCoding
    from sgdone.tables import TableEncoderCore

Array = NDArray[np.float64]


class Summarised(LinearModel):
    """A linear model with summaries; not for users."""

    def summary(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        cov: Literal["robust", "classical", "cluster"] = "robust",
        groups: ArrayLike | None = None,
        columns: Sequence[Any] | None = None,
        level: float = 0.95,
        reference: Any = None,
        weights: Literal["frequency", "sampling"] = "frequency",
    ) -> "Summary":
        """Standard errors, p-values and intervals of the coefficients, where they can be trusted.

        They belong to the optimum without a penalty, which Newton's method finds from the model; the model itself is
        not changed. Coefficients whose standard error would be wrong are refused, with the reason in ``refused``.

        Levels of a category, and months, weekdays and hours of a date, are compared with the most frequent one of the
        rows given: its coefficient would be 0. ``column_tests`` has one test for all levels of each.

        Parameters
        ----------
        X, y : array, sparse matrix or data frame, and array
            The rows of the fit; or a source, such as `sgdone.files`, which has the labels too. Rows that do not fit
            into memory are kept on disk while the sums are computed.
        sample_weight : array of shape (n_samples,), optional
            As in ``fit``.
        cov : {"robust", "classical", "cluster"}, default="robust"
            "robust" is the sandwich H⁻¹(Σggᵀ)H⁻¹·n/(n − k), with the curvature H and the gradients g of the rows: right
            if the model is not exactly true, for errors of unequal variance say. "classical" is the inverse of the
            information, of the squared loss with t quantiles of n − k degrees of freedom. "cluster" sums g over each of
            the ``groups``, with the factor G/(G − 1)·(n − 1)/(n − k): for rows that are not independent.
        groups : array of shape (n_samples,), optional
            The group of each row, for ``cov="cluster"``: at least 30 groups.
        columns : sequence of str or int, optional
            Names or numbers of the features to report; all by default. The name of a column of a table stands for all
            of its features: levels, parts of a date, gaps. With more than 4,096 coefficients a few columns
            take much less time, and are exact.
        level : float, default=0.95
            Level of the intervals.
        reference : label, optional
            The class that the others are compared with; the first by default.
        weights : {"frequency", "sampling"}, default="frequency"
            Whether a weight of 2 stands for two equal rows, or for a row that was drawn with half the probability.

        Returns
        -------
        Summary
            ``print`` it; ``to_frame()``, ``plot()``, ``wald(R)``, ``column_tests``, ``refused``.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from sgdone import LinearRegressor
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> summary = LinearRegressor().fit(X, y).summary(X, y, columns=["bmi"])
        >>> summary.features, summary.coef.round(1), summary.std_err.round(1)
        (['(intercept)', 'bmi'], array([152.1, 519.8]), array([ 2.6, 67.4]))
        """
        from sgdone.inference.chosen_columns import chosen_columns
        from sgdone.inference.sample import Sample
        from sgdone.inference.sample_rows import SampleRows
        from sgdone.inference.summarise import summarise

        self._check_fitted()
        if is_row_input(X, y):
            X, y, sample_weight = mapped_rows(self, X)
            rows, labels = X, np.asarray(y)
        else:
            rows, labels = check_rows_and_labels(self, X, y, purpose="predict", numeric=self._task == "regression")
        weight = check_sample_weight(sample_weight, rows.shape[0])
        objective, model = what_is_summarised(self, cov, weights, groups, level, reference)
        numbers, weight = self._labels_and_weights(labels, weight)
        frequencies = Frequencies.of(weight)
        coding = self._reference_coding(rows, objective, numbers, frequencies.weights)
        chosen = chosen_columns(columns, model.feature_names, coding)
        if coding is not None:
            rows, model = coding.rows(rows), coding.model(model)
        given = SampleRows.of(
            rows,
            np.ascontiguousarray(numbers, dtype=np.float64),
            frequencies.weights,
            _group_numbers(groups, rows.shape[0]),
            self._names_of_columns() if coding is None else coding.names,
        )
        sample = Sample.of(objective, given, weights, 1.0 if weights == "sampling" else frequencies.mean)
        return replace(summarise(sample, model, cov, chosen, float(level)), coding=coding)

    def predict_interval(self, X: Any, summary: "Summary", *, level: float | None = None) -> "Intervals":
        """Intervals of means or probabilities, from the optimum of a summary.

        The delta method on the score: the interval of a probability is that of its log odds, so that it stays between 0
        and 1. Intervals are those of the mean, not of a new observation.

        Parameters
        ----------
        X : array, sparse matrix or data frame
            Rows to predict.
        summary : Summary
            What ``summary`` returned.
        level : float, optional
            Level of the intervals; that of the summary by default.

        Returns
        -------
        Intervals
            ``estimate``, ``low`` and ``high``: means, or probabilities of ``classes_[1]``; with more classes a column
            each. NaN for rows whose prediction depends on a coefficient that is refused, or on a level that no row of
            the summary had.
        """
        from scipy import stats

        from sgdone.inference import Summary

        self._check_fitted()
        if not isinstance(summary, Summary):
            raise TypeError(f"summary must be what model.summary(X, y) returns; got {type(summary).__name__}")
        rows = check_rows_to_predict(self, X).astype(np.float64)
        linear_scores(rows, np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_), self._names_of_columns())
        objective, coding = self._summary_objective(), summary.coding
        if not objective.is_regression and (not objective.loss.probabilistic or objective.predicts == "one_vs_rest"):
            raise ValueError("intervals need probabilities of one model: fit LinearClassifier with loss='logistic'")
        if summary.predictor is None:
            reason = next(iter(summary.refused.values())).reason if summary.refused else "it is of some columns only"
            raise ValueError(f"this summary has no intervals of predictions: {reason}")
        if summary.predictor.objective != objective:
            raise ValueError("the summary is of another kind of model: give that of this model")
        features = summary.predictor.features if coding is None else coding.model_names
        if len(features) != rows.shape[1]:
            raise ValueError(f"the summary is of {len(features)} features, but X has {rows.shape[1]}")
        for what, known, own in (
            ("features", features, self._summary_names(rows.shape[1])),
            ("classes", summary.predictor.classes, self._class_labels()),
        ):
            if known is not None and own is not None and list(known) != list(own):
                raise ValueError(f"the {what} {list(known)[:5]} of the summary are not those of the model")
        chosen = summary.level if level is None else level
        _check_level(chosen)
        at = 0.5 + 0.5 * float(chosen)
        quantile = stats.t.ppf(at, summary.df) if np.isfinite(summary.df) else stats.norm.ppf(at)
        if coding is None:
            return summary.predictor.intervals(rows, float(quantile))
        found, unknown = summary.predictor.intervals(coding.rows(rows), float(quantile)), coding.is_unknown(rows)
        for values in found:
            values[unknown] = np.nan
        return found

    def _reference_coding(
        self, rows: Any, objective: Objective, labels: NDArray[Any], weight: Array | None
    ) -> "ReferenceCoding | None":
        """The features of a summary of encoded rows; None if the columns were numbers."""
        encoder = encoder_of_levels(self)
        if encoder is None:
            return None
        from sgdone.inference.reference_coding import reference_coding

        coding = reference_coding(
            encoder.column_features(),
            self._summary_names(rows.shape[1]),
            rows,
            None if objective.is_regression else labels,
            weight,
            fit_intercept=objective.fit_intercept,
        )
        return replace(coding, left_out={**encoder.left_out_, **coding.left_out})

    def _summary_names(self, n_features: int) -> list[str]:
        """Names of the features; x0, x1, ... if they have none."""
        names = self._names_of_columns()
        return [f"x{j}" for j in range(n_features)] if names is None else [str(name) for name in names]

    @abstractmethod
    def _labels_and_weights(self, labels: NDArray[Any], weight: Array | None) -> tuple[NDArray[Any], Array | None]:
        """Labels as the loss needs them, and sample weights with those of the classes."""

    @abstractmethod
    def _summary_objective(self) -> Objective:
        """The objective of the fit, without its penalty."""

    @abstractmethod
    def _class_labels(self) -> list[Any] | None:
        """The classes; None for a regression."""

    def _fitted_loss(self) -> Loss:
        """The loss of the fit, with parameters that were found from the rows."""
        results = getattr(self, "_results", None)
        return results[0].objective.loss if results else self._loss()

    def _reference(self, reference: Any) -> int:
        classes = self._class_labels()
        if reference is None:
            return 0
        if classes is None:
            raise ValueError(f"reference={reference!r}: a regression has no classes")
        if reference not in classes:
            raise ValueError(f"reference={reference!r} is not one of the classes {classes}")
        if len(classes) > 2 and not getattr(self, "multinomial_", False):
            raise ValueError("each class was trained against the rest: there is no reference")
        return classes.index(reference)


def what_is_summarised(
    model: Summarised, cov: Any, weights: Any, groups: Any, level: Any, reference: Any
) -> "tuple[Objective, FittedModel]":
    """The objective without its penalty, and the fitted model; raise for options that do not fit."""
    from sgdone.inference.layout import FittedModel

    _check_options(cov, weights, groups, level)
    if getattr(model, "class_weight", None) is not None and weights == "frequency":
        raise ValueError(
            "the model has a class_weight, and class weights are not numbers of rows: use weights='sampling', or "
            "fit without class_weight"
        )
    objective = model._summary_objective()
    _check_classical(cov, objective)
    coef = np.atleast_2d(model.coef_).astype(np.float64)
    return objective, FittedModel(
        coef,
        np.atleast_1d(model.intercept_).astype(np.float64),
        model._summary_names(coef.shape[1]),
        model._class_labels(),
        model._reference(reference),
        float(model.alpha_),
        str(model.verdict_),
        is_minimum=model.verdict_.is_minimum or hasattr(model, "solver"),
    )


def encoder_of_levels(model: Summarised) -> "TableEncoderCore | None":
    """The encoder of the model; None if its columns were numbers."""
    encoder: TableEncoderCore | None = getattr(model, "encoder_", None)
    return None if encoder is None or encoder.is_plain else encoder


def _check_options(cov: Any, weights: Any, groups: Any, level: Any) -> None:
    from sgdone.inference.covariance import Cov
    from sgdone.inference.sample import Weights

    for name, value, known in (("cov", cov, get_args(Cov)), ("weights", weights, get_args(Weights))):
        if not isinstance(value, str) or value not in known:
            raise ValueError(f"{name}={value!r} is not one of {', '.join(map(repr, known))}")
    _check_level(level)
    if cov == "cluster" and groups is None:
        raise ValueError("cov='cluster' needs groups: one label for each row, equal for rows that are not independent")
    if cov != "cluster" and groups is not None:
        raise ValueError(f"groups are for cov='cluster'; cov is {cov!r}")
    if cov == "classical" and weights == "sampling":
        raise ValueError("cov='classical' takes weights as frequencies: use cov='robust' with sampling weights")


def _check_level(level: Any) -> None:
    if not 0 < real_or_nan(level) < 1:
        raise ValueError(f"level={level!r} is not a number between 0 and 1, as 0.95")


def _check_classical(cov: Any, objective: Objective) -> None:
    loss = objective.loss
    has_likelihood = loss.probabilistic or (objective.is_regression and (loss.quadratic or loss.name == "huber"))
    if cov == "classical" and not has_likelihood:
        raise ValueError(f"cov='classical' needs a likelihood, which the {loss.name} loss does not have: use 'robust'")


def _group_numbers(groups: ArrayLike | None, n_rows: int) -> NDArray[np.intp] | None:
    """Groups of any kind, numbered."""
    if groups is None:
        return None
    check_labels(groups, "groups")
    labels = np.asarray(groups)
    if labels.shape != (n_rows,):
        raise ValueError(f"groups has shape {labels.shape} for {n_rows} rows of X: give one label for each row")
    return np.unique(labels, return_inverse=True)[1].astype(np.intp).reshape(-1)
