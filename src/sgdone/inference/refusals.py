"""Refusals: why coefficients have no standard error, with the limits and the sentences."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, final

import numpy as np
from numpy.typing import NDArray

from sgdone.message_text import enumerate_names

if TYPE_CHECKING:
    from sgdone.inference.coefficients import Layout
    from sgdone.inference.identification import Identification
    from sgdone.inference.sample import Sample


RefusalKind = Literal[
    "infinite",
    "collinear",
    "constant",
    "few_rows",
    "biased",
    "few_nonzeros",
    "few_groups",
    "not_converged",
    "not_smooth",
    "no_errors",
]

#: Fewest groups of a cluster covariance, which is a mean over as many squares.
FEWEST_GROUPS = 30
#: Largest number of coefficients for each row, those of classes counted as 4·p(1 − p): there 95 % intervals still cover
#: about 94 % of the coefficients with the robust covariance and 93 % with the classical one.
#: ``benchmarks/coverage_limits.py`` prints the curve.
MOST_PER_ROW = 0.125
#: Largest bias of a coefficient of a likelihood in standard errors: there a 95 % interval covers 92 %.
LARGEST_BIAS = 0.5
#: Fewest rows that the variation of a column may come from in a regression, and no more than this share of all rows:
#: in few rows their number is what is limited.
FEWEST_ROWS, MOST_OF_ROWS = 50, 0.2
#: Fewest rows of the rarer class among those that the variation of a column comes from.
FEWEST_OF_CLASS = {"classical": 3, "robust": 10, "cluster": 10}


@final
@dataclass(frozen=True)
class Refusal:
    """Why a coefficient has no standard error.

    Parameters
    ----------
    kind : str
        "infinite", "collinear", "constant", "few_rows", "biased", "few_nonzeros", "few_groups", "not_converged",
        "not_smooth" or "no_errors".
    reason : str
        The finding, with its number, and advice: whole sentences. Coefficients that are refused together share
        one reason.
    sign : int
        Sign of an infinite coefficient: 1 or −1, 0 if it is not known.
    detail : str
        The number of this coefficient, if others share the reason: "6 rows".
    """

    kind: RefusalKind
    reason: str
    sign: int = 0
    detail: str = ""


def loss_refusal(sample: "Sample") -> Refusal | None:
    """Whether the loss has no curvature that standard errors could be computed from."""
    loss = sample.objective.loss
    if not loss.convex:
        return Refusal(
            "not_smooth",
            f"The {loss.name} loss is not convex: its optimum may be one of several. Fit with loss='huber' or "
            "loss='logistic' for standard errors.",
        )
    if np.isinf(loss.smoothness) and not loss.fades:
        smooth = "'squared' or 'huber'" if sample.objective.is_regression else "'logistic' or 'squared_hinge'"
        return Refusal(
            "not_smooth",
            f"The slope of the {loss.name} loss jumps, and standard errors need its curvature. Fit with loss={smooth}.",
        )
    return None


def rows_refusal(
    sample: "Sample", cov: str, coefficients: int, information: float | None = None, label: str = ""
) -> Refusal | None:
    """Whether there are too few rows for normal quantiles; with t quantiles there is only one row more needed.

    ``coefficients`` is their number for each output, and ``label`` the class if there are several. ``information`` is
    Σv·p(1 − p) of the rarest class at the optimum, if known: four times it are the rows that count.
    """
    rows = sample.n_rows
    if is_exact(sample, cov):
        if rows > coefficients:
            return None
        return Refusal(
            "few_rows",
            f"There are {coefficients:,} coefficients for {rows:,.6g} rows: nothing is left to estimate the errors "
            "from. Use fewer columns.",
        )
    counting = rows if information is None else min(rows, 4.0 * information)
    if coefficients <= MOST_PER_ROW * counting:
        return None
    whose = f" of class {label}" if label else ""
    carry = ""
    if counting < 0.99 * rows:
        carry = f" They carry as much information as {counting:,.0f} rows of equally likely classes."
    return Refusal(
        "few_rows",
        f"There are {coefficients:,} coefficients{whose} for {rows:,.6g} rows.{carry} Intervals need "
        f"{1 / MOST_PER_ROW:.0f}{' such' * bool(carry)} rows for each coefficient, {coefficients / MOST_PER_ROW:,.0f} "
        "in all. Use fewer columns or more rows.",
    )


def is_exact(sample: "Sample", cov: str) -> bool:
    """Whether intervals are exact for normal errors, however few rows there are: those of classical least squares."""
    return cov == "classical" and sample.objective.is_regression and sample.objective.loss.quadratic


#: The refusal of a regression without residuals.
NO_ERRORS = Refusal(
    "no_errors",
    "The targets are predicted exactly: the residuals are rounding errors, and there is no noise to estimate "
    "standard errors from. Check that no column contains the target.",
)


def bias_refusals(shares: NDArray[np.float64], coefficients: int, rows: float) -> dict[int, Refusal]:
    """Coefficients whose bias is too large a share of their standard error."""
    reason = (
        f"Maximum likelihood overestimates these coefficients, because there are {coefficients:,} coefficients for "
        f"{rows:,.6g} rows. The bias is more than {LARGEST_BIAS} standard errors, and a 95 % interval covers less than "
        "92 %. Use more rows or fewer columns."
    )
    return {
        k: Refusal("biased", reason, detail=f"{shares[k]:.2f} standard errors")
        for k in np.flatnonzero(shares > LARGEST_BIAS).tolist()
    }


def groups_refusal(sample: "Sample", cov: str) -> Refusal | None:
    """Whether there are too few groups for a cluster covariance."""
    groups = sample.n_groups
    if cov != "cluster" or not groups or groups >= FEWEST_GROUPS:
        return None
    return Refusal(
        "few_groups",
        f"There are {groups:,} groups; a cluster covariance needs {FEWEST_GROUPS}, because it is estimated from as "
        "many sums. Use cov='robust' if rows are independent, or smaller groups.",
    )


def few_nonzeros_refusals(sample: "Sample", cov: str, share: float) -> dict[int, Refusal]:
    """Columns whose variation comes from too few rows; ``share`` is that of the rarer class of an output."""
    if is_exact(sample, cov):
        return {}
    if sample.objective.is_regression:
        fewest = min(FEWEST_ROWS, MOST_OF_ROWS * sample.n_rows)
        needed, other = f"{fewest:.0f} are needed", "; or use cov='classical' if the errors have equal variances"
    else:
        fewest = FEWEST_OF_CLASS[cov] / share
        needed = f"{fewest:.0f} are needed, so that {FEWEST_OF_CLASS[cov]} of them are of the rarer class"
        other = ""
    reason = (
        f"In effect the column varies in too few rows, whose number is given in brackets: {needed}. Merge a rare level "
        f"with others; take the logarithm of a skewed column, or clip it{other}."
    )
    rows = sample.rows_of_columns
    return {
        j: Refusal("few_nonzeros", reason, detail=f"{rows[j]:.3g} rows")
        for j in np.flatnonzero(sample.varies & (rows < fewest)).tolist()
    }


def constant_refusals(sample: "Sample", layout: "Layout") -> dict[int, Refusal]:
    """Refusals of columns that have no coefficient of their own."""
    refused: dict[int, Refusal] = {}
    for j in np.flatnonzero(~sample.varies).tolist():
        same = "cannot be distinguished from the intercept" if layout.has_intercept else "has no effect"
        text = f"{layout.feature_names[j]} has one value in all rows: its coefficient {same}. Drop the column."
        refused |= dict.fromkeys(layout.positions([j]), Refusal("constant", text))
    return refused


def collinear_refusals(sample: "Sample", layout: "Layout", found: "Identification | None") -> dict[int, Refusal]:
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
