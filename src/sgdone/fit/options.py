"""Parameters of a fit, checked and turned into objects."""

from collections.abc import Iterable
from inspect import signature
from numbers import Integral, Real
from typing import Any

import numpy as np

from sgdone import losses, solvers, steps, stopping
from sgdone.interfaces.method import by_name, names
from sgdone.interfaces.stop_rule import StopRule
from sgdone.losses.learning_task import Task
from sgdone.losses.loss import Loss, real_or_nan
from sgdone.message_text import did_you_mean, shortened
from sgdone.run import Monitor
from sgdone.solvers.single_model import SingleModel
from sgdone.steps.step_size import StepSize


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
    """What the trace is to keep beside loss and error."""
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


def parameters_of(estimator: Any) -> dict[str, Any]:
    """The parameters of an estimator by name, in alphabetical order."""
    return {name: getattr(estimator, name) for name in parameter_names(type(estimator))}


def parameter_names(kind: type) -> list[str]:
    """Names of the parameters of a class of estimators, in alphabetical order."""
    return sorted(name for name in signature(kind.__init__).parameters if name != "self")  # type: ignore[misc]


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
