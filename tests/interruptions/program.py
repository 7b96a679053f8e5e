"""A fit from files in a process of its own, which says where it is: one line whenever a phase begins."""

import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from sgdone import LinearClassifier, files
from sgdone.bank import Bank
from sgdone.fit import checkpoints as fit_checkpoints
from sgdone.fit.streamed_rows import StreamedRows
from sgdone.newton.exact_phase import ExactFromDisk
from sgdone.rows.block_source import BlockSource

#: Phases of a fit, in their order; checkpoints are written between and within them.
PHASES = ("reading", "first pass", "later pass", "checkpoint", "exact phase")
#: Blocks of 4,096 rows; the rows do not fit into memory.
_MEMORY = 2_000_000


def fitted(folder: Path, cache: str | None, **options: Any) -> LinearClassifier:
    """The fit that all cases make."""
    rows = files(sorted(folder.glob("rows-*")), label="y", max_memory=_MEMORY, cache=cache)
    return LinearClassifier(random_state=0).fit(rows, checkpoint=folder / "state", **options)


def bits(model: LinearClassifier) -> str:
    """All that a fit decides."""
    losses = np.array([row.loss for row in model.trace_])
    parts = (model.coef_, model.intercept_, losses)
    return b"".join([*(part.tobytes() for part in parts), str(model.verdict_).encode()]).hex()


def main() -> None:
    """Fit, with a line for each phase and one at the end."""
    arguments = json.loads(sys.argv[1])
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it in jobs in the background
    _announce(StreamedRows, "problem", "reading")
    _announce(Bank, "start", "first pass")
    _announce(BlockSource, "_again", "later pass")
    _announce(fit_checkpoints, "write_checkpoint", "checkpoint", back=True)
    _announce(ExactFromDisk, "start_after", "exact phase")
    try:
        model = fitted(Path(arguments["folder"]), arguments["cache"], every=arguments["every"])
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the fit has ended
    except KeyboardInterrupt:
        _say("ended without a model")
        return
    _say(f"ended {model.verdict_.status.name} {bits(model)}")


def _announce(place: Any, name: str, phase: str, *, back: bool = False) -> None:
    """Say that a phase begins when a function is called and, if it only interrupts another, that it has ended."""
    call: Callable[..., Any] = getattr(place, name)

    def announced(*arguments: Any, **options: Any) -> Any:
        before = _said[-1] if _said else ""
        _say(phase)
        found = call(*arguments, **options)
        if back:
            _say(before)
        return found

    setattr(place, name, announced)


_said: list[str] = []


def _say(text: str) -> None:
    _said.append(text)
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
