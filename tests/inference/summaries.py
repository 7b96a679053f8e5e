"""Hand-made summaries."""

import numpy as np
from scipy import stats

from sgdone.inference import Summary
from sgdone.inference.covariance import ChosenCovariance
from sgdone.inference.summary import Head

HEAD = {
    "model": "logistic regression",
    "outcome": "yes against no",
    "cov": "robust, factor n/(n − k)",
    "rows": 1200,
    "verdict": "Converged after 23 updates (23 passes).",
    "difference": "The coefficients of the model differ by at most 0.3 standard errors.",
    "log_likelihood": -512.3456,
    "null_log_likelihood": -800.25,
    "likelihood_ratio": 575.81,
    "likelihood_ratio_df": 3,
    "likelihood_ratio_p": 1e-124,
    "r2": 0.35979,
    "aic": 1032.69,
    "bic": 1053.05,
}


def summary_of(features, coef, std_err, *, classes=None, refused=None, level=0.95, df=np.inf, error=0.0, **head):
    """A summary with the given coefficients and standard errors; those of `refused` become NaN."""
    refused = refused or {}
    coef, std_err = (np.array(values, dtype=float) for values in (coef, std_err))
    for k, refusal in refused.items():
        coef[k] = refusal.sign * np.inf if refusal.sign else np.nan
        std_err[k] = np.nan
    z = np.where(np.isnan(std_err), np.nan, coef / std_err)
    reach = stats.t.ppf(0.5 + level / 2, df) * std_err
    low, high = (np.where(np.isfinite(coef), edge, np.nan) for edge in (coef - reach, coef + reach))
    return Summary(
        list(features), classes, coef, std_err, z, 2 * stats.t.sf(np.abs(z), df), low, high, level, df, refused,
        Head(**{"coefficients": len(features), **HEAD, **head}), ChosenCovariance(np.diag(std_err**2)),
        monte_carlo_error=error,
    )  # fmt: skip
