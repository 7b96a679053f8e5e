"""What a summary costs: its time over that of the fit, its memory, and statsmodels beside it.

Run as ``python benchmarks/summary_cost.py``, after ``pip install '.[bench]'``. Logistic regression on dense and sparse
data. Fit and summary are measured in turn, after each has run once. Ratios are medians of those of each turn, with the
smallest and the largest. statsmodels fits its ``Logit`` on the same rows with a robust covariance (HC0), if its dense
arrays fit in memory. Each measurement has a process of its own, whose largest resident memory is shown beside that of
the data alone.

The limit on coefficients per row is switched off: 1,001 coefficients for 10,000 rows are just above it, and a refusal
costs less than a covariance.
"""

import argparse
import multiprocessing
import os
import resource
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy import sparse
from scipy.special import expit
from threadpoolctl import threadpool_info

from sgdone import LinearClassifier
from sgdone.inference import refusals

Array = NDArray[np.float64]

_CONSOLE = Console(width=150)
_GIGABYTE = 1e9
#: Non-zeros of sparse column j = 0, 1, …: fewest + most·((1 + offset)/(1 + j + offset))^power.
_FEWEST, _MOST, _OFFSET, _POWER = 60, 95_000, 30, 1.6
#: Copies of the rows that statsmodels makes at least: the array with its constant, and its product with the weights.
_COPIES = 2


@final
@dataclass(frozen=True)
class Case:
    """Data of one size.

    Parameters
    ----------
    n_rows, n_columns : int
        Their size.
    is_sparse : bool
        Whether they are sparse, with about 30 entries a row.
    n_chosen : int or None
        Columns of the summary; None for all.
    """

    n_rows: int
    n_columns: int
    is_sparse: bool = False
    n_chosen: int | None = None

    @property
    def name(self) -> str:
        """A name for the tables."""
        kind = "sparse" if self.is_sparse else "dense"
        columns = "all columns" if self.n_chosen is None else f"{self.n_chosen} columns"
        return f"{kind} {self.n_rows:,} × {self.n_columns:,}, {columns}"

    @property
    def columns(self) -> list[int] | None:
        """Columns of the summary: from the most frequent to the rarest."""
        if self.n_chosen is None:
            return None
        return [int(j) for j in np.linspace(0, self.n_columns - 1, self.n_chosen)]

    def sample(self) -> tuple[Any, Array]:
        """Rows and labels; the score has standard deviation 1."""
        rng = np.random.default_rng(0)
        X: Any = self._sparse_rows(rng) if self.is_sparse else rng.standard_normal((self.n_rows, self.n_columns))
        scores = X @ rng.standard_normal(self.n_columns)
        scores = (scores - scores.mean()) / scores.std()
        return X, (rng.random(self.n_rows) < expit(scores)).astype(np.float64)

    def _sparse_rows(self, rng: np.random.Generator) -> sparse.csr_array:
        rarity = (1.0 + np.arange(self.n_columns) + _OFFSET) / (1.0 + _OFFSET)
        counts = np.round(_FEWEST + _MOST * rarity**-_POWER).astype(int)
        rows = np.concatenate([rng.choice(self.n_rows, count, replace=False) for count in counts.tolist()])
        values = 1.0 + np.log(rng.geometric(0.7, rows.size))
        columns = np.repeat(np.arange(self.n_columns), counts)
        return sparse.csr_array((values, (rows, columns)), shape=(self.n_rows, self.n_columns))


_CASES = (
    Case(100_000, 50),
    Case(10_000, 1_000),
    Case(200_000, 20_000, is_sparse=True, n_chosen=10),
    Case(200_000, 20_000, is_sparse=True),
)


class Ours(NamedTuple):
    """Seconds of each fit and each summary, gigabytes, and what the summary says of itself."""

    fit_seconds: list[float]
    summary_seconds: list[float]
    data_memory: float
    fit_memory: float
    summary_memory: float
    given: int
    refused: int
    monte_carlo_error: float


class Peer(NamedTuple):
    """Seconds and gigabytes of statsmodels, or why it does not run."""

    seconds: float
    memory: float
    why_not: str = ""


def ours(case: Case, turns: int) -> Ours:
    """Fit and summary in turn."""
    refusals.MOST_PER_ROW = np.inf
    X, y = case.sample()
    data_memory = _peak()
    model = LinearClassifier(random_state=0).fit(X, y)
    fit_memory = _peak()
    summary = model.summary(X, y, columns=case.columns)
    summary_memory = _peak()
    fits, summaries = [], []
    for _ in range(turns):
        fits.append(_seconds(lambda: LinearClassifier(random_state=0).fit(X, y)))
        summaries.append(_seconds(lambda: model.summary(X, y, columns=case.columns)))
    given = int(np.isfinite(summary.std_err).sum())
    refused, error = len(summary.refused), summary.monte_carlo_error
    return Ours(fits, summaries, data_memory, fit_memory, summary_memory, given, refused, error)


def statsmodels_logit(case: Case, turns: int) -> Peer:
    """The fit of Logit with a robust covariance; the fastest turn."""
    try:
        from statsmodels.api import Logit, add_constant
    except ImportError:
        return Peer(np.nan, np.nan, "statsmodels is not installed: pip install 'sgdone[bench]'")
    X, y = case.sample()
    rows = add_constant(X)
    seconds = [_seconds(lambda: Logit(y, rows).fit(disp=0, cov_type="HC0").bse) for _ in range(turns)]
    return Peer(min(seconds), _peak())


def beside(case: Case, turns: int, patience: float) -> Peer:
    """What statsmodels takes, in a process of its own, if it can run."""
    needed = 8.0 * case.n_rows * (case.n_columns + 1) / _GIGABYTE
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / _GIGABYTE
    if _COPIES * needed > there:
        reason = f"does not run: it takes dense rows, {needed:,.0f} GB and a copy, of {there:,.0f} GB of memory"
        return Peer(np.nan, np.nan, reason)
    found = _in_process(statsmodels_logit, case, turns, patience)
    return Peer(np.nan, np.nan, f"stopped after {patience:.0f} s") if found is None else found


def _in_process(measure: Callable[[Case, int], Any], case: Case, turns: int, patience: float | None = None) -> Any:
    """Call in a new process; None if it takes too long."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        try:
            return pool.submit(measure, case, turns).result(patience)
        except TimeoutError:
            for process in multiprocessing.active_children():
                process.terminate()
            return None


def _peak() -> float:
    """Largest resident memory of the process so far, in GB; Linux counts kilobytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / _GIGABYTE


def _seconds(call: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def _line(case: Case, own: Ours, peer: Peer) -> str:
    """What is known as soon as a case is measured."""
    fit, summary = np.median(own.fit_seconds), np.median(own.summary_seconds)
    beside = peer.why_not or f"{peer.seconds:.2f} s, {peer.memory:.2f} GB"
    return f"  {case.name}: fit {fit:.2f} s, summary {summary:.2f} s, {own.summary_memory:.2f} GB; statsmodels {beside}"


def times_table(found: dict[Case, tuple[Ours, Peer]]) -> Table:
    """Seconds and ratios."""
    table = Table("data", "fit, s", "summary, s", "summary / fit", "intervals", "refused", title="Seconds")
    table.add_column("statsmodels, s")
    table.add_column("ours, both / statsmodels")
    for case, (own, peer) in found.items():
        ratios = np.array(own.summary_seconds) / np.array(own.fit_seconds)
        fit, summary = np.median(own.fit_seconds), np.median(own.summary_seconds)
        spread = f"{np.median(ratios):.2f} ({ratios.min():.2f}–{ratios.max():.2f})"
        given = f"{own.given:,}" + (f", ± {100 * own.monte_carlo_error:.1f} %" if own.monte_carlo_error else "")
        shown = (f"{peer.seconds:.2f}", f"{(fit + summary) / peer.seconds:.2f}") if not peer.why_not else ("–", "–")
        table.add_row(case.name, f"{fit:.2f}", f"{summary:.2f}", spread, given, f"{own.refused:,}", *shown)
    return table


def memory_table(found: dict[Case, tuple[Ours, Peer]]) -> Table:
    """Largest resident memory."""
    table = Table("data", "rows alone", "after the fit", "after the summary", "statsmodels", title="Largest memory, GB")
    for case, (own, peer) in found.items():
        shown = "–" if peer.why_not else f"{peer.memory:.2f}"
        table.add_row(case.name, f"{own.data_memory:.2f}", f"{own.fit_memory:.2f}", f"{own.summary_memory:.2f}", shown)
    return table


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--turns", type=int, default=5, help="measurements of each fit and summary")
    parser.add_argument("--patience", type=float, default=300.0, help="seconds that statsmodels may take")
    return parser.parse_args()


def main() -> None:
    arguments = _arguments()
    threads = max((one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"), default=1)
    load = os.getloadavg()[0]
    _CONSOLE.print(f"{os.cpu_count()} processors, load average {load:.1f}, threads of BLAS: {threads}", highlight=False)
    found: dict[Case, tuple[Ours, Peer]] = {}
    for case in _CASES:
        own = _in_process(ours, case, arguments.turns)
        found[case] = own, beside(case, min(3, arguments.turns), arguments.patience)
        _CONSOLE.print(_line(case, *found[case]), highlight=False, soft_wrap=True)
    _CONSOLE.print(times_table(found))
    _CONSOLE.print(memory_table(found))
    for case, (_, peer) in found.items():
        if peer.why_not:
            _CONSOLE.print(f"{case.name}: statsmodels {peer.why_not}", highlight=False)


if __name__ == "__main__":
    main()
