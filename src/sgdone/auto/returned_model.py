"""The model that a fit returns, and its loss."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sgdone.auto.bank_state import BankState, raise_for_bad_row
from sgdone.auto.constants import FIT_VARIANCE
from sgdone.auto.evaluation import Evaluation, measure
from sgdone.auto.models import Models
from sgdone.data.source import Block
from sgdone.interfaces.measured import grouped_error
from sgdone.interfaces.progress import Judgement
from sgdone.kernels.bank import ALL_ROWS


def better_of_mean_and_leader(state: BankState, evaluation: Evaluation, block: Block) -> Models:
    """The mean of the best candidates, or the leader if that is better on the validation rows.

    Where few rows carry most of the loss, candidates that cannot be told apart may differ much.
    """
    tied, lead = state.tied(evaluation), evaluation.candidates[evaluation.lead]
    mean = state.models.mean_of(tied)
    if tied == [lead]:
        return mean
    rows, of_row = state.validation_rows(block)
    alone = state.models.mean_of([lead])
    of_mean, of_lead = (
        replace(evaluation, candidates=[lead], losses=state.losses_of(models, rows, of_row)).means[0]
        for models in (mean, alone)
    )
    return mean if of_mean <= of_lead else alone


def evaluated(state: BankState, models: Models, evaluation: Evaluation, block: Block) -> Evaluation:
    """Losses of the model of all rows, on the rows of another evaluation.

    The excess loss of a fit to n rows is about c/n. It raises the loss of new rows and lowers that of the rows trained
    on by as much: models that lack a share s of the rows differ from the model of all rows by c/n·(2 − s)/(1 − s) on
    the rows that only the latter was trained on, and by c/n·s/(1 − s) on new rows. Fits with a penalty gain less from
    more rows than that: about half.
    """
    rows, of_row = state.validation_rows(block)
    found, losses = models.losses(rows, of_row)
    raise_for_bad_row(rows, found)
    validation = state.run.validation
    if models.folds[0] == ALL_ROWS and validation.count:
        share = validation.rows.size / validation.count / max(1, state.run.n_rows)
        losses = losses - 0.5 * share / (2.0 - share) * (losses - found.losses[:, :1])
    return replace(evaluation, candidates=models.alive, losses=losses)


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


def moved(models: Models, shift: NDArray[np.float64]) -> Models:
    """The models with other intercepts."""
    models.intercepts += np.tile(shift, models.n_models)
    return models
