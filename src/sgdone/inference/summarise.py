"""From rows and a fitted model to a summary."""

from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from sgdone.inference.coefficients import Layout, SummarisedModel
from sgdone.inference.covariance import Cov
from sgdone.inference.estimate import Estimate, estimate
from sgdone.inference.sample import Sample
from sgdone.inference.summary import Head, Summary
from sgdone.machine.threads import single_thread

Array = NDArray[np.float64]


@final
@dataclass(frozen=True)
class Likelihood:
    """Log-likelihood of a model and of the model with an intercept only.

    Parameters
    ----------
    log_likelihood, null_log_likelihood : float
        Log-likelihoods; of a normal distribution with the variance RSS/n if the loss is squared.
    rows : float
        Number of rows.
    coefficients, null_coefficients : int
        Number of coefficients, intercepts included.
    r2 : float
        McFadden's R², or that of least squares.
    """

    log_likelihood: float
    null_log_likelihood: float
    rows: float
    coefficients: int
    null_coefficients: int
    r2: float

    @property
    def ratio(self) -> float:
        """Likelihood ratio: twice the difference of the two log-likelihoods."""
        return 2.0 * (self.log_likelihood - self.null_log_likelihood)

    @property
    def df(self) -> int:
        """Degrees of freedom of the test of all coefficients but the intercepts."""
        return self.coefficients - self.null_coefficients

    @property
    def p(self) -> float | None:
        """Probability of a larger ratio if these coefficients are 0; None if there are none."""
        return float(stats.chi2.sf(self.ratio, self.df)) if self.df else None

    @property
    def aic(self) -> float:
        """Akaike's information criterion."""
        return 2.0 * self.coefficients - 2.0 * self.log_likelihood

    @property
    def bic(self) -> float:
        """Schwarz's information criterion."""
        return float(np.log(self.rows)) * self.coefficients - 2.0 * self.log_likelihood


def likelihood(sample: Sample, loss: float, coefficients: int) -> Likelihood | None:
    """The likelihood at an optimum whose losses sum to ``loss``; None if there is none."""
    objective, rows = sample.objective, sample.n_rows
    if sample.weights != "frequency" or objective.predicts == "one_vs_rest":
        return None
    if not (objective.loss.probabilistic or (objective.is_regression and objective.loss.quadratic)):
        return None
    null = sample.null_loss()
    intercepts = objective.n_free_outputs * int(objective.fit_intercept)
    if not objective.is_regression:
        r2 = 1.0 - loss / null if null > 0 else np.nan
        return Likelihood(-loss, -null, rows, coefficients, intercepts, r2)
    r2 = 1.0 - loss / null if null > 0 else np.nan
    return Likelihood(_normal(loss, rows), _normal(null, rows), rows, coefficients, intercepts, r2)


def _normal(loss: float, rows: float) -> float:
    """Log-likelihood of residuals whose halved squares sum to ``loss``, with the variance that fits them best."""
    variance = max(2.0 * loss / rows, float(np.finfo(np.float64).tiny))
    return float(-0.5 * rows * (np.log(2.0 * np.pi * variance) + 1.0))


#: A difference between coefficients, in standard errors, that is not worth a sentence of numbers.
_SMALL_DIFFERENCE = 0.005
_NO_MAXIMUM = "Some coefficients are infinite: the log-likelihood is its limit."


def summarise(
    sample: Sample, model: SummarisedModel, cov: Cov, columns: NDArray[np.intp] | None, level: float
) -> Summary:
    """Standard errors of the coefficients at the unpenalised optimum.

    Parameters
    ----------
    sample : Sample
        The rows.
    model : SummarisedModel
        The model, from which Newton's method starts.
    cov : {"classical", "robust", "cluster"}
        The covariance; "cluster" needs groups.
    columns : ndarray of int or None
        Features of the summary; None for all.
    level : float
        Level of the intervals.
    """
    layout = Layout.of(sample.objective, model, columns)
    with single_thread():
        found = estimate(sample, model, layout, cov, chosen=columns is not None)
    return summary_of(sample, model, layout, cov, level, found)


def summary_of(
    sample: Sample, model: SummarisedModel, layout: Layout, cov: Cov, level: float, found: Estimate
) -> Summary:
    """Summary of an estimate."""
    coef, errors = found.coef.copy(), np.full(layout.size, np.nan)
    if found.covariance is not None:
        errors = found.covariance.standard_errors()
    for k, refusal in found.refused.items():
        errors[k] = np.nan
        if refusal.kind == "infinite":
            coef[k] = np.inf * refusal.sign if refusal.sign else np.nan
        elif refusal.kind in ("collinear", "constant", "not_converged", "not_smooth"):
            coef[k] = np.nan
    df = np.inf
    if cov == "classical" and sample.objective.is_regression and sample.objective.loss.quadratic:
        df = sample.n_rows - found.coefficients
    quantile = float(stats.t.ppf(0.5 + 0.5 * level, df) if np.isfinite(df) else stats.norm.ppf(0.5 + 0.5 * level))
    with np.errstate(divide="ignore", invalid="ignore"):
        z = coef / errors
    p = 2.0 * (stats.t.sf(np.abs(z), df) if np.isfinite(df) else stats.norm.sf(np.abs(z)))
    return Summary(
        layout.features,
        layout.classes,
        coef,
        errors,
        z,
        p,
        coef - quantile * errors,
        coef + quantile * errors,
        level,
        df,
        found.refused,
        _head(sample, model, layout, cov, found, coef, errors),
        found.covariance,
        found.predictor,
        found.monte_carlo_error,
    )


def _head(
    sample: Sample, model: SummarisedModel, layout: Layout, cov: Cov, found: Estimate, coef: Array, errors: Array
) -> Head:
    head = Head(
        _kind(sample),
        _outcome(sample, model),
        _covariance_text(sample, cov),
        sample.n_rows,
        found.coefficients,
        model.verdict,
        _difference(layout, model, coef, errors),
        notes=_notes(sample),
    )
    if not np.isfinite(found.loss):
        return head
    known = likelihood(sample, found.loss, found.coefficients)
    if known is None:
        return head
    head = replace(
        head, log_likelihood=known.log_likelihood, null_log_likelihood=known.null_log_likelihood, r2=known.r2
    )
    if not found.attained:
        return replace(head, notes=(*head.notes, _NO_MAXIMUM))
    return replace(
        head,
        likelihood_ratio=known.ratio,
        likelihood_ratio_df=known.df,
        likelihood_ratio_p=known.p,
        aic=known.aic,
        bic=known.bic,
    )


def _kind(sample: Sample) -> str:
    loss, predicts = sample.objective.loss, sample.objective.predicts
    if predicts == "softmax":
        return "multinomial logistic regression"
    if loss.probabilistic:
        return "logistic regression" + (", each class against the rest" if predicts == "one_vs_rest" else "")
    if sample.objective.is_regression and loss.quadratic:
        return "least squares"
    return f"linear model with the {loss.name} loss"


def _outcome(sample: Sample, model: SummarisedModel) -> str:
    if model.classes is None or sample.objective.predicts == "one_vs_rest":
        return ""
    reference = model.classes[model.reference]
    if len(model.classes) == 2:
        return f"{model.classes[1 - model.reference]} (against {reference})"
    return f"each class against {reference}"


def _covariance_text(sample: Sample, cov: Cov) -> str:
    if cov == "classical":
        return "classical"
    factor = "n/(n − k)" if cov == "robust" else "G/(G − 1)·(n − 1)/(n − k)"
    return f"{cov}, times {factor}"


def _notes(sample: Sample) -> tuple[str, ...]:
    if sample.weights == "frequency" and not sample.facts.has_whole_weights:
        return (
            "The sample weights are taken as numbers of equal rows, and some are not whole numbers: if rows were drawn "
            "with unequal probabilities, use weights='sampling'.",
        )
    if sample.weights == "sampling":
        return ("The sample weights are sampling weights: there is no likelihood, and only their ratios matter.",)
    return ()


def _difference(layout: Layout, model: SummarisedModel, coef: Array, errors: Array) -> str:
    """By how much the coefficients of the model differ."""
    known = (errors > 0) & np.isfinite(errors) & np.isfinite(coef)
    if not known.any():
        return ""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        apart = np.where(known, np.abs(coef - layout.of_model(model)) / errors, -1.0)
    k = int(np.nanargmax(apart))
    whose = layout.features[k] if layout.classes is None else f"{layout.classes[k]}: {layout.features[k]}"
    penalty = f"the penalty alpha={model.alpha:.3g}" if model.alpha else "no penalty"
    penalty += "" if model.is_minimum else " but not to the minimum of the training objective"
    if not apart[k] >= _SMALL_DIFFERENCE:
        return f"The model, fitted with {penalty}, has the same finite coefficients to within 0.005 standard errors."
    return (
        f"These are the coefficients without a penalty. Those of the model, fitted with {penalty}, differ by up to "
        f"{apart[k]:.2g} standard errors ({whose})."
    )
