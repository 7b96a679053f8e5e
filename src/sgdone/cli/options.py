"""Options of the command, each checked before any data are read."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from sgdone import losses, solvers, stopping
from sgdone.cli.errors import usage
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
    with usage("--separator"):
        found = _SEPARATORS.get(text, text)
        if len(found) != 1 or found in '"\r\n' or not found.isascii():
            raise ValueError(f"{text!r} is neither one character nor {', '.join(_SEPARATORS)}")
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

    def parameters(self) -> dict[str, Any]:
        """All parameters but the loss, which waits for the labels."""
        if self.method.loss is not None:
            with usage("--loss"):
                by_name(self.method.loss, Loss, losses, "loss")
        with usage("--seed"):
            if not 0 <= self.method.seed < 2**32:
                raise ValueError(f"{self.method.seed} is not a whole number from 0 to {2**32 - 1:,}")
        with usage("--alpha"):
            as_alpha(_number_or_name(self.method.alpha), 1)
        shared = {"alpha": _number_or_name(self.method.alpha), "stop": self._rule(), "random_state": self.method.seed}
        return shared | (self._of_default_fit() if self.is_default_fit else self._of_named_method())

    def _of_default_fit(self) -> dict[str, Any]:
        for option, given in (("--step", self.method.step != "auto"), ("--center", self.method.center)):
            with usage(option):
                if given:
                    raise ValueError("it needs a named solver: add --solver asgd, for example")
        with usage("--stop"):
            if as_rule(_number_or_name(self.method.stop)).needs.iterate:
                raise ValueError(f"{self.method.stop} needs a named solver: add --solver asgd, for example")
        with usage("--tol"):
            rule_with_gain(self._rule(), self.method.tol)
        return {"tol": self.method.tol}

    def _of_named_method(self) -> dict[str, Any]:
        with usage("--solver"):
            _check_solver(self.method.solver)
        with usage("--step"):
            as_step(_number_or_name(self.method.step))
        self._check_takes_stop()
        with usage("--types"):
            if self.types:
                raise ValueError("columns are encoded by the automatic solver only: remove --solver, or --types")
        with usage("--tol"):
            if self.method.tol is not None:
                raise ValueError("it is for --solver auto; a named solver takes --stop progressive, for example")
        return {"solver": self.method.solver, "step": _number_or_name(self.method.step)}

    def _check_takes_stop(self) -> None:
        """Raise a usage error for a limit on a method that ends by itself."""
        solver = as_solver(self.method.solver, average=None)
        for option, given in (("--stop", self.method.stop != "auto"), ("--passes", self.method.passes is not None)):
            with usage(option):
                if given and not solver.takes_stop:
                    raise ValueError(f"{solver} ends by itself: remove {option}")

    def _rule(self) -> Any:
        """The stopping rule, with at most ``--passes`` passes."""
        stop = _number_or_name(self.method.stop)
        with usage("--stop"):
            rule = as_rule(stop)
        if self.method.passes is None:
            return stop
        with usage("--passes"):
            if not isinstance(stop, str):
                raise ValueError(f"--stop {self.method.stop} already sets the number of passes: remove one of them")
            limit = stopping.MaxPasses(
                int(self.method.passes) if self.method.passes.is_integer() else self.method.passes
            )
        if stop != "auto":
            return rule | limit
        return limit if self.is_default_fit else stopping.ProgressiveLoss() | limit

    def suggested_task(self) -> Task | None:
        """The task, if an option determines it."""
        task: Task | Literal["auto"] = self.method.task.value
        if task != "auto":
            return task
        if self.method.loss is None:
            return None
        with usage("--loss"):
            of_loss = by_name(self.method.loss, Loss, losses, "loss").task
        return None if of_loss == "both" else of_loss

    def of_fit(self, task: Task, labels: NDArray[Any], *, one_pass: bool = False) -> FitOptions:
        """Options of the fit; rows that can be read once allow one pass."""
        parameters = self.parameters()
        if one_pass:
            rule, limit = as_rule(parameters["stop"]), stopping.MaxPasses(1)
            parameters["stop"] = limit if parameters["stop"] == "auto" else rule | limit
        if self.types:
            parameters["columns"] = dict(self.types)
        if self.method.class_weight is not None:
            with usage("--class-weight"):
                if task == "regression":
                    raise ValueError("this is a regression, which has no classes: remove it")
                parameters["class_weight"] = _class_weight(self.method.class_weight, labels)
        if self.method.loss is not None:
            with usage("--loss"):
                as_loss(self.method.loss, task)
            parameters["loss"] = self.method.loss
        kind = "Linear" if self.is_default_fit else "SGD"
        if task == "classification":
            center = {} if self.is_default_fit else {"center": self.method.center}
            return FitOptions.of(f"{kind}Classifier", n_jobs=-1, **center, **parameters)
        with usage("--center"):
            if self.method.center:
                raise ValueError("it puts the origin between two classes, and this is a regression: remove it")
        return FitOptions.of(f"{kind}Regressor", **parameters)


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
