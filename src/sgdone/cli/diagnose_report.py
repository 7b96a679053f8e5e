"""The JSON report of ``sgdone diagnose``."""

from typing import Any

import numpy as np

from sgdone import __version__
from sgdone.diagnose import Check, Separation, Shape

#: Largest number of coefficients reported: the sign of each needs a linear program.
_MOST_COEFFICIENTS = 200
#: Largest number of rows listed.
_MOST_ROWS = 1_000


def report_of(found: Shape, data: str, class_names: list[str] | None) -> dict[str, Any]:
    """Convert the summary of a data set to a dictionary."""
    return {
        "data": data,
        "task": found.task,
        "rows": found.rows,
        "complete_rows": found.complete_rows,
        "features": found.features,
        "fit_intercept": found.fit_intercept,
        "missing": _missing(found),
        **_columns(found),
        "rank": _rank(found),
        "spread": _spread(found),
        "classes": None if found.classes is None else {str(label): count for label, count in found.classes.items()},
        "class_names": class_names,
        "separation": {
            str(label): _separation(found, answer, found.checks.get(label)) for label, answer in found.answers.items()
        }
        or None,
        "separation_skipped": found.why_not or None,
        "sentences": found.sentences(),
        "advice": found.advice,
        "sgdone": __version__,
    }


def _missing(found: Shape) -> dict[str, Any]:
    missing, names = found.missing, found.feature_names
    return {
        "values": missing.count,
        "labels": missing.labels.size,
        "rows": missing.rows,
        "columns": {names[column]: count for column, count in missing.columns.items()},
        "first": [{"row": row, "column": names[column], "found": what} for row, column, what in missing.cells],
        "rows_without_label": missing.labels[:_MOST_ROWS],
    }


def _columns(found: Shape) -> dict[str, Any]:
    columns, names = found.columns, found.feature_names
    if columns is None:
        return dict.fromkeys(("nonzeros", "zero_columns", "constant_columns", "duplicate_columns"))
    return {
        "nonzeros": columns.nonzeros,
        "zero_columns": [names[k] for k in columns.zero],
        "constant_columns": [names[k] for k in columns.constant],
        "duplicate_columns": [[names[k] for k in group] for group in columns.duplicates],
    }


def _rank(found: Shape) -> dict[str, Any] | None:
    rank = found.rank
    if rank is None:
        return None
    return {
        "value": rank.value,
        "at_most": rank.at_most,
        "columns": rank.columns,
        "tolerance": rank.tolerance if rank.value is not None else None,
        "method": rank.method or None,
        "reason": rank.reason or None,
        "dependent_columns": [found.feature_names[k] for k in rank.dependent],
    }


def _spread(found: Shape) -> dict[str, Any] | None:
    spread, names = found.spread, found.feature_names
    if spread is None:
        return None
    return {
        "large": [names[k] for k in spread.large],
        "larger_by": spread.larger_by,
        "small": [names[k] for k in spread.small],
        "smaller_by": spread.smaller_by,
    }


def _separation(found: Shape, answer: Separation, check: Check | None) -> dict[str, Any]:
    rows = np.flatnonzero(found.missing.complete)[answer.separable_rows]
    entry: dict[str, Any] = {"kind": answer.kind, "reason": answer.reason or None, "separable": rows.size}
    certificate = answer.certificate
    if certificate is None or check is None:
        return entry | {"certificate": None}
    entry["certificate"] = {
        "verified": check.holds,
        "exact": check.exact,
        "tolerance": 0.0 if certificate.exact else certificate.tolerance,
        "reason": check.reason,
    }
    if answer.kind == "none" or answer.design.width > _MOST_COEFFICIENTS:
        return entry
    names = answer.feature_names
    entry |= {
        "rows": rows[:_MOST_ROWS],
        "infimum": answer.infimum,
        "infinite": dict(zip(names, answer.infinite.tolist(), strict=True)),
        "infinite_intercept": answer.infinite_intercept,
        "finite_part": dict(zip(names, answer.finite_part.coef.tolist(), strict=True)),
        "finite_intercept": answer.finite_part.intercept,
    }
    try:
        direction, margin = answer.direction, answer.margin
    except ValueError as lost:
        return entry | {"direction": None, "direction_reason": str(lost)}
    return entry | {
        "margin": margin,
        "direction": dict(zip(names, direction.coef.tolist(), strict=True)),
        "direction_intercept": direction.intercept,
    }
