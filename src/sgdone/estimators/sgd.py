"""Linear models trained by one named method."""

from typing import Any, final

from sgdone.estimators.linear_model import Classifier, Regressor


@final
class SGDClassifier(Classifier):
    """Linear classifier trained by one named method, with all its parameters.

    The method runs on the features as they are: scale them first, or use `LinearClassifier`, which needs no parameters.
    More than two classes are trained one against the rest.

    Parameters
    ----------
    loss : str or Loss, default="logistic"
        "logistic", "hinge", "squared_hinge", "squared", "exponential", "margin_pursuit", another loss of
        `sgdone.losses`, or your own `sgdone.CustomLoss`.
    solver : str or method, default="asgd"
        "asgd" (averaged SGD), "aisgd" (averaged implicit SGD), "sgd", "isgd", "sgd_half", "isgd_half", "svrg", "gd",
        "sgd2", "sgdqn", "pegasos", "olbfgs", "newton", "liblinear", "catoni", "median_of_means", "margin_moments", or
        an object of `sgdone.solvers`.
    step : str, float or StepSize, default="auto"
        "auto" is the solver's own schedule, scaled by the largest of the first 1000 rows. A number is a constant step;
        else "constant", "class_scale", "xu", "inverse_time", "inverse_sqrt", "root" or an object of `sgdone.steps`.
    stop : str, int or StopRule, default="auto"
        The whole stopping rule. "auto" stops when a pass lowers the progressive loss by less than 0.1 %, after at most
        ten passes; with the solver "newton", at the exact optimum. A number is that many passes; else "margin",
        "pflug", "distance", "small_validation_set", "progressive", "decrement" or an object of `sgdone.stopping`,
        composed with ``|``, ``&`` and ``.then(c)``.
    alpha : float or "auto", default="auto"
        L2 penalty: the objective is the mean loss + alpha/2·‖coef‖². "auto" is 1/rows, the objective of
        ``LogisticRegression(C=1)``.
    penalty : {"l2", "l1", "elasticnet"}, default="l2"
        "l1" penalises alpha·‖coef‖₁ and makes weights exactly 0; "elasticnet" penalises
        alpha·(l1_ratio·‖coef‖₁ + (1 − l1_ratio)/2·‖coef‖²). Both need ``solver="sgd"``.
    l1_ratio : float, default=0.15
        Share of L1 in "elasticnet".
    average : bool or int, default=None
        None leaves it to the solver; True averages the iterates; a number of samples is left out of the average first.
    fit_intercept : bool, default=True
        Whether to fit an intercept; it is not penalised.
    center : bool, default=False
        Whether the intercept comes from putting the origin half-way between the means of the two classes, estimated
        from the first 100 rows: the set-up of the termination test ``stop="margin"`` (Baghal et al. 2021). Sparse data
        stay sparse.
    shuffle : bool, default=True
        Whether every pass has a new random order.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, multiplied with those of rows.
    check_optimum : "fast", "thorough" or False, default="fast"
        Whether to check, after ``fit``, if the loss has a minimum at all; see `LinearClassifier`.
    warm_start : bool, default=False
        Whether ``fit`` starts from the last solution.
    n_jobs : int or None, default=None
        Number of threads for several classes; it never changes a result.
    random_state : int, RandomState or None, default=None
        Seed of the order of the rows.
    verbose : int, default=0
        Whether to print a line per pass.
    monitors : list of str, default=None
        What ``trace_`` keeps beside loss and error. "margins": mean, median, spread and skew of the margins y·z of each
        block, every row predicted before it is trained on; ``trace_.plot_margins()`` draws them.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    classes_ : ndarray
        The labels, sorted.
    alpha_ : float
        The penalty.
    multinomial_ : bool
        Always False: classes are trained one against the rest.
    n_iter_, trace_, verdict_, n_features_in_, feature_names_in_, feature_std_, feature_share_
        As in `LinearClassifier`; with several classes ``verdict_.per_class`` has each class's own.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SGDClassifier(solver="asgd", random_state=0).fit(scale(X), y)
    >>> model.score(scale(X), y) > 0.97
    True
    """

    _name = "SGDClassifier"

    def __init__(
        self,
        loss: Any = "logistic",
        *,
        solver: Any = "asgd",
        step: Any = "auto",
        stop: Any = "auto",
        alpha: Any = "auto",
        penalty: str = "l2",
        l1_ratio: float = 0.15,
        average: Any = None,
        fit_intercept: bool = True,
        center: bool = False,
        shuffle: bool = True,
        class_weight: Any = None,
        check_optimum: Any = "fast",
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        monitors: Any = None,
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
        self.center = center
        self.shuffle = shuffle
        self.class_weight = class_weight
        self.check_optimum = check_optimum
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.monitors = monitors


@final
class SGDRegressor(Regressor):
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

    _name = "SGDRegressor"

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
