"""Parameters of the estimators without knobs: `LinearClassifier` and `LinearRegressor`."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgdone.bank import Bank
from sgdone.estimators.linear_model import LinearModel
from sgdone.estimators.parameters import as_alpha, as_bool, as_rule, is_auto
from sgdone.estimators.sample_weights import Frequencies
from sgdone.interfaces.method import Method
from sgdone.interfaces.objective import Objective
from sgdone.interfaces.stop_rule import StopRule
from sgdone.newton.exact_phase import ExactFromDisk, ExactInMemory, default_phases
from sgdone.stopping import Gain
from sgdone.tables.frames import column_name


class DefaultFit(LinearModel):
    """A linear model that chooses step sizes and penalty, and stops by itself; not for users."""

    _encodes_tables = True

    tol: float | None
    columns: Mapping[str, str] | None

    def _kinds_of_columns(self) -> Mapping[str, str]:
        if self.columns is None:
            return {}
        if not isinstance(self.columns, Mapping):
            raise TypeError(
                f"columns={self.columns!r} must map names of columns to kinds, as in columns={{'zip': 'category'}}"
            )
        return {column_name(name): kind for name, kind in self.columns.items()}

    def _method(self) -> Bank:
        tolerances = [leaf.tolerance for leaf in self._rule().leaves if leaf.tolerance is not None]
        return Bank(min(tolerances)) if tolerances else Bank()

    def _rule(self) -> StopRule:
        return rule_with_gain(self.stop, self.tol)

    def _phases(self, *, in_memory: bool = True) -> Sequence[Method]:
        bank, one_pass = self._method(), self._rule().max_passes == 1
        exact = ExactInMemory(bank.tol, one_pass=one_pass) if in_memory else ExactFromDisk()
        return default_phases(bank, exact)

    def _frequencies(self, weight: NDArray[np.float64] | None) -> Frequencies:
        # Of rows that are read block by block the mean weight is not known before the last one.
        by_blocks = weight is not None and self._reads_blocks(weight.size)
        return Frequencies(weight) if by_blocks else Frequencies.of(weight)

    def _objective(self, n_rows: int, n_classes: int | None) -> Objective:
        alpha = None if is_auto(self.alpha) else as_alpha(self.alpha, n_rows)
        loss, fit_intercept = self._loss(), as_bool("fit_intercept", self.fit_intercept)
        if self._task == "regression":
            return Objective(loss, alpha, fit_intercept=fit_intercept, predicts="target")
        return Objective.of_classes(loss, n_classes or 2, alpha, fit_intercept=fit_intercept)


def rule_with_gain(stop: Any, tol: Any) -> StopRule:
    """The stopping rule of a default fit: `Gain`, capped by a budget or replaced by another rule.

    Examples
    --------
    >>> from sgdone.stopping import MaxSeconds
    >>> rule_with_gain(MaxSeconds(60), None)
    Gain(tol=0.2) | MaxSeconds(seconds=60)
    """
    gain = Gain() if tol is None else Gain(tol)
    if is_auto(stop):
        return gain
    rule = as_rule(stop)
    if rule.is_budget:
        return gain | rule
    if tol is not None:
        use = f"give the tolerance to Gain, as Gain(tol={tol!r})" if rule.needs.judgement else "remove tol"
        raise ValueError(f"tol={tol!r} has no effect with stop={rule!r}: {use}")
    return rule
