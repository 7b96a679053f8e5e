"""Number of files of the package that run in a fit: a reader of the way from rows to a model opens about as many."""

import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import sgdone
from cluster_fits import fit_model
from sgdone import LinearClassifier
from sgdone.cluster import LocalEngine, Partition
from sgdone.stopping import MaxPasses

PACKAGE = Path(sgdone.__file__).parent

#: Most files that may run in a fit. Lower a number when the way becomes shorter; the aim is 35 for a fit in memory.
MOST_FILES = {"exact": 34, "bank": 47, "file": 57, "partitions": 56}


def files_that_run(fit: Callable[[], object]) -> set[str]:
    """Return the files of the package in which a function is called, in any thread."""
    found: set[str] = set()

    def note(frame, event, argument):
        if event == "call" and frame.f_code.co_filename.startswith(f"{PACKAGE}/"):
            found.add(str(Path(frame.f_code.co_filename).relative_to(PACKAGE)))

    sys.setprofile(note)
    threading.setprofile(note)
    try:
        fit()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return found


@pytest.fixture
def fits(rng, tmp_path):
    X = rng.standard_normal((1200, 5))
    y = (X[:, 0] + rng.standard_normal(1200) > 0).astype(int)
    path = tmp_path / "rows.csv"
    np.savetxt(path, np.column_stack([X, y]), delimiter=",", header="a,b,c,d,e,y", comments="", fmt="%.6g")
    parts = [Partition(k, X[k::2], y[k::2]) for k in range(2)]
    return {
        "exact": lambda: LinearClassifier(random_state=0).fit(X[:500], y[:500]),
        "bank": lambda: LinearClassifier(stop=MaxPasses(2), random_state=0).fit(X, y),
        "file": lambda: LinearClassifier(random_state=0).fit(sgdone.files(path, label="y", max_memory=1_000_000)),
        "partitions": lambda: fit_model(LinearClassifier(random_state=0), LocalEngine(parts)),
    }


@pytest.mark.parametrize("way", MOST_FILES)
def test_a_fit_runs_in_few_files(fits, way):
    fits[way]()  # functions that compile loops run in a first fit only
    found = files_that_run(fits[way])
    assert len(found) <= MOST_FILES[way], f"{len(found)} files: {', '.join(sorted(found))}"


def test_a_fit_decided_by_newtons_method_does_not_run_in_the_bank(fits):
    assert not [name for name in files_that_run(fits["exact"]) if name.startswith("bank/")]
