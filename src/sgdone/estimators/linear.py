"""Linear models without knobs."""

from collections.abc import Mapping
from typing import Any, final

from sgdone.estimators.linear_model import Classifier, Regressor


@final
class LinearClassifier(Classifier):
    """Linear classifier with nothing to scale, tune or guess.

    Features can have any units: they are scaled inside the fit, and ``coef_`` is in the units of ``X``. Data frames may
    have categories, missing values, dates and text: columns are encoded, as `TableEncoder` describes. Several step
    sizes and penalties are tried side by side and compared on validation rows. The fit stops by itself and says why in
    ``verdict_``. For one named method with all its parameters use `SGDClassifier`.

    Parameters
    ----------
    loss : str or Loss, default="logistic"
        "logistic", "hinge", "squared_hinge", "squared", "exponential", another convex loss of `sgdone.losses`, or your
        own `sgdone.CustomLoss`. With the logistic loss more than two classes make one multinomial model; with any other
        loss each class is trained against the rest.
    alpha : float or "auto", default="auto"
        L2 penalty: the objective is the mean loss + alpha/2·‖w‖², where w are the coefficients of the scaled features,
        so that units do not matter. "auto" chooses among 0.01/rows to 1000/rows by the loss on validation rows; the
        choice is in ``alpha_``.
    tol : float, default=None
        The fit stops when further passes are expected to lower the validation loss by less than ``tol`` of its standard
        errors. None is 0.2. Smaller values read the rows more often for gains that the data can hardly show; 0 makes
        100 passes. Short for ``stop=Gain(tol)``.
    stop : str, int or StopRule, default="auto"
        "auto" is ``Gain(tol)``, with at most 100 passes. A budget caps it: ``MaxSeconds(60)``, ``MaxPasses(5)`` or the
        number 5 mean "as usual, but not more than that". Any other rule of `sgdone.stopping` replaces ``Gain``;
        ``Gain(tol=0) | MaxPasses(5)`` makes five passes.
    fit_intercept : bool, default=True
        Whether to fit an intercept; it is not penalised.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, multiplied with those of rows.
    shuffle : bool, default=True
        Whether every pass has a new random order. Without shuffling, rows sorted by class end as "stalled".
    check_optimum : "fast", "thorough" or False, default="fast"
        Whether to check, after ``fit``, if the loss has a minimum at all. "fast" uses what the fit yields and a sample
        of rows, and may leave it open; "thorough" uses `sgdone.diagnose.separation`, which names coefficients. With a
        penalty there is a minimum, and the verdict says if only the penalty keeps some coefficients finite.
    columns : dict, default=None
        Kinds of columns of a data frame by name, where the encoder is to decide otherwise: "number", "category",
        "text", "date" or "drop".
    warm_start : bool, default=False
        Whether ``fit`` starts from the last solution.
    n_jobs : int or None, default=None
        Number of threads; it never changes a result. Fits of this class use one thread at present.
    random_state : int, RandomState or None, default=None
        Seed of the order of the rows. An exact fit does not depend on it.
    verbose : int, default=0
        Whether to print a line per pass.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients, in the units of ``X``. Of a table those of its encoded features: `coefficients` has their names.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    classes_ : ndarray
        The labels, sorted.
    alpha_ : float
        The penalty: the one given or chosen. The model is the optimum at this penalty if the verdict says that the
        training objective is at its minimum. Otherwise it is the penalty with which the best candidate was trained:
        candidates are trained until their validation loss no longer falls, and equally good ones are averaged.
    multinomial_ : bool
        Whether the scores of more than two classes are those of one multinomial model, whose probabilities are their
        softmax; otherwise each class was trained against the rest.
    n_iter_ : int
        Passes, rounded up.
    trace_ : Trace
        Measurements block by block: ``to_frame()``, ``plot()``.
    verdict_ : Verdict
        Why the fit stopped, where, and what to do next; ``print`` it.
    n_features_in_ : int
        Number of columns of ``X``.
    feature_names_in_ : ndarray
        Their names, if ``X`` has them.
    encoder_ : TableEncoder
        How the columns of a data frame were encoded; ``print`` it. Not set for arrays.
    feature_std_ : ndarray of shape (n_features,)
        Standard deviation of each feature in the rows of the last ``fit``; ``coef_ * feature_std_`` compares features
        in different units. Not set by ``partial_fit``.
    feature_share_ : ndarray of shape (n_features,)
        Share of the rows of the last ``fit`` that have the feature (a level, a word, an entry of a sparse column that
        is not 0); 1 for dense columns. Not set by ``partial_fit``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LinearClassifier(random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.97
    True
    >>> model.verdict_.status
    <Status.CONVERGED: 'converged'>
    """

    _name = "LinearClassifier"

    def __init__(
        self,
        loss: Any = "logistic",
        *,
        alpha: Any = "auto",
        tol: float | None = None,
        stop: Any = "auto",
        fit_intercept: bool = True,
        class_weight: Any = None,
        shuffle: bool = True,
        check_optimum: Any = "fast",
        columns: Mapping[str, str] | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.alpha = alpha
        self.tol = tol
        self.stop = stop
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.shuffle = shuffle
        self.check_optimum = check_optimum
        self.columns = columns
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


@final
class LinearRegressor(Regressor):
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

    _name = "LinearRegressor"

    def __init__(
        self,
        loss: Any = "squared",
        *,
        alpha: Any = "auto",
        tol: float | None = None,
        stop: Any = "auto",
        fit_intercept: bool = True,
        shuffle: bool = True,
        columns: Mapping[str, str] | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.alpha = alpha
        self.tol = tol
        self.stop = stop
        self.fit_intercept = fit_intercept
        self.shuffle = shuffle
        self.columns = columns
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
