"""Standard errors of a model whose rows are in partitions, in rounds of sums."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from sgdone.cluster.label_coding import ClassWeights
from sgdone.cluster.level_sums import LevelsOfPartition, LevelSums
from sgdone.cluster.partition_sample import PartitionSample
from sgdone.cluster.rounds import Rounds
from sgdone.cluster.row_form import encode_tables
from sgdone.cluster.search import MOST_COEFFICIENTS
from sgdone.cluster.separation import (
    Direction,
    SeparatedInPartitions,
    find_direction,
    no_direction_refusal,
    refusals_of_classes,
)
from sgdone.cluster.statistics import RowStatistics, Statistics
from sgdone.cluster.summary_problem import SummaryProblem
from sgdone.data.threads import single_thread
from sgdone.estimators.sample_weights import class_weight_values
from sgdone.estimators.summarised import Summarised, encoder_of_levels, what_is_summarised
from sgdone.inference import Summary
from sgdone.inference.chosen_columns import chosen_columns
from sgdone.inference.dense_covariance import Cov
from sgdone.inference.estimate import (
    coefficients_of_output,
    completely_separated,
    early_refusal,
    estimate_at,
    few_groups_refusal,
    refusals_at,
)
from sgdone.inference.estimate_result import Estimate
from sgdone.inference.factors import divisions_of
from sgdone.inference.identification import identification
from sgdone.inference.layout import FittedModel, Layout
from sgdone.inference.optimum import NoOptimumError, find_optimum
from sgdone.inference.reference_coding import ReferenceCoding, coding_of
from sgdone.inference.summarise import summary_of
from sgdone.interfaces.objective import Objective

#: Most directions that separate rows which those before them do not separate: each takes a search of its own.
_MOST_DIRECTIONS = 20


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
        count = (len(fitted.feature_names) + 1) * objective.n_free_outputs
        if count > MOST_COEFFICIENTS:
            raise ValueError(
                f"the summary has {count:,} coefficients, and on a cluster at most {MOST_COEFFICIENTS:,} are possible: "
                "fit with fewer columns, or give model.summary(X, y) a random sample of the rows on one machine"
            )
        problem = SummaryProblem.of(
            objective,
            classes,
            class_weights,
            None if coding is None else coding.choice,
            list(fitted.feature_names),
            sampling=weights == "sampling",
            grouped=cov == "cluster",
        )
        sample = PartitionSample.of(rounds, problem)
        layout = Layout.of(objective, fitted, chosen)
        found = _estimate(sample, fitted, layout, cov)
        return replace(summary_of(sample, fitted, layout, cov, float(level), found), coding=coding)


def _estimate(sample: PartitionSample, model: FittedModel, layout: Layout, cov: Cov) -> Estimate:
    """The optimum and the covariance there, as `sgdone.inference.estimate.estimate` finds them on one machine."""
    refusal = early_refusal(sample, layout, cov)
    if refusal is not None:
        return Estimate.nothing(layout, refusal)
    refusal = few_groups_refusal(sample, cov)
    rest, directions, optimum = sample, list[Direction](), None
    while optimum is None:
        try:
            optimum = find_optimum(rest, rest.model_in_units(model.coef, model.intercept))
        except NoOptimumError as failure:
            known = sample.objective.loss.fades and len(directions) < _MOST_DIRECTIONS
            direction = find_direction(rest, failure) if known else None
            if direction is None:
                return Estimate.nothing(layout, no_direction_refusal(failure))
            if sample.objective.predicts != "two_classes":
                refused = refusals_of_classes(sample, layout, direction)
                return Estimate(np.full(layout.size, np.nan), refused, attained=False)
            directions.append(direction)
            if direction.n_separated == rest.facts.rows:
                infinite = SeparatedInPartitions(directions, sample.facts.rows, is_only=False)
                return completely_separated(sample, layout, infinite)
            rest = rest.without(direction.values[:, 0])
    separated: SeparatedInPartitions | None = None
    if directions:
        only = _n_determined(sample, layout) == int(optimum.estimated.sum()) + 1
        separated = SeparatedInPartitions(directions, sample.facts.rows, only)
    refused = refusals_at(sample, rest, optimum, layout, cov, refusal, separated)
    return estimate_at(sample, rest, optimum, layout, cov, refused, model, attained=separated is None)


def _n_determined(sample: PartitionSample, layout: Layout) -> int:
    """Number of coefficients that the columns of all rows determine, whatever the labels are."""
    found = identification(np.append(sample.varies, layout.has_intercept), sample.column_products())
    return coefficients_of_output(sample, layout) - (0 if found is None else found.dropped.size)


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
    facts: LevelSums | None = rounds.sum(LevelsOfPartition(objective, classes, class_weights, features))
    if facts is None:
        raise ValueError("no partition has a row of positive weight: there is nothing to summarise")
    coding = coding_of(columns, names, divisions, facts, fit_intercept=objective.fit_intercept)
    return replace(coding, left_out={**encoder.left_out_, **coding.left_out})
