"""A fit over partitions: statistics, a pass of the bank, and Newton's method, in rounds."""

import sys
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.auto.candidates import PLAIN, Candidate
from sgdone.auto.exact_rule import can_be_exact
from sgdone.auto.units import Units
from sgdone.cluster.bank_pass import Averaged, average, start_intercept
from sgdone.cluster.penalty import choose
from sgdone.cluster.problem import Problem
from sgdone.cluster.rounds import RoundRecord, Rounds, RunRound
from sgdone.cluster.row_sums import SummedRows
from sgdone.cluster.search import Minimum, minimise
from sgdone.cluster.statistics import LabelSums, RowStatistics, Statistics
from sgdone.data.learning_task import Task
from sgdone.data.threads import single_thread
from sgdone.interfaces.objective import Objective
from sgdone.interfaces.progress import Judgement, Model, Progress
from sgdone.interfaces.stop import Status, Stop
from sgdone.losses import Logistic, Squared
from sgdone.losses.loss import Loss
from sgdone.run.verdict import Verdict
from sgdone.solvers.minimisation import EXACT, dispersion
from sgdone.stopping import Decrement, Gain
from sgdone.sums.second_order import contrasts, free_model

Array = NDArray[np.float64]


@final
@dataclass(frozen=True)
class ClusterFit:
    """A model that was fitted to partitions.

    Parameters
    ----------
    model : Model
        In the user's units.
    classes : ndarray or None
        The labels, sorted; None in regression.
    objective : Objective
        What was minimised, with the penalty that was given or chosen.
    units : Units
        Units in which the penalty acts on the coefficients.
    verdict : Verdict
        Why the fit ended, and what is left to gain.
    rounds : tuple of RoundRecord
        Each round, with the bytes that it sent and received.
    n_rows : int
        Rows of positive weight.
    """

    model: Model
    classes: NDArray[Any] | None
    objective: Objective
    units: Units
    verdict: Verdict
    rounds: tuple[RoundRecord, ...]
    n_rows: int

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


def fit_partitions(
    run_round: RunRound,
    *,
    task: Task = "classification",
    loss: Loss | None = None,
    alpha: float | None = None,
    fit_intercept: bool = True,
    tol: float = EXACT,
    max_rounds: int | None = None,
    random_state: int = 0,
) -> ClusterFit:
    """Fit a linear model to rows that are in several partitions.

    The partitions stay where they are: requests and models are sent to them, sums come back. Sums are merged in the
    order of the partitions, in a fixed tree, so that the result does not depend on who finishes first.

    Parameters
    ----------
    run_round : callable
        Sends a request, a tuple of bytes, to all partitions and returns their answers, as bytes, in any order: those
        of `partition_work`.
    task : {"classification", "regression"}, default="classification"
        What the labels are.
    loss : Loss, optional
        Smooth and convex. Logistic loss by default, squared loss in regression.
    alpha : float, optional
        Penalty; chosen if it is not given.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    tol : float, default=5e-9
        Largest decrement of a model at the minimum, as in `sgdone.stopping.Decrement`.
    max_rounds : int, optional
        Rounds after which no further step begins.
    random_state : int, default=0
        Seed of the order of the rows and of the choice of validation rows.

    Examples
    --------
    >>> from sgdone.cluster import Partition, run_here
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 2))
    >>> y = X @ [1.0, -2.0] + 3.0
    >>> parts = [Partition(k, X[k::4], y[k::4]) for k in range(4)]
    >>> fit = fit_partitions(run_here(parts), task="regression", alpha=0.0)
    >>> fit.model.coef.round(6), fit.model.intercept.round(6)
    (array([[ 1., -2.]]), array([3.]))
    """
    rule, most_rounds = Decrement(tol), sys.maxsize if max_rounds is None else max_rounds
    rounds = Rounds(run_round)
    with single_thread(), np.errstate(over="ignore", invalid="ignore"):
        statistics: RowStatistics | None = rounds.ask(Statistics(task))
        if statistics is None:
            raise ValueError("no partition has a row of positive weight: there is nothing to learn from")
        objective = _objective(task, loss, alpha, statistics.labels, fit_intercept=fit_intercept)
        units = statistics.units(fit_intercept=fit_intercept)
        problem = Problem(objective, statistics.labels.classes, units.scaling)
        averaged = average(rounds, problem, statistics, units, random_state)
        rows = SummedRows(rounds, problem, statistics.rows, "all", random_state)
        start, unit, lead = _start(rows, statistics, averaged)
        if alpha is None:
            chosen = choose(rows, lead.penalty, unit, start, most_rounds)
            strength, start = chosen.strength, chosen.model
        else:
            strength = alpha * statistics.weight
        found = minimise(rows, strength, start, tol, most_rounds)
    fitted = replace(objective, alpha=strength / statistics.weight)
    verdict = _verdict(rule, found, fitted, rows, most_rounds, averaged)
    model = _in_users_units(found.model, problem)
    return ClusterFit(model, problem.classes, fitted, units, verdict, tuple(rounds.records), statistics.rows)


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
    if not can_be_exact(objective, Gain()):
        raise ValueError(f"a fit on a cluster needs a smooth convex loss; got {objective.loss!r}")
    return objective


def _check_classes(classes: NDArray[Any]) -> None:
    if classes.size < 2:
        raise ValueError(
            f"all partitions hold one class only ({classes.tolist()[0]!r}): a classifier needs rows of two classes"
        )
    if classes.dtype.kind == "f" and not np.all(classes == np.rint(classes)):
        wrong = classes[classes != np.rint(classes)][0]
        raise ValueError(f"the labels hold {wrong:g}, which is no class: use task='regression', or text as labels")


def _start(rows: SummedRows, statistics: RowStatistics, averaged: Averaged) -> tuple[Array, float, Candidate]:
    """The average of the bank, or a constant prediction if that is better; the variance of targets about it; a penalty.

    Where each partition has one class, models of partitions predict that class: neither their average nor their losses
    are of use.
    """
    problem = rows.problem
    objective, width = problem.objective, problem.n_features + 1
    constant = np.zeros((width, objective.n_free_outputs))
    intercept, basis = start_intercept(objective, statistics.labels), contrasts(objective)
    constant[-1] = intercept if basis is None else intercept @ basis
    models = np.array(
        [
            constant,
            free_model(objective, problem.scaling, averaged.model.coef.astype(np.float64), averaged.model.intercept),
        ]
    )
    losses, weight = rows.losses(models)
    best = 1 if losses[1] < losses[0] else 0
    unit = 2.0 * float(losses[best]) / weight if objective.is_regression else 1.0
    return models[best], max(unit, float(np.finfo(np.float64).tiny)), averaged.lead if best else PLAIN[0]


def _in_users_units(model: Array, problem: Problem) -> Model:
    scaling, basis = problem.scaling, contrasts(problem.objective)
    whole = model if basis is None else model @ basis.T
    coef = whole[:-1] / scaling.scale[:, None]
    intercept = whole[-1] - (0.0 if scaling.shift is None else scaling.shift @ coef)
    return Model(np.ascontiguousarray(coef.T), np.ascontiguousarray(intercept))


def _verdict(
    rule: Decrement, found: Minimum, objective: Objective, rows: SummedRows, most_rounds: int, averaged: Averaged
) -> Verdict:
    """Why the fit ended, and what is left to gain, also in units of the estimation noise p/(2n)."""
    made, weight = len(rows.rounds.records), found.sums.weight
    unit = dispersion(objective, found.sums)
    gain, noise = found.decrement * unit / weight, rows.problem.n_coefficients / (2.0 * weight) * unit
    value, unknown = found.value / weight, float("nan")
    judgement = Judgement(
        value, unknown, gain, 0.0, unknown, unknown, estimated_by="training", decrement=found.decrement
    )
    progress = Progress(
        found.evaluations,
        made * rows.n_rows,
        rows.n_rows,
        made,
        True,
        found.sums.loss / weight,
        0.0,
        judgement=judgement,
    )
    ended = rule.observe(rule.start(rows.n_rows), progress)
    if ended is None:
        spent = made >= most_rounds
        left = f"further steps would lower the training objective, {value:.6g}, by about {gain:.2g}"
        reason = f"{made} rounds made of {most_rounds} allowed; {left}" if spent else f"no step lowers it; {left}"
        advice = "Allow more rounds." if spent else "Give a larger alpha if the classes can be separated."
        ended = Stop("", Status.BUDGET_SPENT if spent else Status.STALLED, reason, {}, advice)
    losses = averaged.losses
    evidence = ended.evidence | {
        "alpha": objective.alpha,
        "loss": found.sums.loss / weight,
        "progressive_loss": float(losses.means[losses.lead] * losses.unit),
        "decrement": found.decrement,
        "gain": gain,
        "noise": noise,
    }
    return Verdict(
        ended.status, ended.rule, found.evaluations, float(made), ended.reason, evidence, ended.advice, counts="update"
    )
