"""Output to the terminal."""

import json
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # imported when something is printed: a report as JSON does not wait for it
    from rich.console import Console

#: A table in a file or a pipe is at most as wide as this.
_WIDTH_OF_FILES = 200


def output() -> "Console":
    """Console for standard output; plain text if it is not a terminal."""
    from rich.console import Console

    return Console(highlight=False)


def errors() -> "Console":
    """Console for standard error."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def print_json(report: dict[str, Any]) -> None:
    """Print a JSON object; NaN and infinity become null."""
    print(json.dumps(_plain(report), ensure_ascii=False, indent=2, allow_nan=False, default=str))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


def show(facts: list[tuple[str, str]]) -> None:
    """Print names and values, one per line."""
    from rich.text import Text

    width = max(len(name) for name, _ in facts) + 2
    for name, what in facts:
        output().print(Text.assemble((name.ljust(width), "bold"), what), soft_wrap=True)


def show_table(heading: list[str], lines: list[list[str]]) -> None:
    """Print a table whose first column names the lines; a terminal that is too narrow folds its cells."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    for column, name in enumerate(heading):
        table.add_column(Text(name), justify="left" if column == 0 else "right", overflow="fold")
    for line in lines:
        table.add_row(Text(line[0], style="bold"), *map(Text, line[1:]))
    out = output()
    if not out.is_terminal:
        out.width = _WIDTH_OF_FILES
    with out.capture() as capture:
        out.print(table)
    # Cells are padded to the width of their column, which ends lines in spaces.
    for text in capture.get().splitlines():
        out.print(Text.from_ansi(text.rstrip()), soft_wrap=True)


def printable(text: str, longest: int = 60) -> str:
    r"""A name from data on one line: control characters are escaped, and what is too long is cut off.

    Examples
    --------
    >>> print(printable("a\tb"), printable("abcdef", 4))
    a\tb abc…
    """
    text = text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


_COLOURS = {
    "converged": "green",
    "in progress": "green",
    "budget spent": "yellow",
    "diverged": "red",
    "interrupted": "yellow",
}


def say(text: str, status: str = "") -> None:
    """Print a sentence in the colour of a status; lines are wrapped only in a terminal."""
    from rich.text import Text

    out = output()
    out.print(Text(text, style=_COLOURS.get(status, "")), soft_wrap=not out.is_terminal)


def number(value: float) -> str:
    """Format a number with four significant digits, or without decimals from 10,000 on.

    Examples
    --------
    >>> number(0.123456), number(123456.7), number(2.0)
    ('0.1235', '123,457', '2')
    """
    return f"{value:,.0f}" if abs(value) >= 1e4 and math.isfinite(value) else f"{value:.4g}"
