"""What a fit of 10⁹ rows × 10⁶ sparse features on 100 machines would cost, checked by 100 partitions on this machine.

Run as ``python benchmarks/cluster_plan.py``; it takes about ten minutes and 4 GB of memory. Partitions are computed one
after the other in this process.

First, bytes: 100 partitions with the features of the plan and few rows make some rounds, whose bytes are counted and
compared with the formula of docs/cluster.md. Second, rounds: fits with fewer features and many rows for each of them,
as in the plan. Third, speeds: entries that a core multiplies in a second in each kind of round, and bytes that it
packs, unpacks and merges. Last, the plan: time of a fit from these constants.
"""

import argparse
import time
from collections import Counter
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy import sparse

from sgdone.cluster import LocalEngine, Partition, PartitionedRows
from sgdone.cluster.messages import from_bytes, to_bytes
from sgdone.fit import fit as fits
from sgdone.fit.options import FitOptions
from sgdone.run import Verdict
from sgdone.stopping import Gain, MaxPasses
from sgdone.sums.row_sum import ArraySum

#: Entries of a row, and of the plan: rows, features, machines, cores a machine and bytes a second of their network.
LENGTH, ROWS, FEATURES, MACHINES, CORES, NETWORK = 30, 1e9, 1e6, 100, 8, 1.25e9
#: Answers of neighbours that are merged in one task.
FAN_IN = 16


def partition(number: int, n_rows: int, n_features: int) -> Partition:
    rng = np.random.default_rng(number)
    weights = np.random.default_rng(10**6).standard_normal(n_features) * 0.5
    # Frequencies fall as the number of the column: shares 1/(10 + j), drawn by inversion.
    columns = (10.0 * ((10.0 + n_features) / 10.0) ** rng.random(n_rows * LENGTH) - 10.0).astype(np.int32)
    starts = np.arange(0, n_rows * LENGTH + 1, LENGTH)
    X = sparse.csr_array((np.ones(columns.size), columns, starts), (n_rows, n_features))
    X.sum_duplicates()
    y = (rng.random(n_rows) < 1.0 / (1.0 + np.exp(-(X @ weights)))).astype(np.int64)
    return Partition(number, X, y)


def fit(n_partitions: int, n_rows: int, n_features: int, stop: Any = "auto") -> tuple[PartitionedRows, int, Verdict]:
    """The rows after a fit, their entries, and why the fit ended."""
    parts = [partition(k, n_rows, n_features) for k in range(n_partitions)]
    rows = PartitionedRows(LocalEngine(parts, merges=True))
    model = fits.fit(rows, FitOptions.of("LinearClassifier", stop=stop, random_state=0))
    return rows, sum(part.X.nnz for part in parts), model.verdict_


def bytes_of_rounds(n_features: int, console: Console) -> None:
    """Bytes a round and a partition, beside the formula: 8 bytes a feature for each vector."""
    found, _, _ = fit(100, 200, n_features, Gain() | MaxPasses(14))
    table = Table("request", "rounds", "vectors sent", "MB sent", "formula", "vectors back", "MB back", "formula")
    table.title = f"100 partitions, {n_features:,} features: megabytes a round and a partition"
    vectors = {
        "Statistics": (0, 2.5),
        "BankPass": (1, 1),
        "SecondOrderAt": (1, 2),
        "CurvatureProduct": (1, 1),
        "LossesAt": (1, 0),
    }
    for name, (sent, back) in vectors.items():
        own = [record for record in found.rounds if record.request == name]
        if own:
            new = max(record.bytes_new for record in own) / 100 / 1e6
            received = max(record.bytes_received for record in own) / 100 / 1e6
            size = 8 * n_features / 1e6
            cells = (
                name,
                len(own),
                sent,
                f"{new:.2f}",
                f"{sent * size:.2f}",
                back,
                f"{received:.2f}",
                f"{back * size:.2f}",
            )
            table.add_row(*map(str, cells))
    console.print(table)


def rounds_of_fits(console: Console) -> Counter[str]:
    """Rounds of fits with many rows for each feature."""
    counted: Counter[str] = Counter()
    table = Table(
        "features", "rows", "rows / feature", "evaluations", "products", "rounds", title="rounds, 100 partitions"
    )
    for n_features, n_rows in ((2_000, 2_000), (2_000, 20_000), (20_000, 20_000)):
        found, _, verdict = fit(100, n_rows, n_features)
        counted = Counter(record.request for record in found.rounds)
        cells = (
            n_features,
            100 * n_rows,
            100 * n_rows // n_features,
            counted["SecondOrderAt"],
            counted["CurvatureProduct"],
        )
        table.add_row(*(f"{cell:,}" for cell in cells), str(len(found.rounds)))
        console.print(f"{n_features:,} features, {100 * n_rows:,} rows: {verdict}", style="dim")
    console.print(table)
    return counted


def speeds(console: Console) -> dict[str, float]:
    """Entries a second of each kind of round, and bytes a second of packing and merging."""
    found, entries, _ = fit(4, 100_000, 100_000)
    seconds = {
        name: [r.seconds for r in found.rounds if r.request == name] for name in {r.request for r in found.rounds}
    }
    rates = {name: entries / float(np.median(times)) for name, times in seconds.items()}
    vector = ArraySum(np.ones(10**6))
    began = time.perf_counter()
    for _ in range(10):
        packed = to_bytes(vector)
        vector = from_bytes(packed).merge(vector)
    merging = 10 * len(packed) / (time.perf_counter() - began)
    table = Table("kind", "millions a second", title="one core of this machine")
    for name, rate in rates.items():
        table.add_row(f"entries, {name}", f"{rate / 1e6:.0f}")
    table.add_row("bytes packed, unpacked and merged", f"{merging / 1e6:.0f}")
    console.print(table)
    return rates | {"merging": merging}


def plan(counted: Counter[str], rate: dict[str, float], console: Console) -> None:
    """Seconds of a fit on paper."""
    cores, entries, vector = MACHINES * CORES, ROWS * LENGTH, 8.0 * FEATURES
    levels = np.log(cores) / np.log(FAN_IN)
    # Each worker gets a vector once and passes it on; answers are merged in groups, level by level.
    sending = np.log2(MACHINES) * vector / NETWORK
    merging = levels * FAN_IN * vector * (1.0 / NETWORK + 1.0 / rate["merging"])
    table = Table("request", "rounds", "computing, s", "sending, s", "merging, s", "in all, s")
    table.title = f"{ROWS:.0e} rows × {FEATURES:.0e} features on {MACHINES} machines of {CORES} cores"
    total = 0.0
    for name, rounds in counted.items():
        computing = entries / cores / rate.get(name, np.inf)
        own = rounds * (computing + sending + merging)
        total += own
        table.add_row(name, str(rounds), *(f"{part:.2f}" for part in (computing, sending, merging)), f"{own:.0f}")
    table.add_row("fit", str(sum(counted.values())), "", "", "", f"{total:.0f}")
    console.print(table)
    memory = (2 * 12 * entries + 16 * ROWS) / MACHINES + CORES * 10 * vector
    console.print(f"memory a machine: {memory / 1e9:.1f} GB; bytes of a vector: {vector / 1e6:.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--features", type=int, default=int(FEATURES))
    given = parser.parse_args()
    console = Console(width=120)
    bytes_of_rounds(given.features, console)
    rate = speeds(console)
    plan(rounds_of_fits(console), rate, console)


if __name__ == "__main__":
    main()
