"""A fit over partitions: statistics, a pass of the bank, and Newton's method, in rounds."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.cluster.engine import Engine
from sgdone.cluster.partition import ClassWeights, LabelCoding
from sgdone.cluster.partition_source import FirstRounds, PartitionSource
from sgdone.cluster.phases import cluster_phases
from sgdone.cluster.rounds import RoundLog, RoundRecord, Rounds, written_on_errors
from sgdone.cluster.statistics import LabelSums, RowStatistics, Statistics
from sgdone.cluster.tables import learnt_encoder
from sgdone.fit.labels import class_weight_values
from sgdone.interfaces.objective import Model, Objective
from sgdone.interfaces.stop_rule import AllOf, StopRule
from sgdone.losses import Logistic, Squared
from sgdone.losses.learning_task import Task
from sgdone.losses.loss import Loss
from sgdone.machine.threads import single_thread
from sgdone.newton.exact_phase import can_be_exact
from sgdone.rows.source import LEAST_ROWS, MOST_ROWS
from sgdone.run import Clock, Hook, Result, Trace, Verdict, run
from sgdone.stopping import Gain, MaxPasses, MaxSeconds
from sgdone.sums.units import ColumnMoments, Units
from sgdone.tables import TableEncoderCore


@final
@dataclass(frozen=True)
class ClusterFit:
    """A model that was fitted to partitions.

    Parameters
    ----------
    result : Result
        Model, trace and verdict, as of a fit on one machine.
    classes : ndarray or None
        The labels, sorted; None in regression.
    encoder : TableEncoderCore or None
        How tables were encoded; None for arrays.
    units : Units
        Units in which the penalty acts on the coefficients.
    rounds : tuple of RoundRecord
        Each round, with the bytes that it sent and received.
    names : list of str or None
        Names of the columns of arrays, if they have any.
    """

    result: Result
    classes: NDArray[Any] | None
    encoder: TableEncoderCore | None
    units: Units
    rounds: tuple[RoundRecord, ...]
    names: list[str] | None

    @property
    def model(self) -> Model:
        """The model in the user's units."""
        return self.result.model

    @property
    def objective(self) -> Objective:
        """The objective, with the penalty that was given or chosen."""
        return self.result.objective

    @property
    def trace(self) -> Trace:
        """One row per round."""
        return self.result.trace

    @property
    def verdict(self) -> Verdict:
        """Why the fit ended, and what is left to gain."""
        return self.result.verdict

    @property
    def bytes_sent(self) -> int:
        """Bytes of all requests."""
        return sum(record.bytes_sent for record in self.rounds)

    @property
    def bytes_new(self) -> int:
        """Bytes of all parts of requests that no earlier round has sent."""
        return sum(record.bytes_new for record in self.rounds)

    @property
    def bytes_received(self) -> int:
        """Bytes of all answers."""
        return sum(record.bytes_received for record in self.rounds)


#: Smallest size of targets whose squares have all their digits.
_SMALLEST = 1e-145


def fit_partitions(
    engine: Engine,
    *,
    task: Task = "classification",
    loss: Loss | None = None,
    alpha: float | None = None,
    stop: StopRule | None = None,
    fit_intercept: bool = True,
    class_weight: Any = None,
    columns: Mapping[str, str] | None = None,
    random_state: int = 0,
    hooks: Sequence[Hook] = (),
    log: RoundLog | None = None,
    began: float | None = None,
) -> ClusterFit:
    """Fit a linear model to rows that are in several partitions.

    The partitions stay where they are: requests and models are sent to them, sums come back. Sums are merged in the
    order of the partitions, in a fixed tree, so that the result does not depend on which is first.

    Parameters
    ----------
    engine : Engine
        Keeps the partitions, and sends requests to them.
    task : {"classification", "regression"}, default="classification"
        Whether labels are classes or numbers.
    loss : Loss, optional
        Smooth and convex. Logistic loss by default, squared loss in regression.
    alpha : float, optional
        Penalty; chosen if it is not given.
    stop : StopRule, optional
        Budgets, as in ``Gain() | MaxSeconds(60)``: a round is a pass. Otherwise a fit ends at the optimum.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    class_weight : dict, "balanced" or None
        Weights of classes.
    columns : dict, optional
        Kinds of columns of tables that the user states.
    random_state : int, default=0
        Seed of the order of the rows and of the choice of validation rows.
    hooks : sequence of callables
        Called after each round; a returned text ends the fit.
    log : RoundLog, optional
        Keeps the sums of all rounds, to go on from after the driver has died.
    began : float, optional
        When the fit began, by ``time.perf_counter``: reading the partitions may be part of it. Now by default.

    Examples
    --------
    >>> from sgdone.cluster import LocalEngine, Partition
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 2))
    >>> y = X @ [1.0, -2.0] + 3.0
    >>> parts = [Partition(k, X[k::4], y[k::4]) for k in range(4)]
    >>> fit = fit_partitions(LocalEngine(parts), task="regression", alpha=0.0)
    >>> fit.model.coef.round(6), fit.model.intercept.round(6)
    (array([[ 1., -2.]]), array([3.]))
    """
    stop = Gain() if stop is None else stop
    _check_rule(stop)
    _check_loss(task, loss)
    began = time.perf_counter() if began is None else began
    first = FirstRounds(hooks, began)
    rounds = Rounds(engine, first.after_round, log)
    with single_thread(), np.errstate(over="ignore", invalid="ignore"), written_on_errors(log):
        encoder = learnt_encoder(rounds, columns)
        statistics, class_weights = _statistics(rounds, task, class_weight, digest=log is not None)
        objective = _objective(task, loss, alpha, statistics.labels, fit_intercept=fit_intercept)
        units = statistics.units(fit_intercept=fit_intercept)
        coding = LabelCoding(statistics.labels.classes, class_weights)
        source = PartitionSource(rounds, coding, statistics, log)
        rounds.after_round = None
        phases, clock = cluster_phases(source, units, random_state), Clock(began, trace=tuple(first.trace))
        result = run(source, objective, phases, stop, hooks=first.later_hooks, clock=clock)
    return ClusterFit(result, coding.classes, encoder, units, tuple(rounds.records), statistics.names)


def _check_rule(stop: StopRule) -> None:
    """Raise unless a rule consists of the default and budgets, joined by ``|``."""
    wrong = [leaf for leaf in stop.leaves if leaf.tolerance is None and not isinstance(leaf, MaxPasses | MaxSeconds)]
    if _has_all_of(stop):
        raise ValueError(f"stop={stop!r}: a fit on a cluster takes budgets that are joined by |")
    if wrong:
        raise ValueError(
            f"stop={wrong[0]!r}: a fit on a cluster ends at the optimum or at a budget, such as MaxSeconds(60) or "
            "MaxPasses(20)"
        )


def _has_all_of(rule: StopRule) -> bool:
    return isinstance(rule, AllOf) or any(map(_has_all_of, getattr(rule, "rules", ())))


def _statistics(
    rounds: Rounds, task: Task, class_weight: Any, *, digest: bool
) -> tuple[RowStatistics, ClassWeights | None]:
    """Statistics of all rows, with the weights of their classes."""
    statistics: RowStatistics | None = rounds.sum(Statistics(task, digest=digest))
    if statistics is None:
        raise ValueError("no partition has a row of positive weight: there is nothing to learn from")
    weights: ClassWeights | None = None
    if class_weight is not None:
        labels = statistics.labels
        assert labels.classes is not None
        weights = ClassWeights(labels.classes, class_weight_values(class_weight, labels.classes, labels.weights))
        statistics = rounds.sum(Statistics(task, weights, digest))
        assert statistics is not None
    if not LEAST_ROWS <= statistics.weight <= MOST_ROWS:
        raise ValueError(
            f"the sample weights sum to {statistics.weight:.3g}, which cannot be a number of rows: divide them by "
            "their mean"
        )
    if not statistics.roles.size:
        raise ValueError("X has 0 columns: give one feature or more")
    if statistics.labels.moments is not None:
        _check_targets(statistics.labels.moments)
    return statistics, weights


def _check_targets(targets: ColumnMoments) -> None:
    """Raise for targets that are so small that their squares underflow."""
    largest = abs(float(targets.means[0])) + float(np.sqrt(targets.squares[0] / targets.rows))
    if 0 < largest < _SMALLEST:
        raise ValueError(f"the targets are of size {largest:.2g}, and their squares underflow: multiply y by a number")


def _objective(
    task: Task, loss: Loss | None, alpha: float | None, labels: LabelSums, *, fit_intercept: bool
) -> Objective:
    """The objective of a fit; raise for losses and labels that it cannot have."""
    if task == "regression":
        objective = Objective(loss or Squared(), alpha, fit_intercept=fit_intercept, predicts="target")
    else:
        assert labels.classes is not None
        _check_classes(labels.classes)
        objective = Objective.of_classes(loss or Logistic(), labels.classes.size, alpha, fit_intercept=fit_intercept)
    return objective


def _check_loss(task: Task, loss: Loss | None) -> None:
    """Raise for losses that have no curvature, before any partition is asked."""
    known = "squared or huber" if task == "regression" else "logistic or squared_hinge"
    if loss is not None and not can_be_exact(Objective(loss, None), Gain()):
        raise ValueError(f"a fit on a cluster needs a smooth convex loss, as {known}; got {loss.name}")


def _check_classes(classes: NDArray[Any]) -> None:
    if classes.size < 2:
        raise ValueError(
            f"all partitions hold one class only ({classes.tolist()[0]!r}): a classifier needs rows of two classes"
        )
    if classes.dtype.kind == "f" and not np.all(classes == np.rint(classes)):
        wrong = classes[classes != np.rint(classes)][0]
        raise ValueError(f"the labels hold {wrong:g}, which is no class: use LinearRegressor, or text as labels")
