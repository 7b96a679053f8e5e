"""Coefficients that the rows do not determine: constant and collinear columns, and infinite coefficients."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sgdone.inference.coefficient_names import enumerate_names
from sgdone.inference.estimate_result import Estimate
from sgdone.inference.identification import Identification, identification
from sgdone.inference.large import LargeOptimum
from sgdone.inference.layout import Layout
from sgdone.inference.optimum import NoOptimumError, Optimum
from sgdone.inference.refusals import Refusal
from sgdone.inference.sample import Sample


class Infinite(Protocol):
    """Rows that are separated, which makes some coefficients infinite."""

    def refusals(self, layout: Layout, sample: Sample, undetermined: NDArray[np.bool_]) -> dict[int, Refusal]:
        """The infinite coefficients: those that the other rows do not determine."""


def structural_refusals(
    sample: Sample,
    rest: Sample,
    optimum: Optimum | LargeOptimum,
    layout: Layout,
    infinite: Infinite | None,
) -> dict[int, Refusal]:
    """Refusals of constant, collinear and infinite coefficients."""
    refused = constant_refusals(sample, layout)
    found = optimum.identification
    if infinite is None:
        return collinear_refusals(sample, layout, found) | refused
    undetermined = np.zeros(layout.size, dtype=bool)
    undetermined[layout.positions(np.flatnonzero(~rest.varies).tolist())] = True
    if found is not None:
        undetermined |= found.undetermined(layout.combinations(rest, np.ones((1, 1))))
    if layout.has_intercept and _moves_intercept(rest, sample):
        undetermined[0] = True
    if isinstance(optimum, Optimum):
        # Columns that are collinear in all rows are not infinite.
        free = np.append(sample.varies, layout.has_intercept)
        found = identification(free, sample.column_products)
        refused = collinear_refusals(sample, layout, found) | refused
    undetermined[list(refused)] = False
    return refused | infinite.refusals(layout, sample, undetermined)


class SeparatedRows(Protocol):
    """The search for separated rows after Newton's method has failed."""

    def rest_of(self, rest: Sample, failure: NoOptimumError) -> Sample | Estimate:
        """The rows whose optimum is to be searched for next; or an estimate, if there are none or nothing is known."""

    def infinite(self, optimum: Optimum | LargeOptimum) -> Infinite | None:
        """Infinite coefficients, once the other rows have an optimum; None if Newton's method has not failed."""


def completely_separated(sample: Sample, layout: Layout, infinite: Infinite) -> Estimate:
    """All coefficients refused: those of constant columns, and the others because they are infinite."""
    refused = constant_refusals(sample, layout)
    others = ~np.isin(np.arange(layout.size), list(refused))
    refused |= infinite.refusals(layout, sample, others)
    return Estimate(np.full(layout.size, np.nan), refused, attained=False)


def constant_refusals(sample: Sample, layout: Layout) -> dict[int, Refusal]:
    """Refusals of columns that have no coefficient of their own."""
    refused: dict[int, Refusal] = {}
    for j in np.flatnonzero(~sample.varies).tolist():
        same = "cannot be told from the intercept" if layout.has_intercept else "has no effect"
        text = f"{layout.feature_names[j]} has one value in all rows: its coefficient {same}. Drop the column."
        refused |= dict.fromkeys(layout.positions([j]), Refusal("constant", text))
    return refused


def collinear_refusals(sample: Sample, layout: Layout, found: Identification | None) -> dict[int, Refusal]:
    """Refusals of coefficients that linearly dependent columns share."""
    if found is None:
        return {}
    names, refused = [*layout.feature_names, "the intercept"], dict[int, Refusal]()
    undetermined = np.tile(found.undetermined(layout.combinations(sample, np.ones((1, 1)))), len(layout.outputs))
    for group in found.groups():
        dropped = ", ".join(names[j] for j in np.intersect1d(group, found.dropped).tolist())
        own_names = enumerate_names([names[j] for j in group.tolist()])
        reason = Refusal(
            "collinear",
            f"{group.size} columns are linearly dependent ({own_names}): the rows do not determine their coefficients. "
            f"Drop {dropped}.",
        )
        own = layout.positions(group.tolist(), intercept=bool(group[-1] == sample.n_features))
        refused |= {k: reason for k in own if undetermined[k]}
    dropped = ", ".join(names[j] for j in found.dropped.tolist())
    for k in np.flatnonzero(undetermined).tolist():
        # The intercept of centred columns depends on all of them.
        text = f"The intercept depends on columns that are linearly dependent. Drop {dropped}."
        refused.setdefault(k, Refusal("collinear", text))
    return refused


def _moves_intercept(rest: Sample, sample: Sample) -> bool:
    """Whether a column is constant in the other rows only, and not 0: they know its sum with the intercept."""
    columns = np.flatnonzero(~rest.varies & sample.varies)
    return bool(columns.size) and bool(np.any(rest.first_row(columns) != 0))
