"""Text of the summary of a data set."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sgdone.message_text import counted, shown_label

if TYPE_CHECKING:
    from sgdone.diagnose.shape import Shape

#: Shown if there is no advice.
NO_PROBLEMS = "No problems were found."

_MOST_NAMES = 8
_MOST_CELLS = 4
_MOST_CLASSES = 10
_MOST_GROUPS = 4


def facts_about(shape: "Shape", class_names: Mapping[Any, str] | None = None) -> list[tuple[str, str]]:
    """Names and values of the quantities, for a table of two columns."""
    partly = f" ({shape.complete_rows:,} complete; all results below are for these)" if shape.missing.any else ""
    return [
        ("rows", f"{shape.rows:,}{partly}"),
        ("features", f"{shape.features:,}"),
        *_about_cells(shape),
        *_about_columns(shape),
        *_about_rank(shape),
        *_about_scales(shape),
        *_about_target(shape, class_names or {}),
        *_about_separation(shape),
    ]


def summary_text(shape: "Shape") -> str:
    """Quantities, separation and advice as text."""
    facts = facts_about(shape)
    width = max(len(name) for name, _ in facts) + 2
    parts = ["\n".join(f"{name.ljust(width)}{what}" for name, what in facts), *shape.sentences()]
    parts.append("\n".join(f"- {sentence}" for sentence in shape.advice) or NO_PROBLEMS)
    return "\n\n".join(parts)


def _about_cells(shape: "Shape") -> list[tuple[str, str]]:
    lines = []
    if shape.columns is not None:
        cells = shape.complete_rows * shape.features
        share = f" of {cells:,} values ({percent(shape.columns.nonzeros / cells)})" if cells else ""
        lines.append(("non-zeros", f"{shape.columns.nonzeros:,}{share}"))
    return [*lines, ("missing", _missing_text(shape))]


def _missing_text(shape: "Shape") -> str:
    """Number of missing values, and where the first of them are."""
    missing = shape.missing
    said = []
    if missing.count:
        named = [f"{found} in row {row}, {shape.feature_names[k]}" for row, k, found in missing.cells[:_MOST_CELLS]]
        more = f"; and {missing.count - len(named):,} more" if missing.count > len(named) else ""
        said.append(f"{counted(missing.count, 'value')} ({'; '.join(named)}{more}; row numbers start at 0)")
    if missing.labels.size:
        rows = listed([str(row) for row in missing.labels])
        said.append(f"{counted(missing.labels.size, 'label')} (row{'s' * (missing.labels.size > 1)} {rows})")
    return " and ".join(said) or "none"


def _about_columns(shape: "Shape") -> list[tuple[str, str]]:
    columns = shape.columns
    if columns is None:
        return []
    names = shape.feature_names
    groups = [" = ".join(names[k] for k in group[:_MOST_NAMES]) for group in columns.duplicates[:_MOST_GROUPS]]
    more = len(columns.duplicates) - len(groups)
    same = "; ".join(groups) + (f"; and {counted(more, 'group')} more" if more else "")
    return [
        ("zero columns", listed([names[k] for k in columns.zero])),
        ("constant columns", listed([names[k] for k in columns.constant])),
        ("duplicate columns", same or "none"),
    ]


def _about_rank(shape: "Shape") -> list[tuple[str, str]]:
    rank = shape.rank
    if rank is None:
        return []
    whole = f"{rank.columns:,} columns" + (", including the intercept" if shape.fit_intercept else "")
    if rank.value is None:
        return [("rank", f"not computed, at most {rank.at_most:,} of {whole}: {rank.reason}")]
    return [("rank", f"{rank.value:,} of {whole} (method: {rank.method}, tolerance {rank.tolerance:.0e})")]


def _about_scales(shape: "Shape") -> list[tuple[str, str]]:
    if shape.columns is None:
        return []
    largest = shape.columns.largest
    used = np.flatnonzero(largest)
    if not used.size:
        return []
    low, high = used[np.argmin(largest[used])], used[np.argmax(largest[used])]
    ends = f"largest values from {largest[low]:.4g} ({shape.feature_names[low]}) to {largest[high]:.4g} "
    return [("scales", f"{ends}({shape.feature_names[high]})")]


def _about_target(shape: "Shape", class_names: Mapping[Any, str]) -> list[tuple[str, str]]:
    if shape.classes is None:
        return [("target", "numeric (regression)")]
    total = sum(shape.classes.values())
    said = []
    for label, count in list(shape.classes.items())[:_MOST_CLASSES]:
        name = f" ({class_names[label]})" if label in class_names else ""
        said.append(f"{shown_label(label)}{name}: {counted(count, 'row')} ({percent(count / total)})")
    more = len(shape.classes) - len(said)
    return [("classes", "; ".join(said) + (f"; and {more:,} more" if more else ""))]


def _about_separation(shape: "Shape") -> list[tuple[str, str]]:
    if not shape.answers:
        return [("separation", shape.why_not)] if shape.why_not else []
    if len(shape.answers) == 1:
        [(label, answer)] = shape.answers.items()
        kinds = str(answer.kind)
        proof = str(shape.checks[label]) if label in shape.checks else "none"
    else:
        kinds = _kinds_text(shape)
        verified = sum(bool(check) for check in shape.checks.values())
        exact = sum(check.exact for check in shape.checks.values())
        proof = f"{verified} of {len(shape.answers)} verified" + (f", {exact} of them exactly" if exact else "")
        kinds = f"each class against the rest: {kinds}"
    return [("separation", kinds), ("certificate", proof)]


def _kinds_text(shape: "Shape") -> str:
    """The kind of separation of each class or, if there are many, the classes of each kind."""
    kinds = {shown_label(label): answer.kind for label, answer in shape.answers.items()}
    if len(kinds) <= _MOST_CLASSES:
        return "; ".join(f"{label}: {kind}" for label, kind in kinds.items())
    groups = {kind: [label for label, own in kinds.items() if own == kind] for kind in dict.fromkeys(kinds.values())}
    return "; ".join(f"{kind}: {counted(len(own), 'class', 'classes')} ({listed(own)})" for kind, own in groups.items())


def listed(names: Sequence[str]) -> str:
    """Format names for a sentence, shortened; "none" if there are none.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b", "c"]), listed([])
    ('a', 'a, b and c', 'none')
    """
    if not names:
        return "none"
    if len(names) > _MOST_NAMES:
        return f"{', '.join(names[:_MOST_NAMES])} and {len(names) - _MOST_NAMES:,} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def percent(share: float) -> str:
    """Format a fraction as a percentage with two or three significant digits.

    Examples
    --------
    >>> percent(0.5), percent(0.0123), percent(0.000012), percent(1.0)
    ('50%', '1.2%', '0.0012%', '100%')
    """
    return f"{100 * share:.{3 if share >= 0.1 else 2}g}%"
