"""Which columns of a file are features, and which is the label."""

import difflib

from sgdone.data.table import Request, counted, listed

#: Names that mark a label without being told, in any case.
LABEL_NAMES = ("label", "target", "y", "class")


def choose_columns(names: list[str], request: Request) -> tuple[list[str], str | None]:
    """Names of the feature columns and of the label column, or an error that lists what there is."""
    _check_names(names, request)
    label = _choose_label(names, request)
    features = _choose_features(names, label, request)
    if not features:
        raise request.error(f"no column besides the label {label!r}: nothing to learn from")
    if request.n_features not in (None, len(features)):
        raise request.error(
            f"{counted(len(features), 'feature column')} ({listed(features)}) where {request.n_features:,} "
            "are expected: name the label with label=, or the columns with features="
        )
    return features, label


def _check_names(names: list[str], request: Request) -> None:
    if "" in names:
        raise request.error(f"column {names.index('') + 1} has no name: name it, or leave it out (pandas: index=False)")
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise request.error(f"two columns are called {name!r}: rename or drop one")
        seen.add(name)


def _choose_features(names: list[str], label: str | None, request: Request) -> list[str]:
    if request.features is None:
        return [name for name in names if name != label]
    present = set(names)
    absent = [name for name in request.features if name not in present]
    if absent:
        problem = f"{counted(len(absent), 'feature')} not found ({listed(absent)})"
        raise request.error(_no_column(absent[0], names, problem))
    if len(set(request.features)) < len(request.features):
        raise request.error(f"features= names a column twice: {listed(request.features)}")
    return list(request.features)


def _choose_label(names: list[str], request: Request) -> str | None:
    taken = set(request.features or ())
    if request.label is not None:
        if request.label in taken:
            raise request.error(f"the label {request.label!r} is among the features: take it out")
        if request.label in names:
            return request.label
        if request.require_label:
            raise request.error(_no_column(request.label, names, f"no column is called {request.label!r}"))
        return None
    likely = [name for name in names if name.casefold() in LABEL_NAMES and name not in taken]
    if len(likely) == 1:
        return likely[0]
    if likely:
        raise request.error(f"the label may be any of {listed(likely)}: say which with label=")
    if request.require_label:
        raise request.error(
            f"no column is called {', '.join(LABEL_NAMES[:-1])} or {LABEL_NAMES[-1]}: "
            f"name the label with label=, one of {listed(names)}"
        )
    return None


def _no_column(name: str, names: list[str], problem: str) -> str:
    near = difflib.get_close_matches(name, names, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return f"{problem}{hint}: the columns are {listed(names)}"
