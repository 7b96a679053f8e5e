"""Short names and numbers turned into the objects they stand for."""

from collections.abc import Iterable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np

from sgdone import losses, solvers, steps, stopping
from sgdone.losses.loss import Loss
from sgdone.registry import by_name, did_you_mean, names
from sgdone.run import Monitor
from sgdone.solvers.averaged import Averaged
from sgdone.solvers.base import Solver
from sgdone.solvers.row_solver import RowSolver
from sgdone.solvers.sgd import SGD
from sgdone.solvers.truncated import Truncated
from sgdone.steps.step_size import StepSize
from sgdone.stopping.base import StopRule

TaskName = Literal["classification", "regression"]


def as_loss(loss: Any, task: TaskName) -> Loss:
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


def as_solver(solver: Any, average: Any, l1_ratio: float = 0.0) -> Solver:
    """A solver by name or as it is, averaged as asked, with thresholds for L1; a contradiction is an error."""
    if isinstance(solver, str) and solver == "auto":
        solver = "sgd" if l1_ratio > 0 and average is None else "asgd"
    made = _averaged(solver, average)
    if l1_ratio == 0 or isinstance(made, Truncated):
        return made
    if isinstance(made, SGD):
        return Truncated(made)
    raise ValueError(
        f'an L1 penalty makes weights exactly 0, which {made!r} does not: use solver="sgd" '
        "(an average is not sparse, and implicit steps know no L1)"
    )


def _averaged(solver: Any, average: Any) -> Solver:
    if isinstance(solver, str):
        solver = by_name(solver, Solver, solvers, "solver")
    if not isinstance(solver, Solver):
        raise TypeError(f"solver={solver!r} is neither a name nor a sgdone.solvers.Solver")
    if average is None:
        return solver
    if isinstance(average, np.bool_):
        average = bool(average)
    averaged = isinstance(solver, Averaged)
    if average is False:
        if averaged:
            raise ValueError(f"average=False contradicts the averaging solver {solver!r}: use sgd or isgd")
        return solver
    if average is not True and not (isinstance(average, Integral) and int(average) > 0):
        raise ValueError(f"average={average!r}: give True, False, or the number of samples to leave out (1 or more)")
    after: Any = "auto" if average is True else int(average)
    if isinstance(solver, Averaged):
        return solver if average is True else replace(solver, after=after)
    if not isinstance(solver, RowSolver):
        raise ValueError(f"average={average!r}, but {solver!r} cannot be averaged")
    return Averaged(solver, after)


def as_step(step: Any) -> StepSize | None:
    """A step size by name, as a number (constant) or as it is; ``None`` leaves it to the solver."""
    if isinstance(step, str):
        return None if step == "auto" else by_name(step, StepSize, steps, "step size")
    if _is_number(step):
        return steps.Constant(float(step))
    if not isinstance(step, StepSize):
        raise TypeError(f"step={step!r} is neither a name, a number nor a sgdone.steps.StepSize")
    return step


def as_rule(stop: Any) -> StopRule:
    """A rule by name, as a number of passes or as it is."""
    if isinstance(stop, str):
        return by_name(stop, StopRule, stopping, "stopping rule")
    if _is_number(stop):
        return stopping.MaxPasses(int(stop) if isinstance(stop, Integral) else float(stop))
    if not isinstance(stop, StopRule):
        raise TypeError(f"stop={stop!r} is neither a name, a number of passes nor a sgdone.stopping.StopRule")
    return stop


def as_tol(tol: Any) -> float:
    """The standard errors that another pass must promise."""
    if not _is_number(tol) or not 0 <= tol < float("inf"):
        raise ValueError(f"tol={tol!r} is not a non-negative number: give the standard errors of the loss that matter")
    return float(tol)


def as_alpha(alpha: Any, n_positive: int) -> float:
    """The L2 penalty; "auto" is one over the number of rows of positive weight."""
    if isinstance(alpha, str):
        if alpha != "auto":
            raise ValueError(f'alpha={alpha!r}: give a number or "auto"')
        return 1.0 / n_positive
    if not _is_number(alpha) or not 0 <= alpha < float("inf"):
        raise ValueError(f'alpha={alpha!r} is not a non-negative number: give one, or "auto" (one over the rows)')
    return float(alpha)


def as_l1_ratio(penalty: Any, l1_ratio: Any) -> float:
    """The share of L1 in the penalty."""
    if penalty not in ("l2", "l1", "elasticnet"):
        raise ValueError(f'penalty={penalty!r}: give "l2", "l1" or "elasticnet"')
    if not _is_number(l1_ratio) or not 0 <= l1_ratio <= 1:
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
        if name != "margins":
            hint = did_you_mean(str(name), ["margins"])
            raise ValueError(f"unknown monitor {name!r}.{hint} Known: margins")
    return ("margins",) if found else ()


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
