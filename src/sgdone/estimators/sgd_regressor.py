"""Linear regression by one named method."""

from typing import Any, final

from sklearn.base import RegressorMixin

from sgdone.estimators.named_method import NamedMethod
from sgdone.estimators.regression import Regression


@final
class SGDRegressor(RegressorMixin, Regression, NamedMethod):  # type: ignore[misc]  # scikit-learn is not typed
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

    def __init__(
        self,
        loss: Any = "squared",
        *,
        solver: Any = "asgd",
        step: Any = "auto",
        stop: Any = "auto",
        alpha: Any = "auto",
        penalty: str = "l2",
        l1_ratio: float = 0.15,
        average: Any = None,
        fit_intercept: bool = True,
        shuffle: bool = True,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.solver = solver
        self.step = step
        self.stop = stop
        self.alpha = alpha
        self.penalty = penalty
        self.l1_ratio = l1_ratio
        self.average = average
        self.fit_intercept = fit_intercept
        self.shuffle = shuffle
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
