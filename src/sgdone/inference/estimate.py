"""Coefficients of the unpenalised optimum, their covariance, and which of them are refused."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.inference.covariance import Cov, SandwichCovariance, dense_covariance, factor_of, huber_factor
from sgdone.inference.large import MOST_PRODUCTS, LargeOptimum, find_large_optimum, with_products_of_columns
from sgdone.inference.large_covariance import chosen_covariance, simulated_covariance
from sgdone.inference.layout import FittedModel, Layout
from sgdone.inference.optimum import NoOptimumError, Optimum, find_optimum
from sgdone.inference.prediction import Predictor
from sgdone.inference.refusals import (
    Refusal,
    bias_refusals,
    few_nonzeros_refusals,
    groups_refusal,
    loss_refusal,
    no_errors_refusal,
    rows_refusal,
)
from sgdone.inference.sample import Sample
from sgdone.inference.separated import (
    Estimate,
    Infinite,
    ProvedSeparation,
    SeparatedRows,
    VerifiedDirections,
    constant_refusals,
    structural_refusals,
)
from sgdone.inference.separated_classes import FinitePart, find_finite_part
from sgdone.inference.sums_at_model import InformationAt, added_up
from sgdone.newton.search import MOST_FACTORISED, MOST_SUMMED, RESIDUAL_ROUNDING
from sgdone.sums.pieces import Piece
from sgdone.sums.row_sum import ArraySum, ReadableRows, RowSum, message
from sgdone.sums.second_order import derivatives, scores
from sgdone.sums.system import System, contrasts

Array = NDArray[np.float64]


def first_order_bias(sample: Sample, optimum: "Optimum", inverse: Array) -> Array:
    """−½H⁻¹Σv·(x̃, 1) ⊗ t, in the order of the curvature (Cordeiro & McCullagh 1991, eq. 3.5).

    tₐ = Σ κₐᵦ𝒸·Aᵦ𝒸 with the third cumulants κ of a label and A = x̃ᵀH⁻¹x̃, the covariance of the scores. It is of the
    order of coefficients/rows, and makes coefficients too large: those of many columns, and intercepts of rare classes.
    """
    found: ArraySum = sample.sum(BiasSums(sample.system, optimum.model, inverse))
    return np.asarray(-0.5 * (inverse @ found.values.T.ravel()))


@final
@message
@dataclass(frozen=True)
class BiasSums(RowSum):
    """Σv·(x̃, 1) ⊗ t, shaped like the model, with t as in `first_order_bias`."""

    system: System
    model: Array
    inverse: Array

    def of(self, rows: ReadableRows) -> ArraySum | None:
        """The sum over these rows."""
        return added_up(rows, self.system, lambda piece: _of_piece(self.system, piece, self.model, self.inverse))


def _of_piece(system: System, piece: Piece, model: Array, inverse: Array) -> Array:
    objective, basis, count = system.objective, contrasts(system.objective), model.shape[1]
    scored = scores(piece.rows, model, basis)
    if basis is None:
        found = derivatives(objective, scored, piece.labels)
        width = model.shape[0]
        own = np.stack([inverse[a * width : (a + 1) * width, a * width : (a + 1) * width] for a in range(count)])
        # p(1 − p)(1 − 2p), of σ(z).
        cumulants = -found.shares * np.tanh(0.5 * scored)
        return piece.rows.transposed_times(piece.weights[:, None] * cumulants * piece.rows.quadratic_forms(own))
    shares = derivatives(objective, scored, piece.labels).shares
    blocks = inverse.reshape(count, model.shape[0], count, model.shape[0]).transpose(0, 2, 1, 3)
    matrices = blocks.reshape(count * count, model.shape[0], model.shape[0])
    forms = piece.rows.quadratic_forms(0.5 * (matrices + matrices.transpose(0, 2, 1))).reshape(-1, count, count)
    spread = np.einsum("ka,iab,lb->ikl", basis, forms, basis)
    own = np.einsum("ikk->ik", spread)
    along = np.einsum("ikl,il->ik", spread, shares)
    middle = np.einsum("ik,ik->i", along, shares)
    cumulants = shares * (own - 2.0 * along - (shares * own).sum(axis=1, keepdims=True) + 2.0 * middle[:, None])
    return piece.rows.transposed_times(piece.weights[:, None] * (cumulants @ basis))


def estimate(sample: Sample, model: FittedModel, layout: Layout, cov: Cov, *, chosen: bool) -> Estimate:
    """Find the optimum and the covariance there; ``chosen`` if only some of the columns are requested."""
    refusal = _early_refusal(sample, layout, cov)
    if refusal is not None:
        return Estimate.nothing(layout, refusal)
    refusal = _few_groups_refusal(sample, cov)
    find: Any = find_large_optimum if _is_large(sample, layout) else find_optimum
    separated: SeparatedRows = (VerifiedDirections if sample.at_hand is None else ProvedSeparation)(sample, layout)
    rest, optimum = sample, None
    while optimum is None:
        try:
            optimum = find(rest, rest.model_in_units(model.coef, model.intercept))
        except NoOptimumError as failure:
            if sample.at_hand is not None and sample.objective.predicts == "softmax":
                return _of_finite_part(sample, model, layout, cov, refusal, failure)
            found = separated.rest_of(rest, failure)
            if isinstance(found, Estimate):
                return found
            rest = found
    infinite = separated.infinite(optimum)
    refused = _refusals_at(sample, rest, optimum, layout, cov, refusal, infinite)
    at = _estimate_at if isinstance(optimum, Optimum) else partial(_estimate_at_large, chosen=chosen)
    return replace(at(sample, rest, optimum, layout, cov, refused, model), attained=infinite is None)


def _early_refusal(sample: Sample, layout: Layout, cov: Cov) -> Refusal | None:
    """Whether all coefficients are refused before an optimum is searched for."""
    return loss_refusal(sample) or rows_refusal(sample, cov, _coefficients_of_output(sample, layout))


def _coefficients_of_output(sample: Sample, layout: Layout) -> int:
    """Number of coefficients of each output that the rows may determine."""
    return int(sample.varies.sum()) + int(layout.has_intercept)


def _is_large(sample: Sample, layout: Layout) -> bool:
    """Whether conjugate gradients take the place of factors."""
    if sample.at_hand is None:
        return sample.system.n_coefficients > MOST_SUMMED
    return _coefficients_of_output(sample, layout) * sample.objective.n_free_outputs > MOST_FACTORISED


def _few_groups_refusal(sample: Sample, cov: Cov) -> Refusal | None:
    """Whether there are too few groups for a cluster covariance."""
    return groups_refusal(sample.n_groups) if cov == "cluster" and sample.n_groups else None


def _refusals_at(
    sample: Sample,
    rest: Sample,
    optimum: Optimum | LargeOptimum,
    layout: Layout,
    cov: Cov,
    refusal: Refusal | None,
    infinite: Infinite | None,
) -> dict[int, Refusal]:
    """Refusals at the optimum of the rows that are not separated; ``refusal`` is one of all coefficients."""
    refused = structural_refusals(sample, rest, optimum, layout, infinite)
    if refusal is None and _has_no_errors(rest, optimum.sums.loss):
        refusal = no_errors_refusal()
    refusal = refusal or _few_groups_refusal(rest, cov)
    information: Array | None = None
    if rest.objective.loss.probabilistic:
        information = rest.sum(InformationAt(rest.system, optimum.model)).values / rest.weight_unit
    return _further_refusals(rest, layout, cov, refused, refusal, int(optimum.estimated.sum()), information)


def _has_no_errors(sample: Sample, loss: float) -> bool:
    """Whether the residuals of a regression are rounding errors."""
    return sample.objective.is_regression and 2.0 * loss <= RESIDUAL_ROUNDING**2 * sample.target_squares


def _further_refusals(
    sample: Sample,
    layout: Layout,
    cov: Cov,
    refused: dict[int, Refusal],
    refusal: Refusal | None,
    each: int,
    information: Array | None,
) -> dict[int, Refusal]:
    """Add refusals of all coefficients, of outputs with too few rows, and of columns with few nonzeros.

    ``each`` is the number of coefficients of an output, ``information`` the sum of p(1 − p) of each class.
    """
    if refusal is not None:
        return dict.fromkeys(range(layout.size), refusal) | refused
    for output, parts in enumerate(layout.outputs):
        own, places = parts != 0, layout.places_of(output)
        known = None if information is None else float(information[own].min())
        label = "" if layout.labels is None else str(layout.labels[output])
        few = rows_refusal(sample, cov, each, known, label)
        if few is not None:
            refused = dict.fromkeys(places, few) | refused
            continue
        for j, reason in few_nonzeros_refusals(sample, cov, sample.rarest_share(own)).items():
            for k in layout.positions([j]):
                if k in places:
                    refused.setdefault(k, reason)
    return refused


def _better_reference(sample: Sample, layout: Layout, model: FittedModel, part: FinitePart, infinite: int) -> Any:
    """The reference class with the fewest infinite coefficients; None if no other has fewer."""
    assert model.classes is not None
    counts = {
        label: int(part.undetermined(other.combinations(sample)).sum())
        for k, label in enumerate(model.classes)
        for other in [Layout.of(sample.objective, replace(model, reference=k), layout.columns)]
    }
    best = min(counts, key=lambda label: counts[label])
    return best if counts[best] < infinite else None


def _of_finite_part(
    sample: Sample, model: FittedModel, layout: Layout, cov: Cov, refusal: Refusal | None, failure: NoOptimumError
) -> Estimate:
    """Estimate from the pairs of classes that are not separated."""
    try:
        part = find_finite_part(sample)
    except NoOptimumError as undecided:
        reason = f"No optimum was found: {failure}; {undecided}. Use the penalised coefficients of the model."
        return Estimate.nothing(layout, Refusal("not_converged", reason))
    if part is None:
        reason = f"There is an optimum, but it was not reached: {failure}. Rescale the columns."
        return Estimate.nothing(layout, Refusal("not_converged", reason))
    combinations = layout.combinations(sample)
    refused = constant_refusals(sample, layout)
    infinite = part.undetermined(combinations)
    infinite[list(refused)] = False
    better = _better_reference(sample, layout, model, part, int(infinite.sum()))
    refused |= dict.fromkeys(np.flatnonzero(infinite).tolist(), Refusal("infinite", part.reason(better)))
    refused = _further_refusals(sample, layout, cov, refused, refusal, part.coefficients, part.information)
    coef, count = np.asarray(combinations @ part.theta), part.basis.shape[1]
    if len(refused) == layout.size:
        return Estimate(coef, refused, count, part.loss, attained=False)
    factor = factor_of(sample, cov, count, part.loss)
    middle = None if cov == "classical" else part.middle
    covariance = SandwichCovariance(combinations, part.inverse, middle, factor, sample.objective.n_free_outputs)
    return Estimate(coef, refused, count, part.loss, covariance, attained=False)


def _count(optimum: Optimum | LargeOptimum) -> int:
    """Number of coefficients that were estimated."""
    return int(optimum.estimated.sum()) * int(optimum.model.shape[1])


def _coefficients(sample: Sample, optimum: Optimum | LargeOptimum, layout: Layout, combinations: Any) -> Array:
    """The coefficients of a summary at an optimum."""
    coef = np.asarray(combinations @ optimum.model.T.ravel())
    if layout.has_intercept:
        coef[0] += sample.origin
    return coef


def _estimate_at(
    sample: Sample,
    rest: Sample,
    optimum: Optimum,
    layout: Layout,
    cov: Cov,
    refused: dict[int, Refusal],
    model: FittedModel,
) -> Estimate:
    """The coefficients at an optimum of the rows that are not separated; their covariance unless all are refused."""
    combinations = layout.combinations(rest)
    coef = _coefficients(sample, optimum, layout, combinations)
    count, loss = _count(optimum), optimum.sums.loss
    if len(refused) == layout.size:
        return Estimate(coef, refused, count, loss)
    covariance = dense_covariance(rest, optimum, combinations, cov, count)
    refused = _bias_refusals(rest, optimum, covariance, count) | refused
    predictor = Predictor.of(rest, optimum, covariance, model.feature_names, model.classes)
    return Estimate(coef, refused, count, loss, covariance, predictor)


def _estimate_at_large(
    sample: Sample,
    rest: Sample,
    optimum: LargeOptimum,
    layout: Layout,
    cov: Cov,
    refused: dict[int, Refusal],
    model: FittedModel,
    *,
    chosen: bool,
) -> Estimate:
    """Like `_estimate_at`, for many coefficients."""
    combinations = layout.combinations(rest)
    coef = _coefficients(sample, optimum, layout, combinations)
    count, loss = _count(optimum), optimum.sums.loss
    if len(refused) == layout.size:
        return Estimate(coef, refused, count, loss)
    factor = factor_of(rest, cov, count, loss)
    at = optimum
    if cov == "classical" and rest.objective.is_regression and not rest.objective.loss.quadratic:
        factor = huber_factor(rest, optimum.model, count)
        at = with_products_of_columns(rest, optimum)
    if chosen:
        of_chosen, solved = chosen_covariance(rest, at, combinations, cov, factor)
        reason = Refusal("not_converged", _UNSOLVED)
        refused = dict.fromkeys(np.flatnonzero(~solved).tolist(), reason) | refused
        return Estimate(coef, refused, count, loss, of_chosen)
    simulated, all_solved = simulated_covariance(rest, at, combinations, cov, factor)
    if not all_solved:
        refused = dict.fromkeys(range(layout.size), Refusal("not_converged", _UNSOLVED)) | refused
        return Estimate(coef, refused, count, loss)
    predictor = Predictor.of(rest, optimum, simulated, model.feature_names, model.classes)
    return Estimate(coef, refused, count, loss, simulated, predictor, simulated.error)


def _bias_refusals(sample: Sample, optimum: Optimum, covariance: SandwichCovariance, count: int) -> dict[int, Refusal]:
    """Coefficients of a likelihood whose bias is large relative to their standard errors."""
    if not sample.objective.loss.probabilistic or sample.weights == "sampling":
        return {}
    bias = np.asarray(covariance.combinations @ first_order_bias(sample, optimum, covariance.inverse))
    errors = covariance.standard_errors()
    with np.errstate(divide="ignore", invalid="ignore"):
        return bias_refusals(np.abs(bias) / errors, count, sample.n_rows)


_UNSOLVED = (
    f"Conjugate gradients found no solution in {MOST_PRODUCTS} products or fewer: the column is a linear combination "
    "of others, or nearly so. Drop columns that repeat others."
)
