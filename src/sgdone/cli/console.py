"""Output to the terminal: reports, and a progress line."""

import json
import math
import sys
import time
from typing import TYPE_CHECKING, Any, Protocol, Self, final

from sgdone.machine.memory import size_text

if TYPE_CHECKING:  # imported when something is printed: a report as JSON does not wait for it
    from rich.console import Console
    from rich.live import Live

    from sgdone.interfaces.stop_rule import Progress
    from sgdone.run import Hook


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


class ReadInParts(Protocol):
    """Files that are read in parts."""

    @property
    def bytes_read(self) -> int:
        """Bytes read so far."""

    @property
    def total_bytes(self) -> int | None:
        """Bytes of all files, if known."""


@final
class ProgressLine:
    """A progress line on standard error, removed at the end; not shown if standard error is not a terminal."""

    def __init__(self, shown: bool = True) -> None:
        self._doing, self._since = "", time.monotonic()
        self._n_models, self._counts = 1, "sample"
        #: The last progress of each model, and the last loss that is known: not all rounds on a cluster have one.
        self._models: dict[int, Progress] = {}
        self._last_loss = math.nan
        self._rows: ReadInParts | None = None
        self._live = self._made_live() if shown and sys.stderr.isatty() else None

    def _made_live(self) -> "Live | None":
        from rich.live import Live
        from rich.spinner import Spinner
        from rich.text import Text

        console, spinner = errors(), Spinner("dots")
        if not console.is_terminal:
            return None

        def rendered() -> Spinner:
            spinner.update(text=Text(self.text(), no_wrap=True, overflow="ellipsis"))
            return spinner

        return Live(get_renderable=rendered, console=console, refresh_per_second=10, transient=True)

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: Any) -> None:
        if self._live is not None:
            self._live.stop()

    def now(self, doing: str, models: int = 1, counts: str = "sample") -> None:
        """Set the description of the current step, the number of models, and what their steps are called."""
        self._doing, self._since, self._n_models, self._counts = doing, time.monotonic(), models, counts
        self._models.clear()
        self._rows, self._last_loss = None, math.nan

    def follow(self, rows: ReadInParts) -> None:
        """Show how much of the rows has been read, instead of samples: they do not fit into memory."""
        self._rows = rows

    def hook(self, number: int) -> "Hook":
        """A hook that records the progress of one of the models; several may call at once."""

        def record(progress: "Progress") -> None:
            self._models[number] = progress
            if math.isfinite(progress.loss):
                self._last_loss = progress.loss

        return record

    def text(self) -> str:
        """Text of the line."""
        models, seconds = list(self._models.values()), time.monotonic() - self._since
        last, parts = models[-1] if models else None, [self._doing]
        if self._rows is not None:
            parts += reading_text(self._rows, last, seconds)
        elif last is not None and self._counts == "round":
            parts += [f"round {last.pass_number}"]
            parts += [f"loss {self._last_loss:.4g}"] if math.isfinite(self._last_loss) else []
        elif last is not None:
            parts += [f"class {len(models)} of {self._n_models}"] if self._n_models > 1 else []
            parts += [f"{sum(model.step for model in models):,} {self._counts}s", f"{last.passes:.1f} passes"]
            parts += [f"progressive loss {last.loss:.4g}"]
        return " · ".join([*parts, f"{seconds:.0f} s"])


def reading_text(rows: ReadInParts, model: "Progress | None", seconds: float) -> list[str]:
    """Bytes and rows of the first pass, and the time that is left for it; of later passes their share."""
    if model is not None and model.pass_number > 1 and model.n_rows:
        share = model.passes - int(model.passes)
        return [f"pass {model.pass_number}, {share:.0%}", f"progressive loss {model.loss:.4g}"]
    total, done = rows.total_bytes, rows.bytes_read
    parts = [size_text(done) if total is None else f"{size_text(done)} of {size_text(total)}"]
    if model is not None and model.rows_read:
        parts += [f"{model.rows_read:,} rows", f"{model.rows_read / max(seconds, 1e-9):,.0f} rows/s"]
    if total is not None and 0 < done < total and seconds > 1:
        parts.append(f"{seconds * (total - done) / done:.0f} s left")
    return parts
