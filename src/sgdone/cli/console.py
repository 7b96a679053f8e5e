"""Output to the terminal."""

import json
import math
from typing import Any

from rich.console import Console
from rich.text import Text


def output() -> Console:
    """Console for standard output; plain text if it is not a terminal."""
    return Console(highlight=False)


def errors() -> Console:
    """Console for standard error."""
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
    width = max(len(name) for name, _ in facts) + 2
    for name, what in facts:
        output().print(Text.assemble((name.ljust(width), "bold"), what), soft_wrap=True)


_COLOURS = {
    "converged": "green",
    "in progress": "green",
    "budget spent": "yellow",
    "diverged": "red",
    "interrupted": "yellow",
}


def say(text: str, status: str = "") -> None:
    """Print a sentence in the colour of a status; lines are wrapped only in a terminal."""
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
