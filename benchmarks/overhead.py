"""What a stopping rule costs: one constant-step pass with the rule beside the same pass without it.

Run as ``python benchmarks/overhead.py``. Each rule is timed in at least 30 alternating pairs with the bare pass, and
so is the bare pass with itself: that ratio is the noise. No rule stops the pass: the margin test and Pflug's diagnostic
are set so that they never fire, and the small validation set makes its checks and does not act on them.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from rich.console import Console
from rich.table import Table

import problems
from sgdone import losses, solvers, stopping
from sgdone.interfaces.objective import Objective
from sgdone.kernels.jit import inlined
from sgdone.kernels.probes import FIRED, Probe, ProbeMaker
from sgdone.kernels.rows import RowAccess
from sgdone.rows import ArraySource
from sgdone.run import RunOptions, run
from sgdone.steps import Constant
from sgdone.stopping import Progress, Stop, StopRule, Watch
from sgdone.stopping.validation import make_check


def deaf(make: ProbeMaker) -> ProbeMaker:
    """A probe that looks as the given one does, and never fires."""

    def make_deaf(access: RowAccess) -> Probe:
        before, after = make(access)

        @inlined
        def look(row: Any, arrays: Any, model: Any, numbers: Any, memory: Any) -> Any:
            after(row, arrays, model, numbers, memory)
            numbers[FIRED] = 0.0
            return False

        return Probe(before, look)

    return make_deaf


_DEAF_CHECK = deaf(make_check)


@final
@dataclass(frozen=True)
class NeverEnding(StopRule):
    """A small validation set that is checked as ever and does not stop."""

    rule: stopping.SmallValidationSet

    @property
    def hold_out(self) -> int:
        """As the rule."""
        return self.rule.hold_out

    def start(self, n_rows: int | None) -> Any:
        """As the rule."""
        return self.rule.start(n_rows)

    def validate_on(self, state: Any, X: Any, labels: Any) -> None:
        """As the rule."""
        self.rule.validate_on(state, X, labels)

    def watches(self, state: Any, rows: Any) -> tuple[Watch, ...]:
        """The rule's own, deaf."""
        return tuple(replace(watch, make=_DEAF_CHECK) for watch in self.rule.watches(state, rows))

    def observe(self, state: Any, progress: Progress) -> Stop | None:
        """Say nothing."""
        return None


NOTHING = stopping.MaxPasses(1)
RULES: dict[str, StopRule] = {
    "itself": NOTHING,
    "margin test": stopping.MarginTest(1e9) | NOTHING,
    "margin test, fresh": stopping.MarginTest(1e9, fresh=True) | NOTHING,
    "Pflug": stopping.Pflug(2**40) | NOTHING,
    "validation set of 32": NeverEnding(stopping.SmallValidationSet(32)) | NOTHING,
}


def one_pass(X: Any, y: Any, rule: StopRule) -> Callable[[], Any]:
    """A pass of SGD with a constant step."""
    labels = np.where(y > 0, 1.0, -1.0)
    objective = Objective(losses.Logistic(), 1e-6)

    def go() -> Any:
        return run(ArraySource(X, labels), objective, solvers.SGD(), rule, RunOptions(step=Constant(1e-3)))

    return go


def seconds(action: Callable[[], Any]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def ratios(pairs: int, base: Callable[[], Any], other: Callable[[], Any]) -> np.ndarray:
    """Times of ``other`` over ``base``, pair by pair, the order alternating."""
    base(), other()
    found = []
    for k in range(pairs):
        first, second = (base, other) if k % 2 else (other, base)
        times = seconds(first), seconds(second)
        found.append(times[1] / times[0] if k % 2 else times[0] / times[1])
    return np.array(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--small", action="store_true", help="a tenth of the rows")
    arguments = parser.parse_args()
    part = 10 if arguments.small else 1
    data = {
        "sparse 360k×47k, float64": lambda: problems.rcv1_like(np.float64, 360_000 // part),
        "sparse 360k×47k, float32": lambda: problems.rcv1_like(np.float32, 360_000 // part),
        "dense 500k×54, float64": lambda: problems.dense(np.float64, 500_000 // part, 54),
        "dense 60k×784, float64": lambda: problems.dense(np.float64, 60_000 // part, 784),
    }
    table = Table(title=f"time of a pass with a rule over one without, {arguments.pairs} alternating pairs")
    for column in ("data", "rule", "median", "quartiles", "geometric mean ± 2 s.e."):
        table.add_column(column, justify="left" if column in ("data", "rule") else "right")
    for name, make in data.items():
        X, y = make()
        base = one_pass(X, y, NOTHING)
        for label, rule in RULES.items():
            found = np.log(ratios(arguments.pairs, base, one_pass(X, y, rule)))
            low, middle, high = np.exp(np.quantile(found, [0.25, 0.5, 0.75]))
            mean, error = np.exp(found.mean()), 2 * found.std(ddof=1) / np.sqrt(found.size)
            table.add_row(name, label, f"{middle:.3f}", f"{low:.3f} … {high:.3f}", f"{mean:.3f} ± {error:.3f}")
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
