"""Why a fit on a cluster ended, and what is left to gain."""

from dataclasses import replace

import numpy as np

from sgdone.cluster.bank_pass import Averaged
from sgdone.cluster.course import Course
from sgdone.cluster.row_sums import SummedRows
from sgdone.cluster.search import Minimum
from sgdone.interfaces.objective import Objective
from sgdone.interfaces.progress import Judgement, Progress
from sgdone.interfaces.stop import Status, Stop
from sgdone.run.verdict import Verdict
from sgdone.solvers.minimisation import EXACT, dispersion
from sgdone.stopping import Decrement


def verdict_of(found: Minimum, objective: Objective, rows: SummedRows, averaged: Averaged, course: Course) -> Verdict:
    """Why the fit ended, and what is left to gain, also in units of the estimation noise p/(2n)."""
    rounds, evaluations = rows.rounds, course.evaluations
    made, weight = len(course.trace), found.sums.weight
    unit = dispersion(objective, found.sums)
    gain, noise = found.decrement * unit / weight, rows.problem.n_coefficients / (2.0 * weight) * unit
    value, unknown = found.value / weight, float("nan")
    judgement = Judgement(
        value, unknown, gain, 0.0, unknown, unknown, estimated_by="training", decrement=found.decrement
    )
    loss, exact = found.sums.loss / weight, Decrement(EXACT)
    progress = Progress(evaluations, made * rows.n_rows, rows.n_rows, made, True, loss, 0.0, judgement=judgement)
    ended = exact.observe(exact.start(rows.n_rows), progress)
    if ended is None and rounds.ended is not None:
        left = f"further steps would lower the training objective, {value:.6g}, by about {gain:.2g}"
        reason = f"{rounds.ended.reason}; {left}" if np.isfinite(gain) else rounds.ended.reason
        advice = rounds.ended.advice or ("Allow more." if rounds.ended.status is Status.BUDGET_SPENT else "")
        ended = replace(rounds.ended, reason=reason, advice=advice)
    elif ended is None:
        reason = f"no step lowers the training objective, {value:.6g}, by the {gain:.2g} that is expected"
        advice = "Give a larger alpha if the classes can be separated."
        ended = Stop("", Status.STALLED, reason, {}, advice)
    losses = averaged.losses
    evidence = ended.evidence | {
        "alpha": objective.alpha,
        "loss": loss,
        "progressive_loss": float(losses.means[losses.lead] * losses.unit),
        "decrement": found.decrement,
        "gain": gain,
        "noise": noise,
    }
    share = gain / noise
    reason = ended.reason
    if ended.status is Status.CONVERGED:
        reason += f"; what is left to gain is {share:.1g} of the estimation noise"
    if objective.loss.fades and not objective.is_regression and found.sums.misses == 0:
        evidence["separation"] = "complete"
        kept = "only the penalty keeps the coefficients finite" if objective.penalty else "the loss has no minimum"
        reason += f". Complete separation: the model classifies all {rows.n_rows:,} rows without error: {kept}"
    return Verdict(ended.status, ended.rule, evaluations, float(made), reason, evidence, ended.advice, counts="update")
