"""A fit over partitions: statistics, a pass of the bank, and Newton's method, in rounds."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from math import nan
from operator import or_
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.auto.bank_state import BankState
from sgdone.auto.candidates import PLAIN, Candidate
from sgdone.auto.exact_phase import can_be_exact
from sgdone.cluster.bank_pass import Averaged, average, smoothness_of, start_intercept
from sgdone.cluster.course import Course, interrupted
from sgdone.cluster.engine import Engine
from sgdone.cluster.fit_result import ClusterFit
from sgdone.cluster.label_coding import ClassWeights, LabelCoding
from sgdone.cluster.labelled_rows import LabelledRows
from sgdone.cluster.penalty import Chosen, choose
from sgdone.cluster.round_log import RoundLog, written_on_errors
from sgdone.cluster.rounds import Rounds
from sgdone.cluster.search import minimise, separates
from sgdone.cluster.statistics import LabelSums, RowStatistics, Statistics
from sgdone.cluster.tables import learnt_encoder
from sgdone.cluster.verdict import verdict_of
from sgdone.data.learning_task import Task
from sgdone.data.threads import single_thread
from sgdone.estimators.sample_weights import class_weight_values
from sgdone.interfaces.composition import AllOf
from sgdone.interfaces.objective import Objective
from sgdone.interfaces.stop_rule import StopRule
from sgdone.losses import Logistic, Squared
from sgdone.losses.loss import Loss
from sgdone.newton import EXACT, Minimum, Position, Problem
from sgdone.newton.direction import Point
from sgdone.run import Hook
from sgdone.stopping import Decrement, Gain, MaxPasses, MaxSeconds
from sgdone.sums.columns import ColumnMoments
from sgdone.sums.row_sum import ArraySum, RowSum
from sgdone.sums.second_order import LossesAt, SecondOrder
from sgdone.sums.system import System, contrasts

Array = NDArray[np.float64]

#: The sum of sample weights that can be numbers of rows.
_LEAST_ROWS, _MOST_ROWS = 1.0, 1e15
#: Targets whose squares have all their digits.
_SMALLEST = 1e-145
#: Residuals below this share of the targets are rounding errors.
_ROUNDING = 1e-11


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
    order of the partitions, in a fixed tree, so that the result does not depend on who finishes first.

    Parameters
    ----------
    engine : Engine
        Keeps the partitions, and sends requests to them.
    task : {"classification", "regression"}, default="classification"
        What the labels are.
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
    rule = _budgets(Gain() if stop is None else stop)
    _check_loss(task, loss)
    course = Course(rule, task, hooks, began)
    rounds = Rounds(engine, course.after_round, log)
    with single_thread(), np.errstate(over="ignore", invalid="ignore"), written_on_errors(log):
        encoder = learnt_encoder(rounds, columns)
        statistics, class_weights = _statistics(rounds, task, class_weight, digest=log is not None)
        course.n_rows = statistics.rows
        objective = _objective(task, loss, alpha, statistics.labels, fit_intercept=fit_intercept)
        units = statistics.units(fit_intercept=fit_intercept)
        system, coding = System(objective, units.scaling), LabelCoding(statistics.labels.classes, class_weights)
        averaged = average(rounds, system, coding, statistics, units, random_state)
        problem = Problem(system, system.penalties(0.0), statistics.rows, _least_dispersion(statistics.labels))
        search = _Search(LabelledRows(rounds, coding), problem, statistics, averaged)
        try:
            search.run(None if alpha is None else alpha * statistics.weight, random_state)
            separation = separates(problem, search.found, search.strength)
            separated = rounds.ended is None and bool(search.follow(separation))
        except KeyboardInterrupt:
            rounds.ended, separated = interrupted(log), False
    found = search.found
    fitted = replace(objective, alpha=search.strength / statistics.weight)
    verdict = verdict_of(found, fitted, problem, rounds.ended, averaged, course, separated=separated)
    model, smoothness = system.to_user(found.model), smoothness_of(objective, statistics.labels)
    weight = statistics.weight / statistics.rows
    state = BankState.at_model(objective, fitted.penalty, model, units, statistics.rows, weight, smoothness)
    course.trace.verdict = verdict
    return ClusterFit(
        model,
        coding.classes,
        fitted,
        encoder,
        units,
        state,
        verdict,
        course.trace,
        tuple(rounds.records),
        statistics.rows,
        statistics.names,
    )


@final
class _Search:
    """The search for the optimum, and where it is: budgets and Ctrl-C leave the model so far."""

    def __init__(self, rows: LabelledRows, problem: Problem, statistics: RowStatistics, averaged: Averaged) -> None:
        self._rows, self._problem, self._position = rows, problem, Position()
        start, self._unit, lead = _start(rows, problem.system, statistics, averaged)
        self._chosen = Chosen(lead.penalty, start)
        self._found: Minimum | None = None

    def run(self, strength: float | None, key: int) -> None:
        """Choose the penalty if it is not given, and find its optimum; a model is always evaluated."""
        if strength is None:
            self.follow(choose(self._problem, self._chosen, self._unit, key))
        else:
            self._chosen.move(strength, self._chosen.start)
        problem = self._problem.penalised(self.strength)
        self._found = self.follow(minimise(problem, self._chosen.model, EXACT, self._position), at_least=1)

    def follow(self, search: Generator[RowSum, Any, Any], at_least: int = 0) -> Any:
        """What a search finds; None if something ended the fit before that: a budget, or a person."""
        value, answered = None, 0
        while True:
            try:
                request = search.send(value)
            except StopIteration as done:
                return done.value
            if self._rows.rounds.ended is not None and answered >= at_least:
                return None
            value = self._rows.sum(request)
            answered += 1

    @property
    def strength(self) -> float:
        """The penalty."""
        return self._chosen.strength

    @property
    def found(self) -> Minimum:
        """The optimum, or the model so far, whose sums may not be known."""
        at, model = self._position.at, self._chosen.model
        if self._found is not None:
            return self._found
        if at is None:
            unknown = SecondOrder(float(self._problem.n_rows), nan, nan, *(np.empty((0, 0)) for _ in range(3)))
            return Minimum(model, Point(model, unknown, nan, np.empty(0), np.empty(0)), nan, 0, stalled=True)
        decrement = self._position.decrement / self._problem.dispersion(at.sums)
        return Minimum(at.model, at, decrement, 0, stalled=True)


def _least_dispersion(labels: LabelSums) -> float:
    """Variance of targets about their predictions that is rounding; 0 in classification."""
    return 0.0 if labels.moments is None else _ROUNDING**2 * float(labels.moments.squares[0] / labels.moments.rows)


def _budgets(stop: StopRule) -> StopRule:
    """The budgets of a rule; raise unless it consists of the default and budgets, joined by ``|``."""
    wrong = [leaf for leaf in stop.leaves if leaf.tolerance is None and not isinstance(leaf, MaxPasses | MaxSeconds)]
    if _has_all_of(stop):
        raise ValueError(f"stop={stop!r}: a fit on a cluster takes budgets that are joined by |")
    if wrong:
        raise ValueError(
            f"stop={wrong[0]!r}: a fit on a cluster ends at the optimum or at a budget, such as MaxSeconds(60) or "
            "MaxPasses(20)"
        )
    budgets = [leaf for leaf in stop.leaves if leaf.is_budget]
    # The optimum ends a search by itself.
    return reduce(or_, budgets) if budgets else Decrement(EXACT)


def _has_all_of(rule: StopRule) -> bool:
    return isinstance(rule, AllOf) or any(map(_has_all_of, getattr(rule, "rules", ())))


def _statistics(
    rounds: Rounds, task: Task, class_weight: Any, *, digest: bool
) -> tuple[RowStatistics, ClassWeights | None]:
    """Statistics of all rows, with the weights of their classes."""
    statistics: RowStatistics | None = rounds.ask(Statistics(task, digest=digest))
    if statistics is None:
        raise ValueError("no partition has a row of positive weight: there is nothing to learn from")
    weights: ClassWeights | None = None
    if class_weight is not None:
        labels = statistics.labels
        assert labels.classes is not None
        weights = ClassWeights(labels.classes, class_weight_values(class_weight, labels.classes, labels.weights))
        statistics = rounds.ask(Statistics(task, weights, digest))
        assert statistics is not None
    if not _LEAST_ROWS <= statistics.weight <= _MOST_ROWS:
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


def _start(
    rows: LabelledRows, system: System, statistics: RowStatistics, averaged: Averaged
) -> tuple[Array, float, Candidate]:
    """The average of the bank, or a constant prediction if that is better; the variance of targets about it; a penalty.

    Where each partition has one class, models of partitions predict that class: neither their average nor their losses
    are of use.
    """
    objective, constant = system.objective, np.zeros(system.shape)
    intercept, basis = start_intercept(objective, statistics.labels), contrasts(objective)
    constant[-1] = intercept if basis is None else intercept @ basis
    models = np.array([constant, system.from_user(averaged.model.coef, averaged.model.intercept)])
    sums: ArraySum = rows.sum(LossesAt(system, models))
    *losses, weight = sums.values.tolist()
    best = 1 if losses[1] < losses[0] else 0
    unit = 2.0 * losses[best] / weight if objective.is_regression else 1.0
    return models[best], max(unit, float(np.finfo(np.float64).tiny)), averaged.lead if best else PLAIN[0]
