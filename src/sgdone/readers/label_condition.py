"""A label that is a condition on a column of numbers, such as ``arr_delay > 15``: two classes, True and False."""

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_CONDITION = re.compile(r"(?P<column>.+?)\s*(?P<comparison>>=|<=|>|<)\s*(?P<value>[+-]?[\d.]+(?:[eE][+-]?\d+)?)")


@final
@dataclass(frozen=True)
class LabelCondition:
    """A comparison of the numbers of a column with one number."""

    column: str
    comparison: str
    value: float

    @classmethod
    def parse(cls, text: str, names: Sequence[str]) -> "LabelCondition | None":
        """The condition that a text states about one of some columns; None if it states none.

        Examples
        --------
        >>> LabelCondition.parse("delay > 15", ["delay", "origin"])
        LabelCondition(column='delay', comparison='>', value=15.0)
        """
        found = _CONDITION.fullmatch(text.strip())
        if text in names or found is None or found["column"] not in names:
            return None
        try:
            return cls(found["column"], found["comparison"], float(found["value"]))
        except ValueError:
            return None

    def __str__(self) -> str:
        return f"{self.column} {self.comparison} {self.value:g}"

    def holds(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether each number satisfies the condition."""
        result: NDArray[np.bool_] = _COMPARISONS[self.comparison](values, self.value)
        return result
