"""The progress line of the command line."""

import time
from typing import Any, Self, final

from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from sgdone.cli.console import errors
from sgdone.interfaces.progress import Progress
from sgdone.run import Hook


@final
class ProgressLine:
    """A progress line on standard error, removed at the end; not shown if standard error is not a terminal."""

    def __init__(self, shown: bool = True) -> None:
        self._doing, self._since = "", time.monotonic()
        self._n_models, self._counts, self._models = 1, "sample", dict[int, _ModelProgress]()
        self._spinner = Spinner("dots")
        self._live: Live | None = None
        console = errors()
        if shown and console.is_terminal:
            self._live = Live(get_renderable=self._render, console=console, refresh_per_second=10, transient=True)

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

    def hook(self, number: int) -> Hook:
        """A hook that records the progress of one of the models; several may call at once."""

        def record(progress: Progress) -> None:
            self._models.setdefault(number, _ModelProgress()).note(progress)

        return record

    def text(self) -> str:
        """Text of the line."""
        parts = [self._doing]
        models = list(self._models.values())
        if models:
            latest = models[-1]
            if self._n_models > 1:
                parts.append(f"class {len(models)} of {self._n_models}")
            parts.append(f"{sum(model.steps for model in models):,} {self._counts}s")
            parts.append(f"{latest.passes:.1f} passes")
            parts.append(f"progressive loss {latest.loss:.4g}")
        parts.append(f"{time.monotonic() - self._since:.0f} s")
        return " · ".join(parts)

    def _render(self) -> Spinner:
        self._spinner.update(text=Text(self.text(), no_wrap=True, overflow="ellipsis"))
        return self._spinner


@final
class _ModelProgress:
    """Progress of one model; the loss is the mean over the current pass."""

    def __init__(self) -> None:
        self.steps, self.passes, self.loss = 0, 0.0, float("nan")

    def note(self, progress: Progress) -> None:
        self.steps, self.passes, self.loss = progress.step, progress.passes, progress.loss
