"""Choice of the feature columns and the label column of a file."""

import difflib

from sgdone.data.table import ReadOptions, listed
from sgdone.message_text import counted

#: Column names taken as the label by default, in upper or lower case.
LABEL_NAMES = ("label", "target", "y", "class")


def choose_columns(names: list[str], options: ReadOptions) -> tuple[list[str], str | None]:
    """Return the names of the feature columns and of the label column; raise an error that lists the columns."""
    _check_names(names, options)
    label = _choose_label(names, options)
    features = _choose_features(names, label, options)
    if not features:
        raise options.error(f"there is no feature column besides the label {label!r}: add one")
    if options.n_features not in (None, len(features)):
        raise options.error(
            f"found {counted(len(features), 'feature column')} ({listed(features)}), expected {options.n_features:,}: "
            "name the label with label=, or the columns with features="
        )
    return features, label


def _check_names(names: list[str], options: ReadOptions) -> None:
    if "" in names:
        raise options.error(f"column {names.index('') + 1} has no name: name it, or drop it (pandas: index=False)")
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise options.error(f"two columns are named {name!r}: rename or drop one")
        seen.add(name)


def _choose_features(names: list[str], label: str | None, options: ReadOptions) -> list[str]:
    if options.features is None:
        return [name for name in names if name != label]
    present = set(names)
    absent = [name for name in options.features if name not in present]
    if absent:
        problem = f"{counted(len(absent), 'feature')} not found ({listed(absent)})"
        raise options.error(_no_column(absent[0], names, problem))
    if len(set(options.features)) < len(options.features):
        raise options.error(f"features= names a column twice: {listed(options.features)}")
    return list(options.features)


def _choose_label(names: list[str], options: ReadOptions) -> str | None:
    taken = set(options.features or ())
    if options.label is not None:
        if options.label in taken:
            raise options.error(f"the label {options.label!r} is also listed in features=: remove it there")
        if options.label in names:
            return options.label
        if options.require_label:
            raise options.error(_no_column(options.label, names, f"no column is named {options.label!r}"))
        return None
    likely = [name for name in names if name.casefold() in LABEL_NAMES and name not in taken]
    if len(likely) == 1:
        return likely[0]
    if likely:
        raise options.error(f"several columns may be the label ({listed(likely)}): choose one with label=")
    if options.require_label:
        raise options.error(
            f"no column is named {', '.join(LABEL_NAMES[:-1])} or {LABEL_NAMES[-1]}: "
            f"choose the label with label=, one of {listed(names)}"
        )
    return None


def _no_column(name: str, names: list[str], problem: str) -> str:
    near = difflib.get_close_matches(name, names, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return f"{problem}{hint}: the columns are {listed(names)}"
