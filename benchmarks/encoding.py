"""Speed and memory of encoding a table, beside scikit-learn's encoders and skrub.

Run as ``python benchmarks/encoding.py --rows 1000000``. The table has five numbers, categories of 10, 1,000 and 100,000
levels, and a text of about 50 characters, as a pandas frame. Each peer encodes the columns that it is made for, and is
timed in alternating pairs with ``TableEncoder`` on the same columns. ``TableEncoder`` with itself shows the noise.
Times are those of the processor, in one thread. Memory is measured in a process of its own: by how much its peak
exceeds that before encoding.
"""

import argparse
import multiprocessing
import statistics
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.preprocessing import OneHotEncoder

from sgdone import TableEncoder

#: One pair is enough if the first ratio is above this.
_CLEAR = 20
NUMBERS, CATEGORIES = [f"x{k}" for k in range(5)], ["ten", "thousand", "hundred_thousand"]


def table(n_rows: int) -> pd.DataFrame:
    """Numbers, categories and text; words occur as often as in English (Zipf)."""
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {name: rng.standard_normal(n_rows) for name in NUMBERS}
    for name, levels in zip(CATEGORIES, (10, 1_000, 100_000), strict=True):
        columns[name] = np.array([f"level {k}" for k in range(levels)], dtype=object)[rng.integers(0, levels, n_rows)]
    letters = np.array(list("etaoinshrdlcumwf"))
    words = np.array(["".join(rng.choice(letters, size)) for size in rng.integers(2, 9, 20_000)])
    share = 1 / np.arange(1, words.size + 1)
    chosen = words[rng.choice(words.size, (n_rows, 8), p=share / share.sum())]
    columns["text"] = np.array([" ".join(row).capitalize() for row in chosen], dtype=object)
    return pd.DataFrame(columns)


def one_hot() -> Any:
    return make_column_transformer((OneHotEncoder(handle_unknown="ignore"), CATEGORIES), remainder="passthrough")


def hashing(pairs: bool) -> Any:
    words = HashingVectorizer(n_features=2**18, alternate_sign=False, ngram_range=(1, 2 if pairs else 1))
    return make_column_transformer((words, "text"))


def skrub_vectorizer() -> Any:
    from skrub import TableVectorizer

    return TableVectorizer()


#: Peers, and the columns that each encodes.
PEERS: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "TableEncoder": (TableEncoder, [*NUMBERS, *CATEGORIES, "text"]),
    "OneHotEncoder in a ColumnTransformer": (one_hot, [*NUMBERS, *CATEGORIES]),
    "HashingVectorizer, words": (lambda: hashing(False), ["text"]),
    "HashingVectorizer, words and pairs": (lambda: hashing(True), ["text"]),
}
if find_spec("skrub"):
    PEERS["skrub TableVectorizer"] = (skrub_vectorizer, [*NUMBERS, *CATEGORIES, "text"])


def seconds(call: Callable[[], Any]) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began


def ratios(peer: Callable[[], Any], frame: pd.DataFrame, n_pairs: int, *, fit: bool) -> tuple[list[float], list[float]]:
    """Seconds of ours, and how many times as long the peer took, pair by pair."""

    def timed(encoder: Any) -> float:
        return seconds(lambda: encoder.fit_transform(frame)) if fit else seconds(lambda: encoder.transform(frame))

    both = TableEncoder().fit(frame), peer()
    if not fit:
        both[1].fit(frame)
    ours, found = [], []
    for pair in range(n_pairs):
        order = both if pair % 2 == 0 else both[::-1]
        took = {id(encoder): timed(encoder) for encoder in order}
        ours.append(took[id(both[0])])
        found.append(took[id(both[1])] / took[id(both[0])])
        if found[0] > _CLEAR:
            break
    return ours, found


def peak(name: str, n_rows: int, answer: Any) -> None:
    """Bytes by which the peak while encoding exceeds what the process held before (Linux only)."""
    make, columns = PEERS[name]
    frame = table(n_rows)[columns]
    make().fit_transform(frame.head(1_000))  # imports and compiled loops
    Path("/proc/self/clear_refs").write_text("5")  # the peak is what is held now
    before = resident_peak()
    make().fit_transform(frame)
    answer.put(resident_peak() - before)


def resident_peak() -> int:
    status = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in status if line.startswith("VmHWM"))


def memory(name: str, n_rows: int) -> float:
    context = multiprocessing.get_context("spawn")
    answer = context.Queue()
    process = context.Process(target=peak, args=(name, n_rows, answer))
    process.start()
    found = float(answer.get())
    process.join()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--pairs", type=int, default=5)
    arguments = parser.parse_args()
    frame = table(arguments.rows)
    shown = Table(title=f"{arguments.rows:,} rows; how many times as long as TableEncoder (median, range)")
    for heading in ("peer", "our seconds", "fit_transform", "transform", "extra memory, MB", "ours, all columns"):
        shown.add_column(heading)
    whole = memory("TableEncoder", arguments.rows) / 1e6
    for name, (make, columns) in PEERS.items():
        cells = []
        for fit in (True, False):
            ours, found = ratios(make, frame[columns], arguments.pairs, fit=fit)
            cells.append(f"{statistics.median(found):.2f} ({min(found):.2f}–{max(found):.2f})")
            cells = [f"{statistics.median(ours):.3f}", *cells] if fit else cells
        cells = [name, *cells, f"{memory(name, arguments.rows) / 1e6:,.0f}", f"{whole:,.0f}"]
        print(", ".join(cells), flush=True)
        shown.add_row(*cells)
    Console(width=130).print(shown)


if __name__ == "__main__":
    main()
