"""Linear regression without knobs."""

from typing import final

from sgdone.estimators.estimator_cores import LinearRegressorCore
from sgdone.estimators.sklearn_interface import SklearnRegressor


@final
class LinearRegressor(SklearnRegressor, LinearRegressorCore):
    """Linear regression with nothing to scale, tune or guess.

    Neither features nor targets need scaling, and ``coef_`` is in the user's units. The fit stops by itself and says
    why in ``verdict_``. For one named method with all its parameters use `SGDRegressor`.

    Parameters
    ----------
    loss : str or Loss, default="squared"
        "squared", "huber", "epsilon_insensitive", "quantile", another convex loss of `sgdone.losses`, or your own
        `sgdone.CustomLoss`. The default estimates the mean.
    alpha : float or "auto", default="auto"
        As in `LinearClassifier`. The penalties tried are in units of the curvature of the loss, so that they do not
        depend on the units of the targets.
    tol, stop, fit_intercept, shuffle, columns, warm_start, n_jobs, random_state, verbose
        As in `LinearClassifier`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients, in the units of ``X``.
    intercept_ : ndarray of shape (1,)
        Intercept.
    alpha_, n_iter_, trace_, verdict_, n_features_in_, feature_names_in_, encoder_, feature_std_, feature_share_
        As in `LinearClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((500, 2))
    >>> model = LinearRegressor(random_state=0).fit(X, X @ [1.0, -2.0] + 3.0)
    >>> model.coef_.round(1), model.intercept_.round(1)
    (array([ 1., -2.]), array([3.]))
    """
