"""Linear regression by one named method."""

from typing import final

from sgdone.estimators.estimator_cores import SGDRegressorCore
from sgdone.estimators.sklearn_interface import SklearnRegressor


@final
class SGDRegressor(SklearnRegressor, SGDRegressorCore):
    """Linear regression trained by one named method, with all its parameters.

    The method runs on features and targets as they are: scale them first, or use `LinearRegressor`, which needs no
    parameters.

    Parameters
    ----------
    loss : str or Loss, default="squared"
        "squared", "huber", "epsilon_insensitive", "quantile", another loss of `sgdone.losses`, or your own
        `sgdone.CustomLoss`.
    solver, step, stop, alpha, penalty, l1_ratio, average, fit_intercept, shuffle, warm_start, random_state, verbose
        As in `SGDClassifier`; the solver "liblinear" is for classes only.
    n_jobs : int or None, default=None
        Not used: there is one model.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients.
    intercept_ : ndarray of shape (1,)
        Intercept.
    alpha_, n_iter_, trace_, verdict_, n_features_in_, feature_names_in_, feature_std_, feature_share_
        As in `SGDClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((500, 2))
    >>> model = SGDRegressor(solver="asgd", random_state=0).fit(X, X @ [1.0, -2.0] + 3.0)
    >>> model.coef_.round(1), model.intercept_.round(1)
    (array([ 1., -2.]), array([3.]))
    """
