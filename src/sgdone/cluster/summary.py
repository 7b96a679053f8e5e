"""Standard errors of a model whose rows are in partitions, in rounds of sums."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, final

import numpy as np

from sgdone.cluster.answers import PartitionError
from sgdone.cluster.label_coding import ClassWeights
from sgdone.cluster.level_sums import LevelsOfPartition, LevelSums
from sgdone.cluster.partition import Partition
from sgdone.cluster.rounds import Rounds
from sgdone.cluster.statistics import RowStatistics, Statistics
from sgdone.cluster.summary_problem import PartitionRows, SummaryProblem
from sgdone.estimators.sample_weights import class_weight_values
from sgdone.estimators.summarised import Summarised, encoder_of_levels, what_is_summarised
from sgdone.inference import Summary
from sgdone.inference.chosen_columns import chosen_columns
from sgdone.inference.factors import divisions_of
from sgdone.inference.layout import FittedModel
from sgdone.inference.reference_coding import ReferenceCoding, coding_of
from sgdone.inference.sample import Sample
from sgdone.inference.summarise import summarise
from sgdone.interfaces.objective import Objective
from sgdone.machine.threads import single_thread
from sgdone.sums.row_sum import RowSum, message


@final
@message
@dataclass(frozen=True)
class FormOfRows:
    """Number of columns, and whether the rows are tables."""

    partition: int
    n_columns: int
    is_table: bool

    def merge(self, other: "FormOfRows") -> "FormOfRows":
        """The form of both; raise if they differ."""
        if (self.n_columns, self.is_table) != (other.n_columns, other.is_table):
            here, there = (
                f"{'a data frame' if own.is_table else 'an array'} of {own.n_columns} columns" for own in (self, other)
            )
            raise PartitionError(
                f"partition {self.partition} is {here}, partition {other.partition} is {there}: all need the same "
                "columns"
            )
        return self


@final
@message
@dataclass(frozen=True)
class AskFormOfRows(RowSum):
    """Ask for the form of the rows."""

    def of(self, partition: Partition) -> FormOfRows:
        """The form of these rows."""
        return FormOfRows(partition.number, int(partition.X.shape[1]), partition.is_table)


def encode_tables(rounds: Rounds, model: Summarised, n_features: int) -> None:
    """Encode tables by the encoder of the model; raise for rows that are not those of the model."""
    form: FormOfRows | None = rounds.sum(AskFormOfRows())
    if form is None:
        raise ValueError("no partition has a row of positive weight: there is nothing to summarise")
    encoder = getattr(model, "encoder_", None)
    if form.is_table and encoder is None:
        raise ValueError(
            "the partitions hold data frames, but the model was fitted to arrays: give the rows of the fit"
        )
    if form.is_table:
        rounds.encode(encoder)
    elif form.n_columns != n_features:
        raise ValueError(f"the partitions have {form.n_columns} columns, but the model has {n_features}")


def summarise_partitions(
    rounds: Rounds,
    model: Summarised,
    *,
    cov: Literal["robust", "classical", "cluster"] = "robust",
    columns: Sequence[Any] | None = None,
    level: float = 0.95,
    reference: Any = None,
    weights: Literal["frequency", "sampling"] = "frequency",
) -> Summary:
    """Standard errors, p-values and intervals of a model whose rows are in partitions.

    The summary is that of ``model.summary(X, y)`` on one machine. The rows stay where they are: models are sent to the
    partitions, and sums come back.

    Parameters
    ----------
    rounds : Rounds
        Sends requests to the partitions of the fit; tables are encoded by the encoder of the model.
    model : Summarised
        The fitted model, from which Newton's method starts.
    cov : {"robust", "classical", "cluster"}, default="robust"
        As in ``summary``; "cluster" needs the ``groups`` of each partition.
    columns, level, reference, weights
        As in ``summary``.

    Returns
    -------
    Summary

    Examples
    --------
    >>> from sgdone import LinearRegressor
    >>> from sgdone.cluster import LocalEngine, Partition
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 2))
    >>> y = X @ [1.0, -2.0] + rng.standard_normal(300)
    >>> model = LinearRegressor().fit(X, y)
    >>> found = summarise_partitions(Rounds(LocalEngine([Partition(k, X[k::4], y[k::4]) for k in range(4)])), model)
    >>> bool(np.allclose(found.std_err, model.summary(X, y).std_err))
    True
    """
    model._check_fitted()
    groups = True if cov == "cluster" else None
    objective, fitted = what_is_summarised(model, cov, weights, groups, level, reference)
    with single_thread(), np.errstate(over="ignore", invalid="ignore"):
        encode_tables(rounds, model, len(fitted.feature_names))
        classes = getattr(model, "classes_", None)
        class_weights = _class_weights(rounds, getattr(model, "class_weight", None))
        coding = _coding(rounds, model, objective, classes, class_weights, fitted)
        chosen = chosen_columns(columns, fitted.feature_names, coding)
        if coding is not None:
            fitted = coding.model(fitted)
        names, choice = list(fitted.feature_names), None if coding is None else coding.choice
        problem = SummaryProblem(objective, classes, class_weights, choice, names, cov == "cluster")
        sample = Sample.of(objective, PartitionRows(rounds, problem), weights)
        if classes is not None and not np.all(sample.facts.classes > 0):
            missing = classes[sample.facts.classes == 0].tolist()[0]
            raise ValueError(
                f"no partition has a row of the class {missing!r}: give the rows of the fit, with all classes"
            )
        return replace(summarise(sample, fitted, cov, chosen, float(level)), coding=coding)


def _class_weights(rounds: Rounds, class_weight: Any) -> ClassWeights | None:
    """The weights of the classes of all rows."""
    if class_weight is None:
        return None
    found: RowStatistics = rounds.sum(Statistics("classification"))
    labels = found.labels
    assert labels.classes is not None
    return ClassWeights(labels.classes, class_weight_values(class_weight, labels.classes, labels.weights))


def _coding(
    rounds: Rounds,
    model: Summarised,
    objective: Objective,
    classes: Any,
    class_weights: ClassWeights | None,
    fitted: FittedModel,
) -> ReferenceCoding | None:
    """The features of a summary of tables; None if the columns were numbers."""
    encoder = encoder_of_levels(model)
    if encoder is None:
        return None
    columns, names = encoder.column_features(), fitted.feature_names
    divisions = divisions_of(columns, names)
    features = [own.features for own in divisions]
    facts: LevelSums | None = rounds.sum(LevelsOfPartition(classes, class_weights, features))
    if facts is None:
        raise ValueError("no partition has a row of positive weight: there is nothing to summarise")
    coding = coding_of(columns, names, divisions, facts, fit_intercept=objective.fit_intercept)
    return replace(coding, left_out={**encoder.left_out_, **coding.left_out})
