"""Names of coefficients in tables and plots."""

from collections.abc import Sequence

from rich.cells import cell_len

#: Most coefficients that a sentence names, and the width of each.
_MOST_NAMES, _LONGEST = 5, 40


def shorten(name: str, width: int) -> str:
    r"""Replace the middle of a long name by …, and characters that cannot be printed by their escape sequences.

    Examples
    --------
    >>> shorten("petal length (cm)", 9), shorten("a\nb", 9)
    ('peta…(cm)', 'a\\nb')
    """
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
