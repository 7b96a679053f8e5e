"""Coefficients of the unpenalised optimum, their covariance, and which of them are refused."""

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.inference.coefficients import Estimate, Layout, SummarisedModel
from sgdone.inference.covariance import (
    Cov,
    SandwichCovariance,
    chosen_covariance,
    dense_covariance,
    factor_of,
    huber_factor,
    simulated_covariance,
)
from sgdone.inference.finite_part import FinitePart, multinomial_finite_part
from sgdone.inference.identification import identification
from sgdone.inference.optimum import (
    MOST_PRODUCTS,
    FactorisedOptimum,
    LargeOptimum,
    NoOptimumError,
    Optimum,
    find_large_optimum,
    find_optimum,
    with_products_of_columns,
)
from sgdone.inference.prediction import Predictor
from sgdone.inference.refusals import (
    NO_ERRORS,
    Refusal,
    bias_refusals,
    collinear_refusals,
    constant_refusals,
    few_nonzeros_refusals,
    groups_refusal,
    loss_refusal,
    rows_refusal,
)
from sgdone.inference.sample import Sample
from sgdone.inference.separation import DirectionSearch, LinearProgramSearch, SeparationSearch
from sgdone.inference.sums_at_model import BiasSums, InformationAt
from sgdone.newton.search import MOST_FACTORISED, MOST_SUMMED, RESIDUAL_ROUNDING
from sgdone.sums.row_sum import ArraySum

Array = NDArray[np.float64]


@final
@dataclass(frozen=True)
class Estimation:
    """The way from rows to an estimate; ``chosen`` if only some of the columns are requested.

    In its methods, ``rest`` is the sample without the rows that are separated: of it the optimum is found.
    """

    sample: Sample
    model: SummarisedModel
    layout: Layout
    cov: Cov
    chosen: bool

    def estimate(self) -> Estimate:
        """The coefficients, their covariance, and their refusals."""
        sample, layout = self.sample, self.layout
        refusal = loss_refusal(sample) or rows_refusal(sample, self.cov, self._coefficients_of_output)
        if refusal is not None:
            return Estimate.nothing(layout, refusal)
        find: Any = find_large_optimum if self._is_large else find_optimum
        search = DirectionSearch(sample, layout) if sample.local_rows is None else LinearProgramSearch(sample, layout)
        rest, optimum = sample, None
        while optimum is None:
            try:
                optimum = find(rest, rest.model_in_units(self.model.coef, self.model.intercept))
            except NoOptimumError as failure:
                if sample.local_rows is not None and sample.objective.predicts == "softmax":
                    return self._of_finite_part(failure)
                found = search.rest_of(rest, failure)
                if isinstance(found, Estimate):
                    return found
                rest = found
        refused = self._refusals_at(rest, optimum, search)
        combinations = layout.combinations(rest)
        coef = np.asarray(combinations @ optimum.model.T.ravel())
        if layout.has_intercept:
            coef[0] += sample.origin
        count = int(optimum.estimated.sum()) * int(optimum.model.shape[1])
        known = Estimate(coef, refused, count, optimum.sums.loss, attained=rest is sample)
        if len(refused) == layout.size:
            return known
        at = self._with_covariance if isinstance(optimum, FactorisedOptimum) else self._with_large_covariance
        return at(rest, optimum, combinations, known)

    @property
    def _coefficients_of_output(self) -> int:
        """Number of coefficients of each output that the rows may determine."""
        return int(self.sample.varies.sum()) + int(self.layout.has_intercept)

    @property
    def _is_large(self) -> bool:
        """Whether conjugate gradients take the place of factors."""
        if self.sample.local_rows is None:
            return self.sample.system.n_coefficients > MOST_SUMMED
        return self._coefficients_of_output * self.sample.objective.n_free_outputs > MOST_FACTORISED

    def _refusals_at(self, rest: Sample, optimum: Optimum, search: SeparationSearch) -> dict[int, Refusal]:
        """Refusals at the optimum of the rows that are not separated."""
        refused = self._structural_refusals(rest, optimum, search)
        has_no_errors = (
            rest.objective.is_regression and 2.0 * optimum.sums.loss <= RESIDUAL_ROUNDING**2 * rest.target_squares
        )
        refusal = groups_refusal(self.sample, self.cov) or (
            NO_ERRORS if has_no_errors else groups_refusal(rest, self.cov)
        )
        information: Array | None = None
        if rest.objective.loss.probabilistic:
            information = rest.sum(InformationAt(rest.system, optimum.model)).values / rest.weight_unit
        return self._further_refusals(rest, refused, refusal, int(optimum.estimated.sum()), information)

    def _structural_refusals(self, rest: Sample, optimum: Optimum, search: SeparationSearch) -> dict[int, Refusal]:
        """Refusals of constant, collinear and infinite coefficients."""
        sample, layout, found = self.sample, self.layout, optimum.identification
        refused = constant_refusals(sample, layout)
        if rest is sample:
            return collinear_refusals(sample, layout, found) | refused
        undetermined = np.zeros(layout.size, dtype=bool)
        undetermined[layout.positions(np.flatnonzero(~rest.varies).tolist())] = True
        if found is not None:
            undetermined |= found.undetermined(layout.combinations(rest, np.ones((1, 1))))
        # Of a column that is constant in the other rows only, and not 0, they know the sum with the intercept.
        moving = np.flatnonzero(~rest.varies & sample.varies)
        if layout.has_intercept and moving.size and np.any(rest.facts.first[moving] != 0):
            undetermined[0] = True
        if isinstance(optimum, FactorisedOptimum):
            # Columns that are collinear in all rows are not infinite.
            free = np.append(sample.varies, layout.has_intercept)
            refused = collinear_refusals(sample, layout, identification(free, sample.column_products)) | refused
        undetermined[list(refused)] = False
        return refused | search.infinite(undetermined, optimum)

    def _further_refusals(
        self, rest: Sample, refused: dict[int, Refusal], refusal: Refusal | None, each: int, information: Array | None
    ) -> dict[int, Refusal]:
        """Add refusals of all coefficients, of outputs with too few rows, and of columns with few nonzeros.

        ``each`` is the number of coefficients of an output, ``information`` the sum of p(1 − p) of each class.
        """
        layout = self.layout
        if refusal is not None:
            return dict.fromkeys(range(layout.size), refusal) | refused
        for output, parts in enumerate(layout.outputs):
            own, places = parts != 0, range(output * layout.per_output, (output + 1) * layout.per_output)
            known = None if information is None else float(information[own].min())
            label = "" if layout.labels is None else str(layout.labels[output])
            few = rows_refusal(rest, self.cov, each, known, label)
            if few is not None:
                refused = dict.fromkeys(places, few) | refused
                continue
            for j, reason in few_nonzeros_refusals(rest, self.cov, rest.rarest_share(own)).items():
                for k in layout.positions([j]):
                    if k in places:
                        refused.setdefault(k, reason)
        return refused

    def _with_covariance(
        self, rest: Sample, optimum: FactorisedOptimum, combinations: Any, known: Estimate
    ) -> Estimate:
        """Add the covariance, and refusals of biased coefficients."""
        covariance = dense_covariance(rest, optimum, combinations, self.cov, known.coefficients)
        refused = known.refused
        if rest.objective.loss.probabilistic and rest.weights == "frequency":
            bias = np.asarray(covariance.combinations @ first_order_bias(rest, optimum, covariance.inverse))
            with np.errstate(divide="ignore", invalid="ignore"):
                shares = np.abs(bias) / covariance.standard_errors()
            refused = bias_refusals(shares, known.coefficients, rest.n_rows) | refused
        predictor = Predictor.of(rest, optimum, covariance, self.model.feature_names, self.model.classes)
        return replace(known, refused=refused, covariance=covariance, predictor=predictor)

    def _with_large_covariance(
        self, rest: Sample, optimum: LargeOptimum, combinations: Any, known: Estimate
    ) -> Estimate:
        """Add the covariance of many coefficients, and refusals of those whose systems were not solved."""
        cov, loss, at = self.cov, rest.objective.loss, optimum
        factor = factor_of(rest, cov, known.coefficients, known.loss)
        if cov == "classical" and rest.objective.is_regression and not loss.quadratic:
            factor = huber_factor(rest, optimum.model, known.coefficients)
            at = with_products_of_columns(rest, optimum)
        unsolved = Refusal("not_converged", _UNSOLVED)
        if self.chosen:
            of_chosen, solved = chosen_covariance(rest, at, combinations, cov, factor)
            refused = dict.fromkeys(np.flatnonzero(~solved).tolist(), unsolved) | known.refused
            return replace(known, refused=refused, covariance=of_chosen)
        simulated, all_solved = simulated_covariance(rest, at, combinations, cov, factor)
        if not all_solved:
            return replace(known, refused=dict.fromkeys(range(self.layout.size), unsolved) | known.refused)
        predictor = Predictor.of(rest, optimum, simulated, self.model.feature_names, self.model.classes)
        return replace(known, covariance=simulated, predictor=predictor, monte_carlo_error=simulated.error)

    def _of_finite_part(self, failure: NoOptimumError) -> Estimate:
        """Estimate from the pairs of classes that are not separated."""
        sample, layout = self.sample, self.layout
        try:
            part = multinomial_finite_part(sample)
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
        reason = part.reason(self._better_reference(part, int(infinite.sum())))
        refused |= dict.fromkeys(np.flatnonzero(infinite).tolist(), Refusal("infinite", reason))
        refusal = groups_refusal(sample, self.cov)
        refused = self._further_refusals(sample, refused, refusal, part.coefficients, part.information)
        coef, count = np.asarray(combinations @ part.theta), part.basis.shape[1]
        if len(refused) == layout.size:
            return Estimate(coef, refused, count, part.loss, attained=False)
        factor = factor_of(sample, self.cov, count, part.loss)
        middle = None if self.cov == "classical" else part.middle
        covariance = SandwichCovariance(combinations, part.inverse, middle, factor, sample.objective.n_free_outputs)
        return Estimate(coef, refused, count, part.loss, covariance, attained=False)

    def _better_reference(self, part: FinitePart, infinite: int) -> Any:
        """The reference class with the fewest infinite coefficients; None if no other has fewer."""
        sample, model = self.sample, self.model
        assert model.classes is not None
        counts = {
            label: int(part.undetermined(other.combinations(sample)).sum())
            for k, label in enumerate(model.classes)
            for other in [Layout.of(sample.objective, replace(model, reference=k), self.layout.columns)]
        }
        best = min(counts, key=lambda label: counts[label])
        return best if counts[best] < infinite else None


def first_order_bias(sample: Sample, optimum: FactorisedOptimum, inverse: Array) -> Array:
    """−½H⁻¹Σv·(x̃, 1) ⊗ t, in the order of the curvature (Cordeiro & McCullagh 1991, eq. 3.5).

    tₐ = Σ κₐᵦ𝒸·Aᵦ𝒸 with the third cumulants κ of a label and A = x̃ᵀH⁻¹x̃, the covariance of the scores. It is of the
    order of coefficients/rows, and makes coefficients too large: those of many columns, and intercepts of rare classes.
    """
    found: ArraySum = sample.sum(BiasSums(sample.system, optimum.model, inverse))
    return np.asarray(-0.5 * (inverse @ found.values.T.ravel()))


_UNSOLVED = (
    f"Conjugate gradients found no solution in {MOST_PRODUCTS} products or fewer: the column is a linear combination "
    "of others, or nearly so. Drop columns that repeat others."
)
