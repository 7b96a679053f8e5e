"""The four estimators without scikit-learn's base classes: parameters, ``fit``, ``predict`` and all else.

The command uses these classes, so that it does not wait for scikit-learn to be imported. The public classes derive from
them, and describe the parameters.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from sgdone.estimators.classification import Classification
from sgdone.estimators.linear_model import DefaultFit, NamedMethod
from sgdone.estimators.regression import Regression


class LinearClassifierCore(Classification, DefaultFit):
    """What `LinearClassifier` does; not for users."""

    public_name: ClassVar[str] = "LinearClassifier"

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


class LinearRegressorCore(Regression, DefaultFit):
    """What `LinearRegressor` does; not for users."""

    public_name: ClassVar[str] = "LinearRegressor"

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


class SGDClassifierCore(Classification, NamedMethod):
    """What `SGDClassifier` does; not for users."""

    public_name: ClassVar[str] = "SGDClassifier"

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


class SGDRegressorCore(Regression, NamedMethod):
    """What `SGDRegressor` does; not for users."""

    public_name: ClassVar[str] = "SGDRegressor"

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


EstimatorCore = LinearClassifierCore | LinearRegressorCore | SGDClassifierCore | SGDRegressorCore

#: The classes by the names of the public ones.
CORES: dict[str, type[EstimatorCore]] = {
    kind.public_name: kind for kind in (LinearClassifierCore, LinearRegressorCore, SGDClassifierCore, SGDRegressorCore)
}
for _name, _kind in CORES.items():
    # Python names this function in errors about parameters.
    _kind.__init__.__qualname__ = f"{_name}.__init__"
