"""Linear regression."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from sgdone.estimators.automatic import train_automatically
from sgdone.estimators.base import LinearModel
from sgdone.estimators.callbacks import FitTask, fit_data, with_callbacks
from sgdone.estimators.inputs import check_rows_and_labels, check_rows_to_predict, linear_scores
from sgdone.estimators.specs import TaskName
from sgdone.estimators.training import Plan, Start, train
from sgdone.estimators.weights import check_sample_weight, count_positive


class LinearRegressor(RegressorMixin, LinearModel):  # type: ignore[misc]  # scikit-learn is not typed
    """A linear regression trained by stochastic gradients, with nothing to scale, tune or guess.

    With the default ``solver="auto"`` neither features nor targets need be scaled: steps and penalties go by their
    spread, and ``coef_`` is in the user's units. The fit ends by itself and says why in ``verdict_``.

    Parameters
    ----------
    loss : str or Loss, default="squared"
        "squared", "huber", "epsilon_insensitive", "quantile", an object of `sgdone.losses`, or your own
        `sgdone.CustomLoss`. The default estimates the mean.
    solver, step, stop, tol, penalty, l1_ratio, average, fit_intercept, shuffle, warm_start, random_state, verbose
        As in `LinearClassifier`; the solver "liblinear" is for classes alone.
    alpha : float or "auto", default="auto"
        As in `LinearClassifier`. What ``solver="auto"`` tries is in units of the loss's curvature, so that it does not
        depend on those of the targets.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights, in the units of ``X``.
    intercept_ : ndarray of shape (1,)
        Intercept.
    alpha_, n_iter_, trace_, verdict_, n_features_in_, feature_names_in_
        As in `LinearClassifier`.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((500, 2))
    >>> model = LinearRegressor(random_state=0).fit(X, X @ [1.0, -2.0] + 3.0)
    >>> model.coef_.round(1), model.intercept_.round(1)
    (array([ 1., -2.]), array([3.]))
    """

    _task: ClassVar[TaskName] = "regression"

    def __init__(
        self,
        loss: Any = "squared",
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
        shuffle: bool = True,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
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
        self.shuffle = shuffle
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        coef_init: ArrayLike | None = None,
        intercept_init: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Train until the stopping rule fires; parameters as in `LinearClassifier.fit`, ``y`` real numbers."""
        rows, y = check_rows_and_labels(self, X, y, reset=True, numeric=True)
        weight = check_sample_weight(sample_weight, rows.shape[0])
        starts = self._starts(coef_init, intercept_init, rows.shape[1])
        plan = self._plan(count_positive(weight, rows.shape[0]), partial=False)
        return self._train(plan, rows, y, weight, starts, fit_data(X, y, weight))

    def partial_fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, resume: bool = False) -> Self:
        """Learn from some rows of a stream in one pass; the step-size clock runs on from call to call."""
        first = not hasattr(self, "_results")
        dtype = None if first else self._results[0].state.problem.dtype
        X, y = check_rows_and_labels(self, X, y, dtype=dtype, reset=first, numeric=True)
        weight = check_sample_weight(sample_weight, X.shape[0])
        starts = self._starts(None, None, X.shape[1]) if first else self._resumed(resume)
        plan = self._plan(count_positive(weight, X.shape[0]), partial=True, resume=resume)
        return self._train(plan, X, y, weight, starts, None)

    def _shapes(self, n_features: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return (n_features,), (1,)

    def _train(
        self,
        plan: Plan,
        X: Any,
        y: NDArray[Any],
        weight: NDArray[np.float64] | None,
        starts: list[Start],
        data: dict[str, Any] | None,
    ) -> Self:
        """Train the model and become fitted; ``data`` is what callbacks see, ``None`` if there are none."""

        def snapshot(model: int, state: Any) -> dict[str, Any]:
            coef, intercept = state.solution()
            return {"coef_": np.ravel(coef), "intercept_": np.reshape(intercept, (1,))}

        task = None if data is None else FitTask(self, 1, plan.rule_for_callbacks, data)
        hook = None if task is None else task.hook(0, "", snapshot)
        targets = np.ascontiguousarray(y, dtype=np.float64)
        if plan.automatic:
            results: Any = [train_automatically(plan, X, targets, None, weight, starts, hook)]
        else:
            results = train(plan, X, [lambda: targets], weight, starts, [hook], [""])
        attributes = self._attributes(results, [None], X.shape[1])
        self._keep(attributes, partial=data is None)
        if task is not None:
            task.end(attributes)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The predicted number of each row."""
        check_is_fitted(self)
        X = check_rows_to_predict(self, X)
        return linear_scores(X, self.coef_, self.intercept_[0])
