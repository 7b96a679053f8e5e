"""How long the very first fit takes: in a process of its own, without compiled code on disk and then with it.

Run as a script it is that process: it prints the seconds to import the package and to fit breast-cancer.
"""

import itertools
import json
import os
import subprocess
import sys
import tempfile
import time


def cold_seconds() -> list[dict[str, float]]:
    """Seconds of import and fit in two processes, the first of which must compile."""
    with tempfile.TemporaryDirectory(prefix="numba-") as folder:
        surroundings = os.environ | {"NUMBA_CACHE_DIR": folder}
        command = [sys.executable, __file__]
        runs = [
            subprocess.run(command, env=surroundings, check=True, stdout=subprocess.PIPE, text=True) for _ in range(2)
        ]
    return [json.loads(run.stdout) for run in runs]


def in_words(runs: list[dict[str, float]]) -> str:
    """One line."""
    first, second = runs
    return (
        f"Cold, breast-cancer: {first['fit']:.1f} s for the first fit ever, which compiles; "
        f"{second['fit']:.2f} s for the first fit of a later process; "
        f"{second['again'] * 1e3:.0f} ms from then on (and {second['import']:.1f} s to import the package)."
    )


def _measure() -> dict[str, float]:
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    times = [time.perf_counter()]
    from sgdone import LinearClassifier

    times.append(time.perf_counter())
    for _ in range(2):
        LinearClassifier(random_state=0).fit(X, y)
        times.append(time.perf_counter())
    return dict(zip(("import", "fit", "again"), (b - a for a, b in itertools.pairwise(times)), strict=True))


if __name__ == "__main__":
    print(json.dumps(_measure()))
