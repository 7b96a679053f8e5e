"""Why a fit on a cluster ended, and what is left to gain."""

from dataclasses import replace

import numpy as np

from sgdone.cluster.bank_pass import Averaged
from sgdone.cluster.course import Course
from sgdone.interfaces.objective import Objective
from sgdone.interfaces.progress import Judgement, Progress
from sgdone.interfaces.stop import Status, Stop
from sgdone.newton import EXACT, Minimum, Problem
from sgdone.run.verdict import Verdict
from sgdone.stopping import Decrement


def verdict_of(
    found: Minimum,
    objective: Objective,
    problem: Problem,
    early: Stop | None,
    averaged: Averaged,
    course: Course,
    *,
    separated: bool,
) -> Verdict:
    """Why the fit ended, and what is left to gain, also in units of the estimation noise p/(2n).

    ``early`` is what ended the fit before the optimum, if something did.
    """
    n_rows, evaluations = problem.n_rows, course.evaluations
    made, weight = len(course.trace), found.at.sums.weight
    unit = problem.dispersion(found.at.sums)
    gain, noise = found.decrement * unit / weight, problem.system.n_coefficients / (2.0 * weight) * unit
    value, unknown = found.at.value / weight, float("nan")
    judgement = Judgement(
        value, unknown, gain, 0.0, unknown, unknown, estimated_by="training", decrement=found.decrement
    )
    loss, exact = found.at.sums.loss / weight, Decrement(EXACT)
    progress = Progress(evaluations, made * n_rows, n_rows, made, True, loss, 0.0, judgement=judgement)
    ended = exact.observe(exact.start(n_rows), progress)
    if ended is not None:
        share = f"; the expected gain of further steps is {gain / noise:.1g} of the estimation noise" if noise else ""
        ended = replace(ended, reason=ended.reason + share)
    elif early is not None:
        ended = _early(early, value, gain)
    else:
        reason = f"no step lowers the training objective, {value:.6g}, by the {gain:.2g} that is expected"
        ended = Stop("", Status.STALLED, reason, {}, "Give a larger alpha.")
    losses = averaged.losses
    evidence = ended.evidence | {
        "alpha": objective.alpha,
        "loss": loss,
        "progressive_loss": float(losses.means[losses.lead] * losses.unit),
        "decrement": found.decrement,
        "gain": gain,
        "noise": noise,
    }
    if separated:
        evidence["separation"] = "complete"
        ended = _with_separation(ended, n_rows, penalised=objective.penalty > 0)
    return Verdict(
        ended.status, ended.rule, evaluations, float(made), ended.reason, evidence, ended.advice, counts="update"
    )


def _early(ended: Stop, value: float, gain: float) -> Stop:
    """The end by a budget or a person, and what is left to gain."""
    reason, advice = ended.reason, ""
    if ended.status is Status.BUDGET_SPENT:
        reason += ", or as many as a first model takes"
        advice = "Allow more passes or seconds."
    if np.isfinite(gain):
        reason += f"; further steps would lower the training objective, {value:.6g}, by about {gain:.2g}"
    return replace(ended, reason=reason, advice=advice)


def _with_separation(ended: Stop, n_rows: int, *, penalised: bool) -> Stop:
    """The end of a fit to classes that some direction separates."""
    found = f"Complete separation: some direction classifies all {n_rows:,} rows without error"
    if penalised:
        return replace(ended, reason=f"{ended.reason}. {found}: only the penalty keeps the coefficients finite")
    advice = "Give a penalty, as alpha='auto', or remove the features that separate the classes."
    return replace(ended, status=Status.NO_OPTIMUM, rule="", reason=f"{found}: the loss has no minimum", advice=advice)
