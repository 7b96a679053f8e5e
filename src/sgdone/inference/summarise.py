"""From rows and a fitted model to a summary."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from sgdone.inference.coefficients import Estimate, Layout, SummarisedModel
from sgdone.inference.covariance import Cov
from sgdone.inference.estimate import Estimation
from sgdone.inference.refusals import is_exact
from sgdone.inference.sample import Sample
from sgdone.inference.summary import Head, Summary
from sgdone.machine.threads import single_thread

Array = NDArray[np.float64]


#: A difference between coefficients, in standard errors, that is not worth a sentence of numbers.
_SMALL_DIFFERENCE = 0.005
_NO_MAXIMUM = "Some coefficients are infinite: the log-likelihood is its limit."


def summarise(
    sample: Sample, model: SummarisedModel, cov: Cov, columns: NDArray[np.intp] | None, level: float
) -> Summary:
    """Standard errors of the coefficients at the unpenalised optimum, which Newton's method finds from the model.

    ``columns`` are the features of the summary; None for all.
    """
    layout = Layout.of(sample.objective, model, columns)
    with single_thread():
        found = Estimation(sample, model, layout, cov, columns is not None).estimate()
    coef, errors = found.coef.copy(), np.full(layout.size, np.nan)
    if found.covariance is not None:
        errors = found.covariance.standard_errors()
    for k, refusal in found.refused.items():
        errors[k] = np.nan
        if refusal.kind == "infinite":
            coef[k] = np.inf * refusal.sign if refusal.sign else np.nan
        elif refusal.kind in ("collinear", "constant", "not_converged", "not_smooth"):
            coef[k] = np.nan
    df = sample.n_rows - found.coefficients if is_exact(sample, cov) else np.inf
    distribution = stats.t(df) if np.isfinite(df) else stats.norm()
    quantile = float(distribution.ppf(0.5 + 0.5 * level))
    with np.errstate(divide="ignore", invalid="ignore"):
        z = coef / errors
    p = 2.0 * distribution.sf(np.abs(z))
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
    objective, rows, loss = sample.objective, sample.n_rows, found.loss
    has_likelihood = objective.loss.probabilistic or (objective.is_regression and objective.loss.quadratic)
    if not np.isfinite(loss) or not has_likelihood:
        return head
    if sample.weights != "frequency" or objective.predicts == "one_vs_rest":
        return head
    null = sample.null_loss()
    known = (_normal(loss, rows), _normal(null, rows)) if objective.is_regression else (-loss, -null)
    r2 = 1.0 - loss / null if null > 0 else np.nan
    head = replace(head, log_likelihood=known[0], null_log_likelihood=known[1], r2=r2)
    if not found.attained:
        return replace(head, notes=(*head.notes, _NO_MAXIMUM))
    df = found.coefficients - objective.n_free_outputs * int(objective.fit_intercept)
    ratio = 2.0 * (known[0] - known[1])
    return replace(
        head,
        likelihood_ratio=ratio,
        likelihood_ratio_df=df,
        likelihood_ratio_p=float(stats.chi2.sf(ratio, df)) if df else None,
        aic=2.0 * found.coefficients - 2.0 * known[0],
        bic=float(np.log(rows)) * found.coefficients - 2.0 * known[0],
    )


def _normal(loss: float, rows: float) -> float:
    """Log-likelihood of residuals whose halved squares sum to ``loss``, with the variance that fits them best."""
    variance = max(2.0 * loss / rows, float(np.finfo(np.float64).tiny))
    return float(-0.5 * rows * (np.log(2.0 * np.pi * variance) + 1.0))


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
    """Difference of the coefficients from those of the model."""
    known = (errors > 0) & np.isfinite(errors) & np.isfinite(coef)
    if not known.any():
        return ""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        apart = np.where(known, np.abs(coef - layout.of_model(model)) / errors, -1.0)
    k = int(np.nanargmax(apart))
    penalty = f"the penalty alpha={model.alpha:.3g}" if model.alpha else "no penalty"
    penalty += "" if model.is_minimum else " but not to the minimum of the training objective"
    if not apart[k] >= _SMALL_DIFFERENCE:
        return f"The model, fitted with {penalty}, has the same finite coefficients to within 0.005 standard errors."
    return (
        f"These are the coefficients without a penalty. Those of the model, fitted with {penalty}, differ by up to "
        f"{apart[k]:.2g} standard errors ({layout.names[k]})."
    )
