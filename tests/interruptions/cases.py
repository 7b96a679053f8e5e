"""One case: a fit in a process of its own is ended at a random moment of a phase, and resumed here."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sgdone.state_file.checkpoint import read_checkpoint

from .program import PHASES, bits, fitted

#: Seconds after which a process must have ended.
_LIMIT = 300.0


@dataclass(frozen=True)
class Outcome:
    """How a case ended.

    Parameters
    ----------
    signal : str
        What was sent.
    phase : str
        The last phase that the process had announced.
    ended : str
        Status of its model; "killed", or "no model".
    checkpoint : str
        The phase from which the resumed fit went on; "none" if it started at the beginning.
    same_bits : bool
        Whether the resumed fit is that without an interruption.
    left : tuple of str
        Files that should not be there.
    complaint : str
        What the process wrote to standard error.
    """

    signal: str
    phase: str
    ended: str
    checkpoint: str
    same_bits: bool
    left: tuple[str, ...]
    complaint: str

    @property
    def is_right(self) -> bool:
        """Whether nothing was lost, and nothing left."""
        # The signal may come when the fit has ended.
        ends = ("CONVERGED", "killed") if self.signal == "SIGKILL" else ("CONVERGED", "INTERRUPTED")
        early = self.ended == "no model" and self.phase == "reading"
        return (self.ended in ends or early) and self.same_bits and not self.left and not self.complaint


class Cases:
    """Cases on the same rows.

    Parameters
    ----------
    folder : Path
        An empty folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._caches = folder, folder / "caches"
        self._caches.mkdir()
        rng = np.random.default_rng(0)
        X = rng.standard_normal((40_000, 6)) * [1, 10, 0.1, 1, 1, 1]
        y = X @ [1.5, -0.1, 3, 0, 0.5, 0] + rng.logistic(size=len(X)) > 0
        for number, part in enumerate(np.array_split(np.arange(len(X)), 2)):
            table = pa.table({f"x{j}": X[part, j] for j in range(6)} | {"y": y[part].astype(int)})
            pq.write_table(table, folder / f"rows-{number}.parquet")
        self._rows = sorted(path.name for path in folder.glob("rows-*"))
        os.environ["XDG_CACHE_HOME"] = str(self._caches)
        self._expected = bits(fitted(folder, None, every=1e6))
        (folder / "state").unlink()
        # Other work on the machine makes a fit longer, and moments chosen by it too late.
        timed = [self._timed() for _ in range(3)]
        self._seconds = {phase: min(one[phase] for one in timed) for phase in PHASES}

    def run(self, number: str, random: Random) -> Outcome:
        """Send a signal at a random moment, and resume."""
        phase, cache = random.choice(PHASES), random.choice([None, str(self._caches / "kept")])
        skipped = random.randrange(6) if phase == "checkpoint" else 0
        delay = random.random() * self._seconds[phase]
        process = self._start(cache, random.choice([0, 0.05]) if phase == "checkpoint" else random.choice([0, 1e6]))
        seen = self._wait_for(process, phase, skipped)
        with suppress(subprocess.TimeoutExpired):
            process.wait(delay)
        process.send_signal(getattr(signal, number))
        rest, complaint = process.communicate(timeout=_LIMIT)
        seen += rest.split("\n")[:-1]
        last = seen.pop().split() if seen[-1].startswith("ended") else None
        ended = "killed" if last is None else "no model" if last[1] == "without" else last[1]
        left = self._left(cache, killed=ended == "killed")
        if ended == "CONVERGED":
            stored, same = "", last is not None and last[2] == self._expected
        else:
            stored = self._stored_phase()
            same = bits(fitted(self._folder, cache, every=1e6, resume=True)) == self._expected
            left += self._left(cache)
        for path in (self._folder / "state", *(self._caches / "kept").glob("*")):
            path.unlink(missing_ok=True)
        return Outcome(number, seen[-1], ended, stored, same, tuple(left), complaint)

    def _start(self, cache: str | None, every: float) -> "subprocess.Popen[str]":
        arguments = json.dumps({"folder": str(self._folder), "cache": cache, "every": every})
        here = Path(__file__).parent
        settings = {"PYTHONPATH": os.pathsep.join([str(here.parent), os.environ.get("PYTHONPATH", "")])}
        command = [sys.executable, "-m", f"{here.name}.program", arguments]
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | settings
        )

    def _wait_for(self, process: "subprocess.Popen[str]", phase: str, skipped: int) -> list[str]:
        """Lines up to the beginning of a phase, or to the end if there are fewer of them."""
        assert process.stdout is not None
        seen = []
        while (line := process.stdout.readline()) and skipped >= 0:
            seen.append(line.strip())
            skipped -= seen[-1] == phase
            if skipped < 0:
                break
        return seen

    def _timed(self) -> dict[str, float]:
        """Seconds of the phases of a fit that nothing interrupts."""
        process, began = self._start(None, 0), {}
        assert process.stdout is not None
        times = [(line.strip(), time.perf_counter()) for line in process.stdout]
        process.communicate()
        for (phase, start), (_, end) in pairwise(times):
            began[phase] = max(began.get(phase, 0.0), end - start)
        # The first pass and the finish are interrupted by checkpoints.
        marks: dict[str, float] = {}
        for phase, moment in times:
            marks.setdefault("ended" if phase.startswith("ended") else phase, moment)
        began["first pass"] = marks["later pass"] - marks["first pass"]
        began["later pass"] = marks["exact phase"] - marks["later pass"]
        began["exact phase"] = marks["ended"] - marks["exact phase"]
        (self._folder / "state").unlink()
        return began

    def _stored_phase(self) -> str:
        path = self._folder / "state"
        if not path.exists():
            return "none"
        return "main" if read_checkpoint(path).parts["ended"] is None else "exact"

    def _left(self, cache: str | None, *, killed: bool = False) -> list[str]:
        """Files that should not be there; one that was killed may leave partial files, which the next fit replaces."""
        found = [path for path in self._folder.iterdir() if path.name not in ("caches", "state", *self._rows)]
        cached = [path for path in self._caches.rglob("*") if path.is_file()]
        found += [path for path in cached if cache is None or path.name.startswith(".")]
        return [path.name for path in found if not (killed and path.name.endswith(".partial"))]


def run_cases(folder: Path, kills: int, signals: int, seed: int = 0) -> Iterator[Outcome]:
    """All cases, in a mixed order."""
    cases, random = Cases(folder), Random(seed)
    names = ["SIGKILL"] * kills + [("SIGINT", "SIGTERM")[k % 2] for k in range(signals)]
    random.shuffle(names)
    for name in names:
        yield cases.run(name, random)


def table(outcomes: list[Outcome]) -> str:
    """Outcomes counted by signal, phase and end."""
    header = ("signal", "phase reached", "ended", "resumed from", "cases", "same bits", "files left", "complaints")
    kinds: Counter[tuple[str, ...]] = Counter((o.signal, o.phase, o.ended, o.checkpoint) for o in outcomes)
    lines: list[tuple[Any, ...]] = [header]
    for kind, count in sorted(kinds.items()):
        own = [o for o in outcomes if (o.signal, o.phase, o.ended, o.checkpoint) == kind]
        same, left = sum(o.same_bits for o in own), sum(len(o.left) for o in own)
        lines.append((*kind, count, same, left, sum(bool(o.complaint) for o in own)))
    widths = [max(len(str(line[k])) for line in lines) for k in range(len(header))]
    padded = [[f"{cell!s:<{width}}" for cell, width in zip(line, widths, strict=True)] for line in lines]
    return "\n".join("  ".join(line).rstrip() for line in padded)
