"""Names and values as messages show them."""

import difflib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

#: Most coefficients that a sentence names, and the width of each.
_MOST_NAMES, _LONGEST = 5, 40
#: Function from a row of the current table to its place in a file, if the table was read from one.
_PLACE: ContextVar[Callable[[int], str] | None] = ContextVar("place", default=None)


def shortened(value: Any, limit: int = 60) -> str:
    """``repr`` of a value, cut short if it is long.

    Examples
    --------
    >>> shortened("spam " * 100, limit=8)
    "'spam sp…"
    """
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}…"


def listed(names: Sequence[str], limit: int = 20) -> str:
    """The first ``limit`` names, and how many others there are.

    Examples
    --------
    >>> listed(["a", "b", "c", "d"], limit=2)
    "'a', 'b' and 2 more"
    """
    shown = ", ".join(shortened(name) for name in names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit:,} more"


def shorten(name: str, width: int) -> str:
    r"""Replace the middle of a long name by …, and characters that cannot be printed by their escape sequences.

    Examples
    --------
    >>> shorten("petal length (cm)", 9), shorten("a\nb", 9)
    ('peta…(cm)', 'a\\nb')
    """
    from rich.cells import cell_len  # imported when needed: a fit does not wait for it

    printed = name if name.isprintable() else repr(name)[1:-1]
    shown, kept = printed, min(len(printed), width)
    while cell_len(shown) > width:
        kept -= 1
        shown = f"{printed[: kept - kept // 2]}…{printed[len(printed) - kept // 2 :]}"
    return shown


def enumerate_names(names: Sequence[str]) -> str:
    """List the first names, and the number of others.

    Examples
    --------
    >>> enumerate_names(["a", "b", "c", "d", "e", "f", "g"])
    'a, b, c, d, e and 2 more'
    """
    listed = ", ".join(shorten(name, _LONGEST) for name in names[:_MOST_NAMES])
    return listed if len(names) <= _MOST_NAMES else f"{listed} and {len(names) - _MOST_NAMES:,} more"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Suggest the known name closest to ``name``, preferably one that differs in case only; empty if none is close.

    Examples
    --------
    >>> did_you_mean("categroy", ["category", "number"])
    " Did you mean 'category'?"
    >>> did_you_mean("storeid", ["store1", "StoreID"])
    " Did you mean 'StoreID'?"
    """
    known = list(known)
    same = [other for other in known if other.casefold() == name.casefold()]
    close = same or difflib.get_close_matches(name, known, n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def counted(number: int, noun: str, nouns: str = "") -> str:
    """Format a number and its noun.

    Examples
    --------
    >>> counted(1, "level"), counted(3, "level"), counted(2, "category", "categories")
    ('1 level', '3 levels', '2 categories')
    """
    return f"{number:,} {noun if number == 1 else nouns or noun + 's'}"


def shown_label(label: Any) -> str:
    """Format a class label: 1 instead of 1.0."""
    return f"{label:g}" if isinstance(label, float) else str(label)


class RowError(ValueError):
    """An error about one row, of which the text is "{before}row {row}{after}".

    Examples
    --------
    >>> error = RowError("the label of ", 7, " is missing")
    >>> str(error), error.at("t.csv, line 9")
    ('the label of row 7 is missing', 't.csv, line 9: the label of the row is missing')
    """

    def __init__(self, before: str, row: int, after: str) -> None:
        super().__init__(before, row, after)  # with all arguments, so that the error can be pickled
        self.before, self.row, self.after = before, row, after

    def __str__(self) -> str:
        return f"{self.before}row {self.row}{self.after}"

    def at(self, place: str) -> str:
        """The text for a row whose place is known."""
        return f"{place}: {self.before}the row{self.after.removeprefix(' of X')}"


@contextmanager
def rows_from(place: Callable[[int], str] | None) -> Iterator[None]:
    """Let messages about rows of a table name their places in the file that the table comes from."""
    token = _PLACE.set(place)
    try:
        yield
    finally:
        _PLACE.reset(token)


def row_place(row: int) -> str:
    """Place of a row, for a message.

    Examples
    --------
    >>> row_place(7)
    'row 7'
    >>> with rows_from(lambda row: f"t.csv, line {row + 2}"):
    ...     row_place(7)
    't.csv, line 9'
    """
    place = _PLACE.get()
    return f"row {row:,}" if place is None else place(row)
