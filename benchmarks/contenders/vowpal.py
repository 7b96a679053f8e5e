"""Vowpal Wabbit, reading its cache file, at its default learning rate."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from contenders.contender import Contender, Data, Fit, MissingError, iterations


def contenders(loss: str) -> list[Contender]:
    """Logistic only: it has no squared hinge."""
    if loss != "logistic":
        return []
    return [Contender("Vowpal Wabbit", prepare, iterations(1), iterations(100), "passes", stochastic=False)]


def prepare(data: Data) -> Fit:
    try:
        import vowpalwabbit
    except ImportError as error:
        raise MissingError("vowpalwabbit is not installed") from error

    def run(arguments: str) -> None:
        workspace = vowpalwabbit.Workspace(f"{arguments} --quiet")
        workspace.run_parser()
        workspace.finish()

    folder = tempfile.TemporaryDirectory(prefix="vowpal-")
    place = Path(folder.name)
    # A hash of its own to each feature.
    common = f"--loss_function logistic --noconstant -b {max(18, int(np.ceil(np.log2(data.X.shape[1]))) + 1)}"
    _write(data.X, data.y, place / "train.txt")
    _write(data.X_test, data.y_test, place / "test.txt")
    run(f"-d {place}/train.txt --cache_file {place}/cache {common}")

    def fit(budget: int, seed: int) -> Any:
        _ = folder  # which lives as long as this function
        model = place / f"model-{budget}"
        run(f"--cache_file {place}/cache --passes {budget} --holdout_off --l2 {data.alpha} -f {model} {common}")

        def predict(X: Any) -> Any:
            if X is not data.X_test:
                raise ValueError("it predicts the test rows alone")
            run(f"-t -i {model} -d {place}/test.txt -r {place}/predictions")
            return np.loadtxt(place / "predictions", ndmin=1)

        return predict

    return fit


def _write(X: Any, y: Any, path: Path) -> None:
    """Its text format; numbers as features are their own hashes."""
    rows = sparse.csr_matrix(X)
    with path.open("w") as out:
        for i, label in enumerate(y):
            places = slice(rows.indptr[i], rows.indptr[i + 1])
            entries = zip(rows.indices[places].tolist(), rows.data[places].tolist(), strict=True)
            out.write(f"{int(label)} | " + " ".join(f"{j}:{value:.9g}" for j, value in entries) + "\n")
