"""Vowpal Wabbit with its defaults: one pass, its own step sizes, one against the rest for several classes."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from contenders.contender import MissingError
from no_knobs_data import Part
from no_knobs_measure import Measured, judge_probabilities, judge_values, time_fit


def vowpal(part: Part, around: object) -> list[Measured]:
    """A fit from its own cache file, which is made outside the clock; it has no randomness."""
    _library()
    classes = None if part.is_regression else part.classes
    n_models = part.n_scores
    several = n_models > 1
    # A place of its own to each weight, and to the constant's.
    bits = max(18, int(np.ceil(np.log2((part.X.shape[1] + 1) * n_models))))
    how = f"-b {bits}"
    if classes is not None:
        how += " --loss_function logistic"
    if several:
        how += f" --oaa {n_models} --probabilities"
    with tempfile.TemporaryDirectory(prefix="vowpal-") as folder:
        place = Path(folder)
        _write(part.X, _labels(part.y, classes), place / "train.txt")
        _write(part.X_test, _labels(part.y_test, classes), place / "test.txt")
        _run(f"-d {place}/train.txt --cache_file {place}/cache {how}")
        timed = time_fit(lambda threads: _run(f"--cache_file {place}/cache -f {place}/model {how}"))
        # Margins of two classes, since probabilities near 1 are written with six digits.
        output = "-p" if classes is None or several else "-r"
        probabilities = "--probabilities" if several else ""
        _run(f"-t -i {place}/model -d {place}/test.txt {output} {place}/predictions {probabilities}")
        predicted = _read(place / "predictions", several)
    if classes is None:
        found = judge_values(timed, predicted, part)
    else:
        p = predicted if several else np.column_stack([expit(-predicted), expit(predicted)])
        found = judge_probabilities(timed, p / p.sum(axis=1, keepdims=True), part)
    return [replace(found, passes=1.0)]


def _library() -> Any:
    try:
        import vowpalwabbit
    except ImportError as error:
        raise MissingError("vowpalwabbit is not installed: pip install 'sgdone[bench]'") from error
    return vowpalwabbit


def _run(arguments: str) -> None:
    workspace = _library().Workspace(f"{arguments} --quiet")
    workspace.run_parser()
    workspace.finish()


def _labels(y: NDArray[Any], classes: NDArray[Any] | None) -> NDArray[Any]:
    """Real numbers as they are, two classes as −1 and 1, more as 1, 2, 3 and so on."""
    if classes is None:
        return y
    numbers = np.searchsorted(classes, y)
    return 2 * numbers - 1 if classes.size == 2 else numbers + 1


def _write(X: Any, labels: NDArray[Any], path: Path) -> None:
    """Its text format; numbers as features are their own hashes."""
    rows = sparse.csr_array(X)
    entry = "{}:{:.9g}".format
    with path.open("w") as out:
        for i, label in enumerate(labels.tolist()):
            places = slice(rows.indptr[i], rows.indptr[i + 1])
            entries = map(entry, rows.indices[places].tolist(), rows.data[places].tolist())
            out.write(f"{label} | {' '.join(entries)}\n")


def _read(path: Path, several: bool) -> NDArray[Any]:
    """A number a line, or ``class:probability`` for each class."""
    if not several:
        return np.loadtxt(path, ndmin=1)
    lines = path.read_text().splitlines()
    return np.array([[float(entry.partition(":")[2]) for entry in line.split()] for line in lines])
