"""How often the watch of the progressive loss raises a false alarm, and how soon it finds a rise by 20 %.

Run as ``python benchmarks/loss_change.py [--streams 1000] [--seed 0] [--kinds logistic pareto ...]``. Each kind of loss
has streams of 1,000,000 rows without a change ("false alarms": the share with any), and a fifth as many for each of two
rises by 20 % at a random row between 100,000 and 950,000: all losses are multiplied by 1.2, or a fifth of their mean is
added. "Found": the share with an alarm within 50,000 rows of the rise; an alarm before it, and
none since, counts as not found. "Delay" is the median number of rows from the rise to the alarm, "row off" the median
distance of its estimate from the rise.

"sd/mean" is the standard deviation of the losses in units of their mean: over √50,000 = 224 it is the relative error of
a mean of 50,000 rows. "Clipped" is the same where each loss counts as at most 16 times the mean.

Streams are made of stretches of 65,536 consecutive losses, each from a random place of 8,000,000 drawn in advance;
every 40 streams these are drawn anew. A kind takes about 45 seconds.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy.signal import lfilter

from sgdone.run.loss_change import LossWatch

ROWS, RISE, WITHIN, EARLIEST = 1_000_000, 1.2, 50_000, 100_000
DRAWN, STRETCH, STREAMS_PER_DRAW = 8_000_000, 65_536, 40

Array = NDArray[np.float64]
Generator = np.random.Generator


def constant(rows: Array) -> Array:
    return np.ones_like(rows)


@dataclass(frozen=True)
class Kind:
    """Losses of independent or neighbouring rows, and the factor of their mean at each row."""

    name: str
    title: str
    draw: Callable[[Generator, int], Array]
    course: Callable[[Array], Array] = constant


def logistic(rng: Generator, n: int) -> Array:
    """Losses of the true model, with scores of standard deviation 2."""
    scores = 2.0 * rng.standard_normal(n)
    agree = rng.random(n) < 1.0 / (1.0 + np.exp(-scores))
    return np.logaddexp(0.0, np.where(agree, -scores, scores))


def rare(share: float) -> Callable[[Generator, int], Array]:
    """Logistic losses of the share of a rare class, predicted for all rows."""
    return lambda rng, n: np.where(rng.random(n) < share, -np.log(share), -np.log1p(-share))


def mostly_zero(rng: Generator, n: int) -> Array:
    """Hinge losses: 9 of 10 rows have none."""
    return np.maximum(0.0, rng.exponential(size=n) - np.log(10.0))


def pareto(index: float) -> Callable[[Generator, int], Array]:
    return lambda rng, n: np.exp(rng.exponential(1.0 / index, n))


def autoregressive(coefficient: float) -> Callable[[Generator, int], Array]:
    return lambda rng, n: np.asarray(lfilter([1.0 - coefficient], [1.0, -coefficient], rng.exponential(size=n)))


def exponential(rng: Generator, n: int) -> Array:
    return rng.exponential(size=n)


KINDS = (
    Kind("logistic", "logistic", logistic),
    Kind("rare3", "logistic, 3 % positive", rare(0.03)),
    Kind("rare1", "logistic, 1 % positive", rare(0.01)),
    Kind("zeros", "hinge, 90 % zero", mostly_zero),
    Kind("normal", "squared normal", lambda rng, n: rng.standard_normal(n) ** 2),
    Kind("student", "squared Student-t, 3 d.f.", lambda rng, n: rng.standard_t(3, n) ** 2),
    Kind("lognormal", "lognormal, σ = 1", lambda rng, n: rng.lognormal(size=n)),
    Kind("lognormal2", "lognormal, σ = 2", lambda rng, n: rng.lognormal(sigma=2.0, size=n)),
    Kind("pareto", "Pareto, index 2.5", pareto(2.5)),
    Kind("infinite", "Pareto, index 1.2", pareto(1.2)),
    Kind("ar", "AR(1), coefficient 0.3", autoregressive(0.3)),
    Kind("long", "AR(1), coefficient 0.99", autoregressive(0.99)),
    Kind("learning", "exponential, 1 + 1000/t", exponential, lambda t: 1.0 + 1e3 / t),
    Kind("slow", "exponential, 1 + 100/√t", exponential, lambda t: 1.0 + 1e2 / np.sqrt(t)),
)


class Streams:
    """Losses of one kind."""

    def __init__(self, kind: Kind, seed: np.random.SeedSequence) -> None:
        self._kind = kind
        self._rng = np.random.default_rng(seed)
        self._begun = 0

    def begin(self) -> Generator:
        """Begin a stream; returns the generator of its random numbers."""
        if self._begun % STREAMS_PER_DRAW == 0:
            self.drawn = self._kind.draw(self._rng, DRAWN)
            self.mean = float(self.drawn.mean())
        self._begun += 1
        return self._rng

    def losses(self, n_rows: int) -> Iterator[tuple[int, Array, Array]]:
        """First row, losses, and their means, a stretch at a time."""
        for first in range(0, n_rows, STRETCH):
            size = min(STRETCH, n_rows - first)
            start = int(self._rng.integers(DRAWN - size))
            course = self._kind.course(np.arange(first + 1.0, first + size + 1.0))
            yield first, self.drawn[start : start + size] * course, self.mean * course


def without_change(streams: Streams) -> bool:
    """Whether there is a false alarm."""
    streams.begin()
    watch = LossWatch()
    for first, losses, _ in streams.losses(ROWS):
        watch.add(losses, None, first)
        if watch.n_changes:
            return True
    return False


def with_rise(streams: Streams, multiplied: bool) -> tuple[float, float]:
    """Rows from the rise to the alarm, and from the rise to its estimate; NaN if none within 50,000 rows."""
    change = int(streams.begin().integers(EARLIEST, ROWS - WITHIN))
    watch = LossWatch()
    for first, losses, means in streams.losses(change + WITHIN):
        risen = np.arange(first, first + losses.size) >= change
        losses += np.where(risen, (RISE - 1.0) * (losses if multiplied else means), 0.0)
        watch.add(losses, None, first)
    found = watch.change()
    if found is None or found.found <= change:
        return np.nan, np.nan
    return found.found - change, abs(found.row - change)


def spread(losses: Array) -> float:
    return float(losses.std() / losses.mean())


def measure(kind: Kind, n_streams: int, seed: np.random.SeedSequence) -> list[str]:
    """Cells of the table."""
    streams = Streams(kind, seed)
    alarms = np.mean([without_change(streams) for _ in range(n_streams)])
    clipped = np.minimum(streams.drawn, 16.0 * streams.mean)
    cells = [kind.title, f"{spread(streams.drawn):.1f}", f"{spread(clipped):.1f}", f"{alarms:.1%}"]
    outcomes = [np.array([with_rise(streams, m) for _ in range(n_streams // 5)]) for m in (True, False)]
    cells += [f"{np.isfinite(outcome[:, 0]).mean():.1%}" for outcome in outcomes]
    delays, distances = np.concatenate(outcomes).T
    found = np.isfinite(delays)
    return cells + [f"{np.median(x[found]):,.0f}" if found.any() else "–" for x in (delays, distances)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="*", choices=[kind.name for kind in KINDS])
    arguments = parser.parse_args()
    table = Table(
        title=f"{arguments.streams:,} streams of {ROWS:,} rows of each kind, {arguments.streams // 5:,} with each rise"
    )
    headings = ("sd/mean", "clipped", "false alarms", "found (× 1.2)", "found (+ 20 %)", "delay", "row off")
    table.add_column("losses", no_wrap=True)
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    seeds = np.random.SeedSequence(arguments.seed).spawn(len(KINDS))
    for kind, seed in zip(KINDS, seeds, strict=True):
        if not arguments.kinds or kind.name in arguments.kinds:
            table.add_row(*measure(kind, arguments.streams, seed))
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
