"""Features that a summary is restricted to, by name or number."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sgdone.inference.summary import INTERCEPT
from sgdone.message_text import did_you_mean

if TYPE_CHECKING:
    from sgdone.inference.reference_coding import ReferenceCoding


def chosen_columns(
    columns: Sequence[Any] | None, names: Sequence[str], coding: "ReferenceCoding | None" = None
) -> NDArray[np.intp] | None:
    """Numbers of the features of a summary, in the order in which they are named first.

    Parameters
    ----------
    columns : sequence of str or int, or None
        Names of features or of columns of a table, or numbers of features of the model; None for all.
    names : sequence of str
        Names of the features of the model.
    coding : ReferenceCoding or None
        The features of the summary, if they are not those of the model.

    Examples
    --------
    >>> chosen_columns(["b", -3], ["a", "b", "c"])
    array([1, 0])
    """
    if columns is None:
        return None
    if isinstance(columns, (str, int, np.integer)):
        columns = [columns]
    if not len(columns):
        raise ValueError("columns is empty: name at least one feature, or leave it out for all")
    known = {name: j for j, name in enumerate(names)}
    asked: list[tuple[int, ...]] = []
    for column in columns:
        if isinstance(column, str) and column == INTERCEPT and column not in known:
            continue
        if coding is not None and isinstance(column, str) and column in coding.columns:
            asked.append(_of_column(column, coding))
            continue
        if coding is not None and column in coding.left_out and column not in known:
            raise ValueError(f"column {column!r} has no coefficients in the summary: {coding.left_out[column]}")
        feature = _feature(column, known, [] if coding is None else list(coding.columns))
        asked.append((feature if coding is None else _of_feature(feature, str(names[feature]), coding),))
    if len(set(asked)) < len(asked):
        raise ValueError("columns names a feature twice")
    return np.array(list(dict.fromkeys(j for own in asked for j in own)), dtype=np.intp)


def _feature(column: Any, known: dict[str, int], columns: Sequence[str]) -> int:
    """The number of one feature of the model."""
    if isinstance(column, str):
        if column not in known:
            raise ValueError(f"X has no column {column!r}.{did_you_mean(column, [*columns, *known])}")
        return known[column]
    if isinstance(column, (bool, np.bool_)) or not isinstance(column, (int, np.integer)):
        raise ValueError(f"columns holds {column!r}: give names or numbers of features")
    if not -len(known) <= column < len(known):
        raise ValueError(f"column {column} does not exist: X has {len(known)} columns, counted from 0")
    return int(column) % len(known)


def _of_column(column: str, coding: "ReferenceCoding") -> tuple[int, ...]:
    found = tuple(coding.columns[column].tolist())
    if not found:
        reason = coding.left_out.get(column, "the rows have one level only, or another column determines it")
        raise ValueError(f"column {column!r} has no coefficients in the summary: {reason}")
    return found


def _of_feature(feature: int, name: str, coding: "ReferenceCoding") -> int:
    place = int(np.searchsorted(coding.kept, feature))
    if place < coding.kept.size and coding.kept[place] == feature:
        return place
    if name in coding.left_out:
        raise ValueError(f"{name!r} has no coefficient in the summary: {coding.left_out[name]}")
    factor = next((own for own in coding.factors if feature in own.features), None)
    if factor is None or factor.reference < 0:
        raise ValueError(f"{name!r} has no coefficient in the summary: another column determines it")
    raise ValueError(
        f"{name!r} is the reference level, which the other levels of {factor.name} are compared with: name one of "
        f"them, or {factor.name!r} for all"
    )
