"""Parameters of an estimator, checked and made into the objects that a fit needs."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from functools import cached_property
from numbers import Integral, Real
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from sgdone import losses, solvers, steps, stopping
from sgdone.bank import Bank
from sgdone.fit.labels import Frequencies
from sgdone.interfaces.method import Method, by_name, names
from sgdone.interfaces.objective import Objective
from sgdone.interfaces.stop_rule import StopRule
from sgdone.losses.learning_task import Task
from sgdone.losses.loss import Loss, real_or_nan
from sgdone.message_text import did_you_mean, shortened
from sgdone.newton.exact_phase import ExactFromDisk, ExactInMemory
from sgdone.rows.blocks import BLOCK_ROWS
from sgdone.run import Monitor, Result
from sgdone.solvers.single_model import SingleModel, shown_method
from sgdone.steps.step_size import StepSize
from sgdone.tables.frames import column_name


def as_loss(loss: Any, task: Task) -> Loss:
    """A loss by name or as it is, if it suits the task."""
    fitting = sorted(name for name, kind in names(Loss, losses).items() if kind.task in (task, "both"))
    if isinstance(loss, str):
        key = loss.lower().replace("-", "_")
        if key not in fitting:
            other = key in names(Loss, losses)
            why = f"loss {loss!r} is not for {task}." if other else f"unknown loss {loss!r}."
            hint = "" if other else did_you_mean(key, fitting)
            raise ValueError(f"{why}{hint} Known: {', '.join(fitting)}; or give a sgdone.CustomLoss")
        return by_name(loss, Loss, losses, "loss")
    if not isinstance(loss, Loss):
        raise TypeError(f"loss={loss!r} is neither a name ({', '.join(fitting)}) nor a sgdone.losses.Loss")
    if loss.task not in (task, "both"):
        raise ValueError(f"loss {loss.name!r} is for {loss.task}, not for {task}. Known: {', '.join(fitting)}")
    return loss


def as_solver(solver: Any, average: Any, l1_ratio: float = 0.0) -> SingleModel:
    """A method by name or as it is, averaged as ``average`` says, with a step for L1 if needed."""
    if is_auto(solver):
        raise ValueError('solver="auto" is the method of LinearClassifier and LinearRegressor: use these')
    if isinstance(solver, str):
        solver = by_name(solver, SingleModel, solvers, "solver")
    if not isinstance(solver, SingleModel):
        raise TypeError(f"solver={solver!r} is neither a name nor a method of sgdone.solvers")
    made = _averaged(solver, average)
    return made.with_l1_step() if l1_ratio > 0 else made


def _averaged(solver: SingleModel, average: Any) -> SingleModel:
    if average is None:
        return solver
    if isinstance(average, (bool, np.bool_)):
        if not average and solver.averages:
            raise ValueError(f"average=False contradicts the averaging solver {solver}: use sgd or isgd")
        return solver.with_average("auto") if average and not solver.averages else solver
    if not (isinstance(average, Integral) and int(average) > 0):
        raise ValueError(f"average={average!r}: give True, False, or the number of samples to leave out (1 or more)")
    return solver.with_average(int(average))


def as_step(step: Any) -> StepSize | None:
    """A step size by name, as a number (constant) or as it is; ``None`` leaves it to the solver."""
    if isinstance(step, str):
        return None if step == "auto" else by_name(step, StepSize, steps, "step size")
    if _is_number(step):
        if not 0 < real_or_nan(step) < float("inf"):
            raise ValueError(f'step must be a positive finite number, a name or "auto"; got {step!r}')
        return steps.Constant(float(step))
    if not isinstance(step, StepSize):
        raise TypeError(f"step={step!r} is neither a name, a number nor a sgdone.steps.StepSize")
    return step


def as_rule(stop: Any) -> StopRule:
    """A rule by name, as a number of passes or as it is."""
    if isinstance(stop, str):
        return by_name(stop, StopRule, stopping, "stopping rule")
    if _is_number(stop):
        if not real_or_nan(stop) > 0:
            raise ValueError(f"stop must be a positive number of passes, a name or a rule; got {stop!r}")
        return stopping.MaxPasses(int(stop) if isinstance(stop, Integral) else float(stop))
    if not isinstance(stop, StopRule):
        raise TypeError(f"stop={stop!r} is neither a name, a number of passes nor a sgdone.stopping.StopRule")
    return stop


def as_alpha(alpha: Any, n_positive: int) -> float:
    """The L2 penalty; "auto" is one over the number of rows of positive weight."""
    if is_auto(alpha):
        return 1.0 / n_positive
    number = real_or_nan(alpha)
    if number < 0:
        raise ValueError(f"alpha={alpha} is negative: give 0 or more")
    if not number < float("inf"):
        raise ValueError(f'alpha must be a finite number of 0 or more, or "auto"; got {alpha!r}')
    return float(alpha)


def as_l1_ratio(penalty: Any, l1_ratio: Any) -> float:
    """The share of L1 in the penalty."""
    if not isinstance(penalty, str) or penalty not in ("l2", "l1", "elasticnet"):
        raise ValueError(f'penalty={penalty!r}: give "l2", "l1" or "elasticnet"')
    if not 0 <= real_or_nan(l1_ratio) <= 1:
        raise ValueError(f"l1_ratio={l1_ratio!r} is not between 0 (L2 alone) and 1 (L1 alone)")
    return {"l2": 0.0, "l1": 1.0, "elasticnet": float(l1_ratio)}[penalty]


def as_monitors(monitors: Any) -> tuple[Monitor, ...]:
    """Measurements that the trace keeps in addition to loss and error."""
    if monitors is None:
        return ()
    if isinstance(monitors, str) or not isinstance(monitors, Iterable):
        raise TypeError(f"monitors={monitors!r} is not a list of names: give monitors=['margins']")
    found = list(monitors)
    for name in found:
        if not isinstance(name, str) or name != "margins":
            hint = did_you_mean(str(name), ["margins"])
            raise ValueError(f"unknown monitor {name!r}.{hint} Known: margins")
    return ("margins",) if found else ()


def as_n_jobs(n_jobs: Any) -> int | None:
    """A number of threads, or None; checked here, because joblib does not return for NaN."""
    if n_jobs is None:
        return None
    if isinstance(n_jobs, (bool, np.bool_)) or not isinstance(n_jobs, Integral) or int(n_jobs) == 0:
        raise ValueError(f"n_jobs must be None, a positive whole number, or -1 for all processors; got {n_jobs!r}")
    return int(n_jobs)


def as_verbose(verbose: Any) -> bool:
    """Whether to print a line per pass."""
    if not isinstance(verbose, (Integral, np.bool_)) or verbose < 0:
        raise ValueError(f"verbose must be 0 or a positive whole number; got {verbose!r}")
    return bool(verbose)


def as_random_state(random_state: Any) -> np.random.RandomState:
    """Random numbers from a seed, or as scikit-learn's ``check_random_state``."""
    if isinstance(random_state, Integral):
        if not 0 <= int(random_state) < 2**32:
            raise ValueError(f"random_state must be from 0 to 2**32 - 1; got {shortened(random_state)}")
        return np.random.RandomState(int(random_state))
    from sklearn.utils import check_random_state

    found: np.random.RandomState = check_random_state(random_state)
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


def as_bool(name: str, value: Any) -> bool:
    """A truth value, Python's or NumPy's."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False; got {value!r}")
    return bool(value)


def is_auto(value: Any) -> bool:
    """Whether a parameter is left to the estimator."""
    return isinstance(value, str) and value == "auto"


_ALL = {
    "alpha": "auto",
    "stop": "auto",
    "fit_intercept": True,
    "shuffle": True,
    "warm_start": False,
    "n_jobs": None,
    "random_state": None,
    "verbose": 0,
}
_CLASSIFIERS = {"loss": "logistic", "class_weight": None, "check_optimum": "fast"}
_REGRESSORS = {"loss": "squared"}
_DEFAULT = {"tol": None, "columns": None}
_NAMED = {"solver": "asgd", "step": "auto", "penalty": "l2", "l1_ratio": 0.15, "average": None}
#: Parameters of the estimators, with their defaults.
PARAMETERS: Mapping[str, Mapping[str, Any]] = {
    "LinearClassifier": _ALL | _CLASSIFIERS | _DEFAULT,
    "LinearRegressor": _ALL | _REGRESSORS | _DEFAULT,
    "SGDClassifier": _ALL | _CLASSIFIERS | _NAMED | {"center": False, "monitors": None},
    "SGDRegressor": _ALL | _REGRESSORS | _NAMED,
}


class FitOptions(ABC):
    """Parameters of an estimator, checked when they are first used, and the objects that they ask for.

    A fit makes its options once: each object is made once, and the seed is drawn once.

    Parameters
    ----------
    estimator : str
        Name of the estimator.
    parameters : mapping of str to Any
        All of its parameters.
    """

    #: Whether tables with categories, missing values, dates and text are encoded.
    encodes_tables: ClassVar[bool]

    def __init__(self, estimator: str, parameters: Mapping[str, Any]) -> None:
        self.estimator = estimator
        self.parameters = dict(parameters)

    @staticmethod
    def of(estimator: str, **parameters: Any) -> "FitOptions":
        """Options of an estimator; parameters that are not given have their defaults.

        Examples
        --------
        >>> FitOptions.of("LinearClassifier", stop=5).stop
        Gain(tol=0.2) | MaxPasses(passes=5)
        """
        defaults = PARAMETERS[estimator]
        for name in parameters:
            if name not in defaults:
                raise TypeError(f"{estimator}.__init__() got an unexpected keyword argument {name!r}")
        kind = NamedMethodOptions if "solver" in defaults else DefaultFitOptions
        return kind(estimator, {**defaults, **parameters})

    def __reduce__(self) -> Any:
        return type(self), (self.estimator, self.parameters)

    @property
    def task(self) -> Task:
        """Whether labels are classes or numbers."""
        return "classification" if self.is_classifier else "regression"

    @property
    def is_classifier(self) -> bool:
        """Whether labels are classes."""
        return self.estimator.endswith("Classifier")

    @cached_property
    def loss(self) -> Loss:
        """The loss."""
        return as_loss(self.parameters["loss"], self.task)

    @property
    @abstractmethod
    def method(self) -> Method:
        """The stochastic method, or the named one."""

    @property
    @abstractmethod
    def stop(self) -> StopRule:
        """The stopping rule."""

    def exact_phase(self, *, in_memory: bool = True) -> Method | None:
        """Phase that may replace or follow the method, for rows in memory or rows that are read block by block."""
        return None

    @abstractmethod
    def objective(self, n_rows: int, n_classes: int | None) -> Objective:
        """The objective over ``n_rows`` rows of positive weight."""

    @abstractmethod
    def frequencies(self, weight: NDArray[np.float64] | None) -> Frequencies:
        """Sample weights as a fit uses them."""

    @property
    def step(self) -> StepSize | None:
        """Step sizes; None for those of the method."""
        return as_step(self.parameters.get("step", "auto"))

    @property
    def monitors(self) -> tuple[Monitor, ...]:
        """Measurements that the trace keeps in addition to loss and error."""
        return as_monitors(self.parameters.get("monitors"))

    @property
    def kinds_of_columns(self) -> Mapping[str, str]:
        """Kinds of columns that the user states."""
        return {}

    @cached_property
    def fit_intercept(self) -> bool:
        """Whether there is an intercept."""
        return as_bool("fit_intercept", self.parameters["fit_intercept"])

    @cached_property
    def shuffle(self) -> bool:
        """Whether every pass has a random order."""
        return as_bool("shuffle", self.parameters["shuffle"])

    @cached_property
    def warm_start(self) -> bool:
        """Whether a fit starts from the last solution."""
        return as_bool("warm_start", self.parameters["warm_start"])

    @cached_property
    def center(self) -> bool:
        """Whether the intercept comes from the means of the two classes."""
        return as_bool("center", self.parameters.get("center", False))

    @property
    def class_weight(self) -> Any:
        """Weights of the classes, as they were given."""
        return self.parameters.get("class_weight")

    @cached_property
    def n_jobs(self) -> int | None:
        """Number of threads."""
        return as_n_jobs(self.parameters["n_jobs"])

    @cached_property
    def verbose(self) -> bool:
        """Whether to print a line per pass."""
        return as_verbose(self.parameters["verbose"])

    @cached_property
    def seed(self) -> int:
        """Seed of all randomness, drawn from ``random_state``."""
        return int(as_random_state(self.parameters["random_state"]).randint(2**31))

    def reads_blocks(self, n_rows: int) -> bool:
        """Whether rows in memory are read as those of files are: a default fit on many rows in their own order."""
        return self.encodes_tables and n_rows > BLOCK_ROWS and not self.shuffle

    def check_unchanged(self, last: Result) -> None:
        """Raise if parameters that define the objective have changed since a run that is to be continued."""
        before, now = last.objective, self.objective(1, None)
        alpha = last.state.objective.alpha if is_auto(self.parameters["alpha"]) else now.alpha
        if now.alpha is None and last.state.objective.alpha is not None:
            alpha = None
        for what, old, new in (
            ("loss", repr(before.loss), repr(now.loss)),
            ("l1_ratio", before.l1_ratio, now.l1_ratio),
            ("alpha", last.state.objective.alpha, alpha),
            ("center", before.center, now.center),
            ("fit_intercept", before.fit_intercept or before.center, now.fit_intercept),
        ):
            _refuse_change(what, old, new)


def _refuse_change(what: str, before: Any, now: Any) -> None:
    """Raise if a parameter differs from the call that ``partial_fit`` continues."""
    if before != now:
        raise ValueError(f"{what} was {before} and is {now} now: partial_fit cannot continue, call fit again")


@final
class DefaultFitOptions(FitOptions):
    """Options of a fit that chooses step sizes and penalty, and stops by itself."""

    encodes_tables = True

    @cached_property
    def method(self) -> Bank:
        """Many models side by side."""
        tolerances = [leaf.tolerance for leaf in self.stop.leaves if leaf.tolerance is not None]
        return Bank(min(tolerances)) if tolerances else Bank()

    @cached_property
    def stop(self) -> StopRule:
        """`Gain`, capped by a budget or replaced by another rule."""
        return rule_with_gain(self.parameters["stop"], self.parameters["tol"])

    def exact_phase(self, *, in_memory: bool = True) -> Method:
        """Newton's method, before the bank or after it."""
        one_pass = self.stop.max_passes == 1
        return ExactInMemory(self.method.tol, one_pass=one_pass) if in_memory else ExactFromDisk()

    def frequencies(self, weight: NDArray[np.float64] | None) -> Frequencies:
        """Weights divided by their mean; of rows read block by block that is not known before the last one."""
        by_blocks = weight is not None and self.reads_blocks(weight.size)
        return Frequencies(weight) if by_blocks else Frequencies.of(weight)

    def objective(self, n_rows: int, n_classes: int | None) -> Objective:
        """The mean loss with a penalty, which is chosen unless it is given."""
        given = self.parameters["alpha"]
        alpha = None if is_auto(given) else as_alpha(given, n_rows)
        if not self.is_classifier:
            return Objective(self.loss, alpha, fit_intercept=self.fit_intercept, predicts="target")
        return Objective.of_classes(self.loss, n_classes or 2, alpha, fit_intercept=self.fit_intercept)

    @property
    def kinds_of_columns(self) -> Mapping[str, str]:
        """Kinds of columns that the user states."""
        columns = self.parameters["columns"]
        if columns is None:
            return {}
        if not isinstance(columns, Mapping):
            raise TypeError(
                f"columns={columns!r} must map names of columns to kinds, as in columns={{'zip': 'category'}}"
            )
        return {column_name(name): kind for name, kind in columns.items()}


def rule_with_gain(stop: Any, tol: Any) -> StopRule:
    """The stopping rule of a default fit: `Gain`, capped by a budget or replaced by another rule.

    Examples
    --------
    >>> from sgdone.stopping import MaxSeconds
    >>> rule_with_gain(MaxSeconds(60), None)
    Gain(tol=0.2) | MaxSeconds(seconds=60)
    """
    gain = stopping.Gain() if tol is None else stopping.Gain(tol)
    if is_auto(stop):
        return gain
    rule = as_rule(stop)
    if rule.is_budget:
        return gain | rule
    if tol is not None:
        use = f"give the tolerance to Gain, as Gain(tol={tol!r})" if rule.needs.judgement else "remove tol"
        raise ValueError(f"tol={tol!r} has no effect with stop={rule!r}: {use}")
    return rule


#: Budget of a method that ends by itself.
_MOST_PASSES = 100


@final
class NamedMethodOptions(FitOptions):
    """Options of a fit by one named method, on the features as they are."""

    encodes_tables = False

    @cached_property
    def method(self) -> SingleModel:
        """The method that ``solver`` names."""
        parameters = self.parameters
        l1_ratio = as_l1_ratio(parameters["penalty"], parameters["l1_ratio"])
        method = as_solver(parameters["solver"], parameters["average"], l1_ratio)
        return method.ending_by_itself() if is_auto(parameters["stop"]) else method

    @cached_property
    def stop(self) -> StopRule:
        """The rule that was given, or that of the method."""
        given = self.parameters["stop"]
        if is_auto(given):
            return stopping.MaxPasses(_MOST_PASSES) if self.method.ends_by_itself else as_rule(self.method.default_rule)
        method, rule = self.method, as_rule(given)
        if not method.takes_stop:
            raise ValueError(f"{method} ends by itself, and stop={given!r} would have no effect: remove stop")
        return rule

    def frequencies(self, weight: NDArray[np.float64] | None) -> Frequencies:
        """Weights as they are."""
        return Frequencies(weight)

    def objective(self, n_rows: int, n_classes: int | None) -> Objective:
        """The mean loss with the penalty that was given, by default 1/rows; of two classes, or of numbers."""
        if self.center and not self.fit_intercept:
            raise ValueError("center=True sets the intercept, but fit_intercept=False: remove one of them")
        parameters = self.parameters
        return Objective(
            self.loss,
            as_alpha(parameters["alpha"], n_rows),
            as_l1_ratio(parameters["penalty"], parameters["l1_ratio"]),
            self.fit_intercept,
            self.center,
            "two_classes" if self.is_classifier else "target",
        )

    def check_unchanged(self, last: Result) -> None:
        """Raise if the method or the objective has changed."""
        _refuse_change("solver", shown_method(last.state.method), str(self.method))
        super().check_unchanged(last)
