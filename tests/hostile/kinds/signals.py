"""SIGINT or SIGTERM at any function call of a fit: a model whose verdict says so, and a checkpoint with the same bits.

The moment is a number of calls of functions of sgdone, so that a case can be repeated.
"""

import shutil
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

import sgdone
from sgdone import LinearClassifier, LinearRegressor, SGDClassifier, files
from sgdone.interfaces.stop_rule import Status
from sgdone.machine import interruption
from sgdone.run import driver

from ..case_kind import Kind, Note

_PACKAGE = str(Path(sgdone.__file__).parent)
#: Where the number of calls depends on the speed of the machine, or signals are handled.
_UNCOUNTED = (interruption.__file__,)
#: So few bytes that the rows are read block by block.
_MEMORY = 2_000_000


@dataclass(frozen=True)
class _Fit:
    """A fit, the seconds between its checkpoints, if it writes any; calls that it makes, and what it decides."""

    name: str
    fit: Callable[..., Any]
    every: float | None = None
    calls: int = 0
    #: The call at which training begins.
    trains_at: int = 0
    bits: bytes = b""

    def options(self, folder: Path) -> dict[str, Any]:
        return {} if self.every is None else {"checkpoint": folder / "state", "every": self.every}


class _Counter:
    """Counts calls of functions of sgdone in this thread, and sends signals at some of them."""

    def __init__(self, moments: dict[int, signal.Signals]) -> None:
        self._moments = moments
        self.calls = self.trains_at = 0

    def __enter__(self) -> "_Counter":
        sys.setprofile(self._count)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _count(self, frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(_PACKAGE) or code.co_filename in _UNCOUNTED:
            return
        self.calls += 1
        if not self.trains_at and code.co_filename == driver.__file__ and code.co_name == "_follow":
            self.trains_at = self.calls
        if self.calls in self._moments:
            signal.raise_signal(self._moments[self.calls])


def _prepare(folder: Path, few_forms: bool) -> dict[str, Any]:
    own = folder / "signals"
    own.mkdir(exist_ok=True)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((18_000, 4)) * [1, 10, 0.1, 1]
    y = (X @ [1.5, -0.1, 3, 0] + rng.logistic(size=len(X)) > 0).astype(int)
    pq.write_table(pa.table({f"x{j}": X[:, j] for j in range(4)} | {"y": y}), own / "rows.parquet")
    return {"folder": own, "fits": [_measured(one, own) for one in _fits(own, X, y, few_forms)]}


def _fits(folder: Path, X: NDArray[Any], y: NDArray[Any], few_forms: bool) -> list[_Fit]:
    def from_files(cache: str | None, **options: Any) -> Any:
        rows = files(folder / "rows.parquet", label="y", max_memory=_MEMORY, cache=cache)
        return LinearClassifier(random_state=0).fit(rows, **options)

    few = slice(None, None, 40)
    found = [
        _Fit("files", partial(from_files, None), 0.0),
        _Fit("files with one checkpoint", partial(from_files, None), 1e6),
        _Fit("files with a cache", partial(from_files, str(folder / "cache")), 1e6),
        _Fit("files without a checkpoint", partial(from_files, None)),
        _Fit("memory", lambda: LinearClassifier(random_state=0).fit(X[few], y[few])),
        _Fit("memory, many rows", lambda: LinearClassifier(random_state=0).fit(X, y)),
    ]
    if few_forms:
        return found
    labels = np.digitize(X[few, 0], [-0.5, 0.5])
    thorough = LinearClassifier(check_optimum="thorough", random_state=0)
    return [
        *found,
        _Fit("thorough check", lambda: thorough.fit(X[few], y[few])),
        _Fit("regression", lambda: LinearRegressor(random_state=0).fit(X[few], X[few, 0])),
        _Fit("hinge", lambda: LinearClassifier(loss="hinge", random_state=0).fit(X[few], labels)),
        _Fit("one-vs-rest", lambda: SGDClassifier(stop=4, random_state=0).fit(X[few], labels)),
    ]


def _measured(one: _Fit, folder: Path) -> _Fit:
    """The fit with its number of calls, the second time: the first one compiles."""
    for _ in range(2):
        _clear(folder)
        with _Counter({}) as counter:
            model = one.fit(**one.options(folder))
    _clear(folder)
    return replace(one, calls=counter.calls, trains_at=counter.trains_at, bits=_bits(model))


def _run(material: dict[str, Any], random: Random, folder: Path, note: Note) -> None:
    one, own = random.choice(material["fits"]), material["folder"]
    numbers = [random.choice([signal.SIGINT, signal.SIGTERM]) for _ in range(random.choice([1, 1, 1, 2]))]
    moments = {random.randint(1, one.calls): number for number in numbers}
    sent = ", ".join(f"{number.name} at call {call:,}" for call, number in moments.items())
    note(f"{one.name}: {sent} of {one.calls:,}")
    _clear(own)
    model = None
    with ExitStack() as stack:
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        stack.callback(signal.signal, signal.SIGINT, before)
        stack.enter_context(interruption.sigterm_raises())  # as in the command
        try:
            with _Counter(dict(moments)) as counter:
                model = one.fit(**one.options(own))
        except KeyboardInterrupt:
            note("no model")
        handlers = {signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    _check(handlers == {signal.default_int_handler}, f"the handlers are {handlers}")
    readers = [thread.name for thread in threading.enumerate() if thread.name == "sgdone-reader"]
    _check(not readers or len(moments) > 1, "a thread still reads rows")
    _check(counter.calls >= min(moments), f"there were only {counter.calls:,} calls")
    if model is not None:
        note(str(model.verdict_))
        _check(np.isfinite(model.coef_).all(), "the model is not finite")
        _check(model.verdict_.status is Status.INTERRUPTED, "the signal had no effect")
    elif len(moments) == 1:
        _check(min(moments) < one.trains_at, f"training began at call {one.trains_at:,}: there was a model")
    if one.every is not None:
        resumed = one.fit(checkpoint=own / "state", every=1e6, resume=True)
        _check(_bits(resumed) == one.bits, "the resumed fit is another one")
    left = {path.name for path in own.iterdir()} - {"rows.parquet", "state", "cache"}
    _check(not left, f"files are left: {left}")


def _bits(model: Any) -> bytes:
    return b"".join([model.coef_.tobytes(), model.intercept_.tobytes(), str(model.verdict_).encode()])


def _clear(folder: Path) -> None:
    (folder / "state").unlink(missing_ok=True)
    shutil.rmtree(folder / "cache", ignore_errors=True)


def _check(holds: bool, problem: str) -> None:
    if not holds:
        raise AssertionError(problem)


KIND = Kind("signals", 1, _run, _prepare)
