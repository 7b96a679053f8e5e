"""The progress line of the command line."""

import math
import sys
import time
from typing import TYPE_CHECKING, Any, Protocol, Self, final

from sgdone.cli.console import errors
from sgdone.interfaces.stop_rule import Progress
from sgdone.machine.memory import size_text
from sgdone.run import Hook

if TYPE_CHECKING:  # imported when a line is shown
    from rich.live import Live
    from rich.spinner import Spinner


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
        self._n_models, self._counts, self._models = 1, "sample", dict[int, _ModelProgress]()
        self._rows: ReadInParts | None = None
        self._spinner: Spinner | None = None
        self._live = self._made_live() if shown and sys.stderr.isatty() else None

    def _made_live(self) -> "Live | None":
        from rich.live import Live
        from rich.spinner import Spinner

        console = errors()
        if not console.is_terminal:
            return None
        self._spinner = Spinner("dots")
        return Live(get_renderable=self._render, console=console, refresh_per_second=10, transient=True)

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
        self._rows = None

    def follow(self, rows: ReadInParts) -> None:
        """Show how much of the rows has been read, instead of samples: they do not fit into memory."""
        self._rows = rows

    def hook(self, number: int) -> Hook:
        """A hook that records the progress of one of the models; several may call at once."""

        def record(progress: Progress) -> None:
            self._models.setdefault(number, _ModelProgress()).note(progress)

        return record

    def text(self) -> str:
        """Text of the line."""
        parts = [self._doing]
        models = list(self._models.values())
        if self._rows is not None:
            parts += reading_text(self._rows, models[-1] if models else _ModelProgress(), self._seconds)
        elif models:
            parts += _rounds(models[-1]) if self._counts == "round" else self._samples(models)
        parts.append(f"{self._seconds:.0f} s")
        return " · ".join(parts)

    def _samples(self, models: "list[_ModelProgress]") -> list[str]:
        of_classes = [f"class {len(models)} of {self._n_models}"] if self._n_models > 1 else []
        steps = f"{sum(model.steps for model in models):,} {self._counts}s"
        return [*of_classes, steps, f"{models[-1].passes:.1f} passes", f"progressive loss {models[-1].loss:.4g}"]

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._since

    def _render(self) -> "Spinner":
        from rich.text import Text

        assert self._spinner is not None
        self._spinner.update(text=Text(self.text(), no_wrap=True, overflow="ellipsis"))
        return self._spinner


@final
class _ModelProgress:
    """Progress of one model; the loss is the mean over the current pass."""

    def __init__(self) -> None:
        self.steps, self.passes, self.loss = 0, 0.0, float("nan")
        self.rows_read, self.pass_number, self.n_rows = 0, 1, 0
        #: The last loss that is known: not all rounds of a fit on a cluster have one.
        self.last_loss = float("nan")

    def note(self, progress: Progress) -> None:
        self.last_loss = progress.loss if math.isfinite(progress.loss) else self.last_loss
        self.steps, self.passes, self.loss = progress.step, progress.passes, progress.loss
        self.rows_read, self.pass_number, self.n_rows = progress.rows_read, progress.pass_number, progress.n_rows or 0


def _rounds(model: _ModelProgress) -> list[str]:
    """The round of a fit on a cluster, and the last loss."""
    loss = [f"loss {model.last_loss:.4g}"] if math.isfinite(model.last_loss) else []
    return [f"round {model.pass_number}", *loss]


def reading_text(rows: ReadInParts, model: _ModelProgress, seconds: float) -> list[str]:
    """Bytes and rows of the first pass, and the time that is left for it; of later passes their share."""
    if model.pass_number > 1 and model.n_rows:
        share = model.passes - int(model.passes)
        return [f"pass {model.pass_number}, {share:.0%}", f"progressive loss {model.loss:.4g}"]
    total, done = rows.total_bytes, rows.bytes_read
    parts = [size_text(done) if total is None else f"{size_text(done)} of {size_text(total)}"]
    if model.rows_read:
        parts += [f"{model.rows_read:,} rows", f"{model.rows_read / max(seconds, 1e-9):,.0f} rows/s"]
    if total is not None and 0 < done < total and seconds > 1:
        parts.append(f"{seconds * (total - done) / done:.0f} s left")
    return parts
