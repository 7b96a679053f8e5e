"""What the order of rows does to a fit: sorted by class, drifting, each row ten times over.

Run as ``python benchmarks/row_order.py``. The measure is the loss of test rows less that of ``LinearClassifier()`` on
the same rows in random order, mean over seeds. ``shuffle=True``, the default, must not care. ``shuffle=False`` and
``partial_fit`` in chunks of 1000 rows see the order as it is, and what they do with it is the fit's own word: its
verdict is printed. Rows drift by a feature that stands for time: elevation, ink, age.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy import sparse
from sklearn.metrics import log_loss

from sgdone import LinearClassifier, datasets

CHUNK = 1000
COPIES = 10
Fit = Callable[[Any, NDArray[Any], int], LinearClassifier]


def age_group(X: Any) -> NDArray[Any]:
    """The first five columns of a9a say which fifth of ages a person is in."""
    return np.asarray(X[:, :5].argmax(axis=1)).ravel()


#: Sets, and the feature that stands for time.
SETS: dict[str, Callable[[Any], NDArray[Any]]] = {
    "a9a": age_group,
    "mnist-7-vs-9": lambda X: X.sum(axis=1),
    "covertype-2-vs-rest": lambda X: X[:, 0],
}


@dataclass(frozen=True, eq=False)
class Arrangement:
    """The rows in some order, by their numbers."""

    name: str
    order: NDArray[np.intp]
    #: Whether those that do not shuffle are to see it: in chunks as well, or not.
    plainly: bool = True
    in_chunks: bool = True


def arrangements(X: Any, y: NDArray[Any], time: NDArray[Any], rng: np.random.Generator) -> list[Arrangement]:
    """All orders; the first one is what the others are compared with."""
    mixed = rng.permutation(y.size)
    tiled = np.tile(mixed, COPIES)
    return [
        Arrangement("random", mixed),
        Arrangement("by class", mixed[np.argsort(y[mixed], kind="stable")]),
        Arrangement("by time", mixed[np.argsort(time[mixed], kind="stable")]),
        Arrangement(f"tiled × {COPIES}", tiled, in_chunks=False),
        Arrangement(f"tiled × {COPIES}, then random", rng.permutation(tiled), plainly=False, in_chunks=False),
    ]


def shuffled(X: Any, y: NDArray[Any], seed: int) -> LinearClassifier:
    """The default."""
    model = LinearClassifier(random_state=seed)
    model.fit(X, y)
    return model


def as_they_come(X: Any, y: NDArray[Any], seed: int) -> LinearClassifier:
    """Each pass in the order of the rows."""
    model = LinearClassifier(shuffle=False, random_state=seed)
    model.fit(X, y)
    return model


def in_chunks(X: Any, y: NDArray[Any], seed: int) -> LinearClassifier:
    """A stream, read once."""
    model, classes = LinearClassifier(random_state=seed), np.unique(y)
    for first in range(0, y.size, CHUNK):
        model.partial_fit(X[first : first + CHUNK], y[first : first + CHUNK], classes=classes)
    return model


def fits(arrangement: Arrangement) -> dict[str, Fit]:
    """The ways to fit these rows that tell something."""
    found: dict[str, Fit] = {"fit": shuffled}
    if arrangement.plainly:
        found["shuffle=False"] = as_they_come
    if arrangement.in_chunks:
        found[f"partial_fit, {CHUNK} a time"] = in_chunks
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--seeds", type=int, default=3, help="how many fits each number is the mean of")
    parser.add_argument("--rows", type=int, help="no more rows than so many, for a first look")
    arguments = parser.parse_args()
    console = Console(width=150)
    for name in arguments.sets:
        try:
            train, test = (datasets.load(name, subset=subset) for subset in ("train", "test"))
        except datasets.DatasetNotFound as absent:
            console.print(f"{name}: skipped, {absent}")
            continue
        rows = slice(arguments.rows)
        X, y = train.X[rows], train.y[rows]
        kind = "sparse" if sparse.issparse(X) else "dense"
        console.print(f"[bold]{name}: {X.shape[0]:,} rows, {X.shape[1]:,} features, {kind}")
        console.print(_compared(console, name, X, y, test, arguments.seeds))


def _compared(console: Console, name: str, X: Any, y: NDArray[Any], test: Any, n_seeds: int) -> Table:
    table = Table(title=f"{name}: log loss of the test rows, mean of {n_seeds}")
    for heading in ("order", "how", "loss", "excess", "± (std)", "excess, %", "verdict"):
        table.add_column(heading, justify="left" if heading in ("order", "how", "verdict") else "right")
    reference = float("nan")
    for arrangement in arrangements(X, y, SETS[name](X), np.random.default_rng(0)):
        in_order = X[arrangement.order], y[arrangement.order]
        for how, fit in fits(arrangement).items():
            models = [fit(*in_order, seed) for seed in range(n_seeds)]
            losses = [log_loss(test.y, model.predict_proba(test.X), labels=model.classes_) for model in models]
            loss, spread = float(np.mean(losses)), float(np.std(losses))
            reference = loss if np.isnan(reference) else reference
            numbers = f"{loss:.5f}", f"{loss - reference:+.5f}", f"{spread:.5f}", f"{100 * (loss / reference - 1):+.2f}"
            verdict = models[0].verdict_
            table.add_row(arrangement.name, how, *numbers, str(verdict.status))
            console.print(f"  {arrangement.name}, {how}: {loss:.5f}. {verdict}", markup=False, highlight=False)
        table.add_section()
    return table


if __name__ == "__main__":
    main()
