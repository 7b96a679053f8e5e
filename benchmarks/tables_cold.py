"""How long the very first fit to a raw table takes: in a process of its own, without compiled code and then with it.

Run as a script it is that process: it prints the seconds of two fits to the first split of adult.
"""

import json
import os
import subprocess
import sys
import tempfile

import tables_data
from tables_ours import fit


def cold() -> str:
    """Seconds of fits in two processes, the first of which must compile, as one line."""
    with tempfile.TemporaryDirectory(prefix="numba-") as folder:
        surroundings = os.environ | {"NUMBA_CACHE_DIR": folder}
        command = [sys.executable, __file__]
        runs = [
            subprocess.run(command, env=surroundings, check=True, stdout=subprocess.PIPE, text=True) for _ in range(2)
        ]
    (first, _), (second, again) = (json.loads(run.stdout) for run in runs)
    return (
        f"Cold, adult: {first:.1f} s for the first fit ever, which compiles; {second:.2f} s for the first fit of a "
        f"later process; {again:.2f} s from then on (wall clock)."
    )


def main() -> None:
    split = next(tables_data.splits(*tables_data.load("adult"), count=1))
    print(json.dumps([fit(split.X, split.y, split)[1].wall for _ in range(2)]))


if __name__ == "__main__":
    main()
