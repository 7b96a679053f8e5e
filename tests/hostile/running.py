"""Cases in processes of their own: a process that dies, hangs or grows is replaced, and its case is a failure."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .case_kind import Case, kinds

#: Seconds for one case, and for what all cases of a kind share. A loop may have to be compiled in either.
CASE_LIMIT, PREPARE_LIMIT = 120.0, 3600.0
#: Cases after which a process is replaced, so that what leaks is not bad_row on a later case.
_CASES_OF_A_PROCESS = 2000
_FINE = ("accepted", "refused")


@dataclass
class Failure:
    case: Case
    outcome: str
    detail: str
    notes: list[str]
    few_forms: bool

    @property
    def place(self) -> str:
        """Where in sgdone it happened: failures with the same place have one cause more often than not."""
        lines = [line for line in self.detail.splitlines() if "/sgdone/" in line]
        return f"{self.outcome} {lines[-1].strip() if lines else self.detail[:80]}"

    def __str__(self) -> str:
        few = " --few-forms" if self.few_forms else ""
        notes = "".join(f"  {note}\n" for note in self.notes)
        detail = "\n".join(line if len(line) < 500 else f"{line[:500]}…" for line in self.detail.rstrip().splitlines())
        return f"{self.case}: {self.outcome}\n{notes}{detail}\n  python -m tests.hostile --only {self.case}{few}"


@dataclass
class Summary:
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)

    def __str__(self) -> str:
        lines = []
        for kind in dict.fromkeys(kind for kind, _ in sorted(self.outcomes)):
            counts = {outcome: n for (own, outcome), n in sorted(self.outcomes.items()) if own == kind}
            lines.append(
                f"{kind}: {sum(counts.values()):,} cases, " + ", ".join(f"{n:,} {o}" for o, n in counts.items())
            )
        return "\n".join(lines)


def mixed(counts: dict[str, int] | None, first: int) -> Iterator[Case]:
    """Cases of all kinds in turn, each kind as often as its count says; for ever, by the kinds' shares, if None."""
    shares = counts or {name: kind.share for name, kind in kinds().items()}
    given = dict.fromkeys(shares, 0)
    while counts is None or any(given[kind] < count for kind, count in shares.items()):
        kind = min(shares, key=lambda name: (given[name] + 1) / shares[name] if shares[name] else float("inf"))
        yield Case(kind, first + given[kind])
        given[kind] += 1


def run(cases: Iterable[Case], *, few_forms: bool, seconds: float = float("inf"), report: Any = None) -> Summary:
    """Run cases until there are no more or the time is over; ``report`` is called with the failures after each."""
    summary, deadline = Summary(), time.monotonic() + seconds
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
        waiting = iter(cases)
        case = next(waiting, None)
        while case is not None and time.monotonic() < deadline:
            with _Process(Path(folder), few_forms) as process:
                for _ in range(_CASES_OF_A_PROCESS):
                    outcome, detail, notes = process.run(case)
                    summary.outcomes[case.kind, outcome] += 1
                    if outcome not in _FINE:
                        summary.failures.append(Failure(case, outcome, detail, notes, few_forms))
                        if report is not None:
                            report(summary.failures)
                    case = next(waiting, None)
                    if case is None or process.ended or time.monotonic() > deadline:
                        break
    return summary


class _Process:
    def __init__(self, folder: Path, few_forms: bool) -> None:
        self._log = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115  # closed in __exit__
        here = Path(__file__).parent
        settings = {"PYTHONPATH": os.pathsep.join([str(here.parent), os.environ.get("PYTHONPATH", "")])}
        # The default pool of Arrow reserves a gigabyte of addresses at once, which would count as a case's own.
        settings |= {"ARROW_DEFAULT_MEMORY_POOL": "system", "OMP_NUM_THREADS": "1"}
        self._child = subprocess.Popen(
            [sys.executable, "-m", f"{here.name}.worker", str(folder), "few" if few_forms else "all"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            encoding="utf-8",
            env=os.environ | settings,
        )
        self.ended = False

    def __enter__(self) -> "_Process":
        return self

    def __exit__(self, *_: object) -> None:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.kill()
        self._child.wait()
        self._child.stdin.close()
        self._child.stdout.close()
        self._log.close()

    def run(self, case: Case) -> tuple[str, str, list[str]]:
        """Outcome, details and notes of a case."""
        assert self._child.stdin is not None
        notes: list[str] = []
        try:
            self._child.stdin.write(f"{case}\n")
            self._child.stdin.flush()
        except BrokenPipeError:
            pass
        preparing, limit = False, CASE_LIMIT + 60.0  # a process that has just started has not read anything yet
        while True:
            line, timed_out = self._line(limit)
            if not line:
                outcome, detail = self._death(timed_out, limit)
                if preparing:
                    raise RuntimeError(f"what the cases of a kind share cannot be made ({outcome}): {detail}")
                return outcome, detail, notes
            message = json.loads(line)
            if message["what"] == "end":
                return message["outcome"], message["detail"], notes
            if message["what"] == "note":
                notes.append(message["text"])
            preparing = message["what"] == "prepare"
            limit = PREPARE_LIMIT if preparing else CASE_LIMIT

    def _line(self, limit: float) -> tuple[str, bool]:
        assert self._child.stdout is not None
        late = threading.Event()

        def kill() -> None:
            late.set()
            # faulthandler writes where each thread is before the process ends.
            self._child.send_signal(signal.SIGABRT)

        timer = threading.Timer(limit, kill)
        timer.start()
        try:
            return self._child.stdout.readline(), late.is_set()
        finally:
            timer.cancel()

    def _death(self, timed_out: bool, limit: float) -> tuple[str, str]:
        self.ended = True
        code = self._child.wait()
        self._log.seek(0)
        said = self._log.read()[-4000:]
        if timed_out:
            return "hang", f"no end after {limit:.0f} s\n{said}"
        return (
            ("signal", f"{signal.Signals(-code).name}\n{said}") if code < 0 else ("exit", f"exit code {code}\n{said}")
        )
