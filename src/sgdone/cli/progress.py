"""The line that tells how training goes."""

import time
from typing import Any, Self, final

from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from sgdone.cli.console import errors
from sgdone.solvers.state import State
from sgdone.stopping.base import Progress


@final
class ProgressLine:
    """A line on standard error that is gone when the work is done; none where that is no terminal."""

    def __init__(self, shown: bool = True) -> None:
        self._doing, self._since = "", time.monotonic()
        self._n_models, self._models = 1, dict[int, _Course]()
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

    def now(self, doing: str, models: int = 1) -> None:
        """Say what is being done, and on how many models."""
        self._doing, self._since, self._n_models = doing, time.monotonic(), models

    def hook(self, progress: Progress, state: State) -> None:
        """Note where one of the models is; several may call at once."""
        self._models.setdefault(id(state), _Course()).note(progress)

    def text(self) -> str:
        """The line."""
        parts = [self._doing]
        courses = list(self._models.values())
        if courses:
            latest = courses[-1]
            if self._n_models > 1:
                parts.append(f"class {len(courses)} of {self._n_models}")
            parts.append(f"{sum(course.samples for course in courses):,} samples")
            parts.append(f"{latest.passes:.1f} passes")
            parts.append(f"progressive loss {latest.loss:.4g}")
        parts.append(f"{time.monotonic() - self._since:.0f} s")
        return " · ".join(parts)

    def _render(self) -> Spinner:
        self._spinner.update(text=Text(self.text(), no_wrap=True, overflow="ellipsis"))
        return self._spinner


@final
class _Course:
    """One model's way so far: its loss is the mean over the pass it is in."""

    def __init__(self) -> None:
        self.samples, self.passes, self.loss = 0, 0.0, float("nan")

    def note(self, progress: Progress) -> None:
        self.samples, self.passes, self.loss = progress.step, progress.passes, progress.loss
