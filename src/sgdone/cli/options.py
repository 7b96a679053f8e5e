"""Options of the command, each checked before any data are read."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from sgdone import losses, solvers, stopping
from sgdone.cli.errors import refuse, usage
from sgdone.cli.option_groups import MethodGroup
from sgdone.fit.options import FitOptions, as_alpha, as_loss, as_rule, as_solver, as_step, rule_with_gain
from sgdone.interfaces.method import by_name, names
from sgdone.losses.learning_task import Task
from sgdone.losses.loss import Loss
from sgdone.message_text import did_you_mean, listed
from sgdone.readers.table import MAX_MEMORY, checked_memory
from sgdone.solvers import SingleModel
from sgdone.tables.kinds import CHOICES

_SEPARATORS = {"tab": "\t", "comma": ",", "semicolon": ";", "space": " "}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([kmgt]?)(i?)b?", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def parsed_separator(text: str | None) -> str | None:
    r"""The value of ``--separator``: one character, or its name.

    Examples
    --------
    >>> parsed_separator("tab"), parsed_separator("|")
    ('\t', '|')
    """
    if text is None:
        return None
    found = _SEPARATORS.get(text, text)
    wrong = len(found) != 1 or found in '"\r\n' or not found.isascii()
    refuse("--separator", wrong, f"{text!r} is neither one character nor {', '.join(_SEPARATORS)}")
    return found


def parsed_memory(text: str | None) -> int:
    """The value of ``--max-memory``: a number of bytes, or as in 500MB and 2GB.

    Examples
    --------
    >>> parsed_memory("500MB"), parsed_memory("1.5 GiB"), parsed_memory("2000000"), parsed_memory(None)
    (500000000, 1610612736, 2000000, 1000000000)
    """
    if text is None:
        return MAX_MEMORY
    with usage("--max-memory"):
        found = _SIZE.fullmatch(text.strip())
        if found is None:
            raise ValueError(f"{text!r} is not a size such as 500MB, 2GB or 2000000000")
        number, power, binary = found.groups()
        return checked_memory(float(number) * (1024 if binary else 1000) ** _POWERS[power.lower()])


def parsed_types(texts: Iterable[str]) -> dict[str, str]:
    """The values of ``--types``.

    Examples
    --------
    >>> parsed_types(["zip=category,height, in cm=number", "id=drop"])
    {'zip': 'category', 'height, in cm': 'number', 'id': 'drop'}
    """
    with usage("--types"):
        types = dict(pair for text in texts for pair in pairs(text, "zip=category"))
        for name, kind in types.items():
            if kind not in CHOICES:
                known = ", ".join(sorted(CHOICES))
                raise ValueError(
                    f"unknown kind {kind!r} of column {name!r}.{did_you_mean(kind, map(str, CHOICES))} Known: {known}"
                )
    return types


def pairs(text: str, example: str) -> list[tuple[str, str]]:
    """Names and values as in ``a=1,b=2``; a name may contain commas and equals signs.

    Examples
    --------
    >>> pairs("no, thanks=1,a=b=2", "a=1")
    [('no, thanks', '1'), ('a=b', '2')]
    """
    found: list[tuple[str, str]] = []
    begun = ""
    for part in text.split(","):
        name, equals, value = f"{begun}{part}".rpartition("=")
        if equals:
            found.append((name.strip(), value.strip()))
        begun = "" if equals else f"{begun}{part},"
    if begun or not found or not all(name and value for name, value in found):
        raise ValueError(f"{text!r} is not a list like {example}")
    return found


@final
@dataclass(frozen=True)
class Options:
    """Options of the method as the user wrote them, and kinds of columns by name; solver "auto" is the default fit."""

    method: MethodGroup
    types: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_default_fit(self) -> bool:
        """Whether no solver was named."""
        return self.method.solver == "auto"

    @property
    def loss(self) -> Loss | None:
        """The loss, if one was named."""
        if self.method.loss is None:
            return None
        with usage("--loss"):
            found: Loss = by_name(self.method.loss, Loss, losses, "loss")
        return found

    def parameters(self) -> dict[str, Any]:
        """The parameters that do not depend on the rows, each checked."""
        named = {} if self.loss is None else {"loss": self.method.loss}
        seed, alpha = self.method.seed, _number_or_name(self.method.alpha)
        refuse("--seed", not 0 <= seed < 2**32, f"{seed} is not a whole number from 0 to {2**32 - 1:,}")
        with usage("--alpha"):
            as_alpha(alpha, 1)
        shared = {"alpha": alpha, "stop": self._rule(), "random_state": seed, **named}
        return shared | (self._of_default_fit() if self.is_default_fit else self._of_named_method())

    def _of_default_fit(self) -> dict[str, Any]:
        given, advice = self.method, "needs a named solver: add --solver asgd, for example"
        refuse("--step", given.step != "auto", f"it {advice}")
        refuse("--center", given.center, f"it {advice}")
        refuse("--stop", as_rule(_number_or_name(given.stop)).needs.iterate, f"{given.stop} {advice}")
        with usage("--tol"):
            rule_with_gain(self._rule(), given.tol)
        return {"tol": given.tol}

    def _of_named_method(self) -> dict[str, Any]:
        given, step = self.method, _number_or_name(self.method.step)
        with usage("--solver"):
            _check_solver(given.solver)
        with usage("--step"):
            as_step(step)
        solver = as_solver(given.solver, average=None)
        for option, limits in (("--stop", given.stop != "auto"), ("--passes", given.passes is not None)):
            refuse(option, limits and not solver.takes_stop, f"{solver} ends by itself: remove {option}")
        advice = "columns are encoded by the automatic solver only: remove --solver, or --types"
        refuse("--types", bool(self.types), advice)
        advice = "it is for --solver auto; a named solver takes --stop progressive, for example"
        refuse("--tol", given.tol is not None, advice)
        return {"solver": given.solver, "step": step}

    def _rule(self) -> Any:
        """The stopping rule, with at most ``--passes`` passes."""
        stop, passes = _number_or_name(self.method.stop), self.method.passes
        with usage("--stop"):
            rule = as_rule(stop)
        if passes is None:
            return stop
        twice = f"--stop {self.method.stop} already sets the number of passes: remove one of them"
        refuse("--passes", not isinstance(stop, str), twice)
        with usage("--passes"):
            limit = stopping.MaxPasses(int(passes) if passes.is_integer() else passes)
        if stop != "auto":
            return rule | limit
        return limit if self.is_default_fit else stopping.ProgressiveLoss() | limit

    def suggested_task(self) -> Task | None:
        """The task, if an option determines it."""
        task: Task | Literal["auto"] = self.method.task.value
        if task != "auto":
            return task
        return None if self.loss is None or self.loss.task == "both" else self.loss.task

    def of_fit(self, task: Task, labels: NDArray[Any], *, one_pass: bool = False) -> FitOptions:
        """Options of the fit; rows that can be read once allow one pass."""
        parameters, given, is_regression = self.parameters(), self.method, task == "regression"
        if one_pass:
            rule, limit = as_rule(parameters["stop"]), stopping.MaxPasses(1)
            parameters["stop"] = limit if parameters["stop"] == "auto" else rule | limit
        if self.types:
            parameters["columns"] = dict(self.types)
        if given.class_weight is not None:
            refuse("--class-weight", is_regression, "this is a regression, which has no classes: remove it")
            with usage("--class-weight"):
                parameters["class_weight"] = _class_weight(given.class_weight, labels)
        if given.loss is not None:
            with usage("--loss"):
                as_loss(given.loss, task)
        kind = "Linear" if self.is_default_fit else "SGD"
        if is_regression:
            advice = "it puts the origin between two classes, and this is a regression: remove it"
            refuse("--center", given.center, advice)
            return FitOptions.of(f"{kind}Regressor", **parameters)
        center = {} if self.is_default_fit else {"center": given.center}
        return FitOptions.of(f"{kind}Classifier", n_jobs=-1, **center, **parameters)


def _class_weight(text: str, labels: NDArray[Any]) -> str | dict[Any, float]:
    """The value of ``--class-weight``: "balanced", or a weight for each class that is named."""
    if text == "balanced":
        return text
    classes = {str(label): label for label in np.unique(labels).tolist()}
    weights = {}
    for name, weight in pairs(text, "no=1,yes=5, and is not balanced"):
        if name not in classes:
            raise ValueError(
                f"there is no class {name!r}.{did_you_mean(name, classes)} Classes: {listed(list(classes), 10)}"
            )
        try:
            weights[classes[name]] = float(weight)
        except ValueError:
            raise ValueError(f"the weight {weight!r} of class {name!r} is not a number") from None
        if not 0 <= weights[classes[name]] < math.inf:
            raise ValueError(f"the weight {weight} of class {name!r} is not a number of 0 or more")
    return weights


def _check_solver(solver: str) -> None:
    """Raise a ValueError for a name that is not a solver; "auto" is one here, and not one of the library's."""
    known = names(SingleModel, solvers)
    key = solver.lower().replace("-", "_")
    if key not in known:
        listed = ", ".join(["auto", *sorted(known)])
        raise ValueError(f"unknown solver {solver!r}.{did_you_mean(key, ['auto', *known])} Known: {listed}")


def _number_or_name(text: str) -> Any:
    try:
        value = float(text)
    except ValueError:
        return text
    return int(value) if value.is_integer() else value
