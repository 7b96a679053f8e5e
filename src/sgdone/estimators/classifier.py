"""Linear classification."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin

from sgdone.estimators.base import LinearModel
from sgdone.estimators.callbacks import FitTask, fit_data, with_callbacks
from sgdone.estimators.class_predictions import ClassPredictions
from sgdone.estimators.class_training import LabelledRows, is_multinomial, train_classes
from sgdone.estimators.inputs import check_rows_and_labels
from sgdone.estimators.labels import check_classes, encode, encode_known, known_classes
from sgdone.estimators.optimum import as_check_optimum
from sgdone.estimators.specs import TaskName
from sgdone.estimators.training import Plan, Start
from sgdone.estimators.weights import check_sample_weight, count_positive, refuse_balanced, with_class_weight


class LinearClassifier(ClassifierMixin, ClassPredictions, LinearModel):  # type: ignore[misc]  # scikit-learn is not typed
    """A linear classifier trained by stochastic gradients, with nothing to scale, tune or guess.

    With the default ``solver="auto"`` features may come in any units: they are scaled inside the fit, and ``coef_`` is
    in the user's units. Step sizes and penalties are tried side by side and judged by rows that the models judged have
    not learnt from; more than two classes make one multinomial model. The fit ends by itself and says why in
    ``verdict_``. A named solver runs alone, on the features as they are, one class against the rest.

    Parameters
    ----------
    loss : str or Loss, default="logistic"
        "logistic", "hinge", "squared_hinge", "squared", "exponential", or an object of `sgdone.losses`, or
        your own `sgdone.CustomLoss`. The default gives probabilities and is smooth.
    solver : str or Solver, default="auto"
        "auto" tries several step sizes and penalties at once, on features scaled as the rows come. It is left, for
        "asgd" (for "sgd" if there is an L1 penalty), if ``step``, ``average``, ``center``, ``monitors``, a ``penalty``
        with L1 or a rule that watches the iterate or the progressive loss is given, or a loss that is not convex or
        finds its scale from the rows. By name: "asgd" (averaged), "aisgd" (averaged implicit), "sgd", "isgd",
        "sgd_half", "isgd_half", "svrg", "gd", "sgd2", "sgdqn", "pegasos", "olbfgs", "liblinear", "catoni",
        "median_of_means", "margin_moments", or an object of `sgdone.solvers`, where each says what it does.
    step : str, float or StepSize, default="auto"
        "auto" is found by ``solver="auto"``; of another solver it is its own schedule, scaled by the largest of the
        first 1000 rows. A number is a constant step; else "constant", "class_scale", "xu", "inverse_time",
        "inverse_sqrt", "root" or an object of `sgdone.steps`.
    stop : str, int or StopRule, default="auto"
        "auto" ends ``solver="auto"`` when going on would gain less than ``tol``, after 100 passes at most, and
        another solver when a pass lowers the progressive loss by less than 0.1 %, after ten passes at most. A
        number is that many passes; else "margin", "pflug", "distance", "small_validation_set", "progressive", or an
        object of `sgdone.stopping`, composed with ``|``, ``&`` and ``.then(c)``. Budgets (passes, samples, seconds)
        leave ``solver="auto"`` in place; other rules need a single method and choose one.
    tol : float, default=0.2
        When ``solver="auto"`` with ``stop="auto"`` ends: the least gain worth going on for, in standard errors of the
        loss itself. Smaller ones read the rows more often for gains that the data can hardly show; 0 makes 100 passes.
        Not used otherwise.
    alpha : float or "auto", default="auto"
        L2 penalty: the mean loss + alpha/2·‖coef‖² is minimised. With ``solver="auto"`` it acts on the coefficients
        of scaled features, so that units do not matter, and "auto" chooses among 0.01/rows to 1000/rows by rows that
        are not learnt from: ``alpha_`` is what it chose. With a named solver it acts on ``coef_`` as it is, and "auto"
        is 1/rows, the objective of ``LogisticRegression(C=1)``.
    penalty : {"l2", "l1", "elasticnet"}, default="l2"
        "l1" penalises alpha·‖coef‖₁ and makes weights exactly 0, "elasticnet" both:
        alpha·(l1_ratio·‖coef‖₁ + (1 − l1_ratio)/2·‖coef‖²). Both are for ``solver="sgd"``, which they choose: an
        average is not sparse. Features are not scaled then.
    l1_ratio : float, default=0.15
        The share of L1 of "elasticnet".
    average : bool or int, default=None
        None leaves it to the solver; True averages; a number of samples is left out of the average first. Anything but
        None chooses a single method; ``solver="auto"`` averages by itself.
    fit_intercept : bool, default=True
        Whether to learn an intercept; it is not penalised.
    center : bool, default=False
        Whether the intercept comes from putting the origin half-way between the means of the two classes,
        estimated from the first 100 rows, and is not learnt beside that: the set-up of the termination test
        ``stop="margin"`` (Baghal et al. 2021). Sparse data stay sparse. It is not needed to centre features:
        ``solver="auto"`` does that by itself if they are dense.
    shuffle : bool, default=True
        Whether every pass is in a new random order. Without it data sorted by class, which no such method can
        learn from, end as "stalled", and data sorted by a column with advice. ``partial_fit`` shuffles the rows of a
        call and judges the order of calls in the same way.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, multiplied with those of rows.
    check_optimum : "fast", "thorough" or False, default="fast"
        Whether to ask, once ``fit`` has ended, if the loss has a minimum at all: "fast" by what the fit yields and a
        sample of rows, which may leave it open; "thorough" by `sgdone.diagnose.separation`, which names coefficients.
        With a penalty there is one, and the verdict says if the penalty alone holds some coefficients.
    warm_start : bool, default=False
        Whether ``fit`` starts from the last solution.
    n_jobs : int or None, default=None
        Threads for several classes of a named solver; ``solver="auto"`` learns them together in one.
    random_state : int, RandomState or None, default=None
        Seed of the row order.
    verbose : int, default=0
        Whether to print a line a pass.
    monitors : list of str, default=None
        What ``trace_`` is to keep beside loss and error. "margins": mean, median, spread and skew of the margins y·z
        of each block, every row predicted before it is learnt from; ``trace_.plot_margins()`` draws their course. They
        are those of a single method, ``solver="asgd"`` if none is named.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights, in the units of ``X``.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    classes_ : ndarray
        The labels, sorted.
    alpha_ : float
        The penalty: the one given, 1/rows, or the one that ``solver="auto"`` chose (if its model is a mean of
        candidates as good as each other, that of the best of them).
    multinomial_ : bool
        Whether the scores of more than two classes are those of one multinomial model, whose probabilities are their
        softmax; else each is of a class against the rest.
    n_iter_ : int
        Passes, rounded up.
    trace_ : Trace
        What was measured, block by block: ``to_frame()``, ``plot()``.
    verdict_ : Verdict
        Why the fit ended, where, and what to do next; ``print`` it.
    n_features_in_ : int
        Features seen by ``fit``.
    feature_names_in_ : ndarray
        Their names, if ``X`` had them.

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

    _task: ClassVar[TaskName] = "classification"

    def __init__(
        self,
        loss: Any = "logistic",
        *,
        solver: Any = "auto",
        step: Any = "auto",
        stop: Any = "auto",
        tol: float = 0.2,
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
        self.tol = tol
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

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        coef_init: ArrayLike | None = None,
        intercept_init: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Train until the stopping rule fires.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to learn from.
        y : array of shape (n_samples,)
            Labels of any kind.
        coef_init, intercept_init : arrays, optional
            Where to start.
        sample_weight : array of shape (n_samples,), optional
            Non-negative weights; they scale the slope of a row's loss, and a row of weight 0 is not read.

        Returns
        -------
        self : LinearClassifier
            Fitted.
        """
        rows, y = check_rows_and_labels(self, X, y, reset=True, numeric=False)
        classes, numbers = encode(y)
        own_weight = check_sample_weight(sample_weight, rows.shape[0])
        weight = with_class_weight(self.class_weight, own_weight, classes, numbers)
        check_classes(classes, numbers, weight)
        starts = self._with_classes(classes)._starts(coef_init, intercept_init, rows.shape[1])
        plan = self._plan(count_positive(weight, rows.shape[0]), partial=False)
        return self._train(plan, rows, classes, numbers, weight, starts, fit_data(X, y, own_weight))

    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        resume: bool = False,
    ) -> Self:
        """Learn from some rows of a stream in one pass; the step-size clock runs on from call to call.

        With ``solver="auto"`` units, candidates and their leader are kept up to date from call to call, and a penalty
        that is not given shrinks as rows come.

        Parameters
        ----------
        X, y, sample_weight
            As in ``fit``.
        classes : array, optional
            All labels that will ever come; needed in the first call.
        resume : bool
            Go on although a stopping rule that was passed by the user has ended the model.

        Returns
        -------
        self : LinearClassifier
            Fitted so far.
        """
        first = not hasattr(self, "_results")
        known = known_classes(classes, None if first else self.classes_)
        refuse_balanced(self.class_weight)
        dtype = None if first else self._results[0].state.problem.dtype
        X, y = check_rows_and_labels(self, X, y, dtype=dtype, reset=first, numeric=False)
        numbers = encode_known(y, known)
        weight = check_sample_weight(sample_weight, X.shape[0])
        check_classes(known, numbers, None)
        weight = with_class_weight(self.class_weight, weight, known, numbers)
        self._with_classes(known)
        starts = self._starts(None, None, X.shape[1]) if first else self._resumed(resume)
        plan = self._plan(count_positive(weight, X.shape[0]), partial=True, resume=resume)
        return self._train(plan, X, known, numbers, weight, starts, None)

    def _with_classes(self, classes: NDArray[Any]) -> Self:
        self._n_models = 1 if classes.size == 2 else classes.size
        return self

    def _shapes(self, n_features: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return (self._n_models, n_features), (self._n_models,)

    def _train(
        self,
        plan: Plan,
        X: Any,
        classes: NDArray[Any],
        numbers: NDArray[np.integer[Any]],
        weight: NDArray[np.float64] | None,
        starts: list[Start],
        data: dict[str, Any] | None,
    ) -> Self:
        """Train the models and become fitted; ``data`` is what callbacks see, ``None`` if there are none."""
        check = as_check_optimum(self.check_optimum) if data is not None else False
        n_models = 1 if plan.automatic else len(starts)
        task = None if data is None else FitTask(self, n_models, plan.rule_for_callbacks, data)
        results, keys = train_classes(plan, LabelledRows(X, classes, numbers, weight), starts, task, check)
        attributes = self._attributes(results, keys, X.shape[1])
        attributes |= {"classes_": classes, "multinomial_": is_multinomial(results)}
        self._keep(attributes, partial=data is None)
        if task is not None:
            task.end(attributes)
        return self
