"""The model that a fit returns, and its loss."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sgdone.bank.bank_state import BankState
from sgdone.bank.candidates import Candidate
from sgdone.bank.evaluation import Evaluation, measure
from sgdone.bank.models import Models
from sgdone.interfaces.measured import FIT_VARIANCE, grouped_error
from sgdone.interfaces.progress import Judgement, Model
from sgdone.kernels.bank import ALL_ROWS, NO_FOLD
from sgdone.rows.source import Block


def better_of_mean_and_leader(state: BankState, evaluation: Evaluation, block: Block) -> list[Candidate]:
    """The best candidates, or the leader alone if it is better than their mean on the validation rows.

    Where few rows carry most of the loss, candidates that cannot be told apart may differ much.
    """
    tied, lead = state.tied(evaluation), [evaluation.candidates[evaluation.lead]]
    if tied == lead:
        return lead
    of_mean, of_lead = (
        replace(evaluation, candidates=lead, losses=_losses_of_mean(state, candidates, block)[:, None]).means[0]
        for candidates in (tied, lead)
    )
    return tied if of_mean <= of_lead else lead


def evaluated(
    state: BankState, candidates: list[Candidate], shift: NDArray[np.float64], evaluation: Evaluation, block: Block
) -> Evaluation:
    """Losses of the mean of candidates that were trained on all rows, on the rows of another evaluation.

    ``shift`` is added to its intercept.

    The excess loss of a fit to n rows is about c/n. It raises the loss of new rows and lowers that of the rows trained
    on by as much: models that lack a share s of the rows differ from the model of all rows by c/n·(2 − s)/(1 − s) on
    the rows that only the latter was trained on, and by c/n·s/(1 − s) on new rows. Fits with a penalty gain less from
    more rows than that: about half.
    """
    losses, validation = _losses_of_mean(state, candidates, block, shift), state.run.validation
    if validation.count and not state.models.holds_out:
        share = validation.rows.size / validation.count / max(1, state.run.n_rows)
        rows, of_row = state.validation_rows(block)
        of_all = state.losses_of(_mean(state, candidates, shift), rows, np.full_like(of_row, NO_FOLD))[:, 0]
        losses = losses - 0.5 * share / (2.0 - share) * (losses - of_all)
    return replace(evaluation, candidates=candidates[:1], losses=losses[:, None])


def evaluation_of_start(state: BankState, start: Model, evaluation: Evaluation, block: Block) -> Evaluation | None:
    """Losses of the model that a run started from on the rows of an evaluation; None if they are larger."""
    if not np.array_equal(evaluation.numbers, state.run.validation.numbers):
        return None  # the validation rows of a stream have changed since
    rows, of_row = state.validation_rows(block)
    models = state.models.mean_of([state.lead])
    models.set_solution(0, start.coef.astype(np.float64, copy=False), start.intercept, state.units.scaling)
    losses = state.losses_of(models, rows, np.full_like(of_row, NO_FOLD))
    found = replace(evaluation, candidates=[evaluation.candidates[evaluation.lead]], losses=losses)
    return found if found.means[0] <= evaluation.means[evaluation.lead] else None


def loss_of(state: BankState, evaluation: Evaluation) -> Judgement:
    """The loss of the best model of an evaluation and its error; the gain is that of the last judgement.

    Copies of a row count once. The loss of one fit varies around the mean loss of such fits, which validation
    estimates: the error is wider for that.
    """
    run = state.run
    error, different = grouped_error(evaluation.losses[:, evaluation.lead], evaluation.weights, run.validation.groups)
    n_rows = max(1.0, run.n_rows * different / evaluation.weights.size)
    wider = float(np.sqrt(1.0 + FIT_VARIANCE * state.parameters / n_rows))
    found = replace(measure(evaluation), loss_error=wider * error, estimated_by=run.estimated_by)
    last = run.evaluations.judgement
    if last is None:
        return found
    return replace(found, gain=last.gain, gain_error=last.gain_error, passes=last.passes, noise=last.noise)


def _losses_of_mean(
    state: BankState, candidates: list[Candidate], block: Block, shift: NDArray[np.float64] | float = 0.0
) -> NDArray[np.float64]:
    """Losses of the mean of candidates on the validation rows, by models that were not trained on these."""
    rows, of_row = state.validation_rows(block)
    return state.losses_by_fold(rows, of_row, lambda fold: _mean(state, candidates, shift, fold))


def _mean(
    state: BankState, candidates: list[Candidate], shift: NDArray[np.float64] | float, fold: int = NO_FOLD
) -> Models:
    """The mean of the candidates' models that were not trained on a fold, with ``shift`` added to its intercept."""
    models = state.models.mean_of(candidates, ALL_ROWS if fold == NO_FOLD else fold)
    models.intercepts += shift
    return models
