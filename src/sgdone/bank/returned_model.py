"""The model that a fit returns, its exact intercept, and its loss.

At the optimum the slopes of the loss sum to 0 over all rows, because the intercept is not penalised: with the logistic
loss and the softmax the mean probability of a class is its frequency, with the squared loss residuals cancel.
Stochastic steps come close to that; for rare classes the difference matters, and one more pass over the rows closes it.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sgdone.bank.bank_state import BankState
from sgdone.bank.evaluation import Candidate, Evaluation, measure
from sgdone.bank.models import Models
from sgdone.interfaces.objective import FIT_VARIANCE, Judgement, Model, Objective, grouped_error
from sgdone.kernels.bank import ALL_ROWS, NO_FOLD
from sgdone.rows.rows import Block

#: Iterations for the intercepts of classes, and the imbalance at which they end.
_MAX_ITERATIONS, _CLOSE = 50, 1e-12
#: Scores (rows × classes) held in memory at once.
_MOST_SCORES = 1 << 24
#: Entries of rows that are copied out of the matrix at once.
_PIECE = 1 << 22


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
    """The loss of the best model of an evaluation and its error, with the gain of the last judgement.

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


def intercept_shift(
    objective: Objective, model: Model, block: Block, most_rows: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Shift of the intercept after which the slopes of the loss sum to 0; 0 where there is no simple solution.

    All rows are used, or a sample of ``most_rows`` of them.
    """
    loss, coef, intercept = objective.loss, model.coef.astype(np.float64), model.intercept
    known = (loss.multinomial and objective.predicts != "one_vs_rest") or (loss.quadratic and objective.n_outputs == 1)
    nothing = np.zeros(objective.n_outputs)
    if not (objective.fit_intercept and known):
        return nothing
    rows = _some_rows(block, min(most_rows, _MOST_SCORES // objective.n_outputs), rng)
    scores = _scores(block, rows, coef, intercept)
    # A row that was never read may contain anything.
    sound = np.all(np.isfinite(scores), axis=1)
    rows, scores = rows[sound], scores[sound].T
    labels, weights = block.labels[rows], block.weights_of(rows)
    if not weights.size:
        return nothing
    if loss.quadratic:
        shift = np.array([-np.average(loss.slope(scores[0], labels), weights=weights) / loss.smoothness])
    elif objective.predicts == "softmax":
        shift = _shift_of_classes(scores.copy(), labels.astype(np.intp), weights)
    else:
        classes = np.vstack([np.zeros(labels.size), scores])
        low, high = _shift_of_classes(classes, (labels > 0).astype(np.intp), weights)
        shift = np.array([high - low])
    return shift if np.all(np.isfinite(shift)) else nothing


def _some_rows(block: Block, most: int, rng: np.random.Generator) -> NDArray[np.uint64]:
    """All rows of positive weight, or one drawn from each of ``most`` equal parts of them."""
    if block.n_used <= most:
        return block.all_used()
    places = (np.arange(most) + rng.random(most)) * (block.n_used / most)
    chosen = np.minimum(places.astype(np.uint64), np.uint64(block.n_used - 1))  # a sum may have been rounded up
    return chosen if block.sample_weight.size == 1 else block.all_used()[chosen]


def _scores(
    block: Block, rows: NDArray[np.uint64], coef: NDArray[np.float64], intercept: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Scores of some rows, computed in pieces, because a product with rows of another type copies them."""
    matrix = block.rows.whole()
    if rows.size == block.rows.n_rows and matrix.dtype == np.float64:
        return np.asarray(matrix @ coef.T + intercept)
    scores = np.empty((rows.size, len(coef)))
    piece = max(1, int(_PIECE / max(1.0, block.rows.typical_length)))
    for first in range(0, rows.size, piece):
        some = rows[first : first + piece].astype(np.intp)
        scores[first : first + piece] = matrix[some] @ coef.T + intercept
    return scores


def _shift_of_classes(
    scores: NDArray[np.float64], numbers: NDArray[np.intp], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Newton's method for the shifts at which mean probabilities equal class frequencies (classes are rows of scores).

    Exponentials are computed once: probabilities after a shift are products with its exponentials. A class without
    rows keeps its intercept. No step exceeds 1, beyond which Newton's method may overshoot.
    """
    count = len(scores)
    wanted = np.bincount(numbers, weights, minlength=count)
    present = wanted > 0
    scores -= scores.max(axis=0)
    sizes = np.exp(scores, out=scores)
    shift = np.zeros(count)
    for _ in range(_MAX_ITERATIONS):
        factors = np.exp(shift)
        totals = factors @ sizes
        found = factors * (sizes @ (weights / totals))
        left = 1.0 - found[~present].sum() / wanted.sum()
        lacks = np.where(present, left * wanted - found, 0.0)
        if np.abs(lacks).max() < _CLOSE * wanted.sum():
            break
        curvature = np.diag(found) - np.outer(factors, factors) * ((sizes * (weights / totals**2)) @ sizes.T)
        step = np.linalg.lstsq(np.where(present[:, None] & present, curvature, 0.0), lacks, rcond=None)[0]
        shift += step / max(1.0, np.abs(step).max())
    centred: NDArray[np.float64] = shift - shift.mean()
    return centred
