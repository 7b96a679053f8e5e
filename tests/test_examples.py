"""The examples in docstrings, in the README and in the docs run as they stand."""

import doctest
import gzip
import importlib
import importlib.util
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sgdone
from tiers import fast_first, slow


def has_examples(name):
    return ">>>" in Path(importlib.util.find_spec(name).origin).read_text("utf-8")


MODULES = sorted(filter(has_examples, (found.name for found in pkgutil.walk_packages(sgdone.__path__, "sgdone."))))
#: Most of their examples fit a model, each with a compiled loop of its own.
COMPILING = ("sgdone.bank.", "sgdone.newton.", "sgdone.diagnose.", "sgdone.solvers.", "sgdone.stopping.")
PAGES = [
    Path(__file__).parents[1] / name
    for name in (
        "README.md",
        "docs/coming-from.md",
        "docs/why-did-it-stop.md",
        "docs/your-own.md",
        "docs/when-to-stop.md",
        "docs/how-sure.md",
        "docs/tables.md",
        "docs/large-data.md",
        "docs/cluster.md",
        "docs/tutorial.md",
        "docs/huge-coefficients.md",
        "docs/margins.md",
    )
]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=slow) if name.startswith(COMPILING) else name for name in MODULES]
)
def test_docstrings(name):
    failed, _ = doctest.testmod(importlib.import_module(name), extraglobs={"np": np})
    assert failed == 0


@pytest.mark.parametrize("page", fast_first(1, PAGES), ids=lambda page: page.name)
def test_pages(page, tmp_path, monkeypatch):
    """Python blocks of a page run one after the other; those that only include a file are left out."""
    if not page.exists():
        pytest.skip(f"{page.name} is not here: the tests run without the repository")
    monkeypatch.chdir(tmp_path)
    if page.name == "cluster.md":
        pytest.importorskip("dask", reason="Dask is not installed")
    if page.name == "tutorial.md":
        adult = Path(os.environ.get("SGDONE_DATA", ""), "adult", "adult.csv.gz")
        if not adult.is_file():
            pytest.skip("the folder SGDONE_DATA has no adult/adult.csv.gz")
        Path("adult.csv").write_bytes(gzip.decompress(adult.read_bytes()))
    import matplotlib as mpl

    mpl.use("Agg")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    names = {"X": X, "y": (X[:, 0] > 0).astype(int)}
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert blocks
    for block in blocks:
        if "--8<--" not in block:
            exec(compile(block, str(page), "exec"), names)


@slow
def test_pipe(tmp_path):
    """The pipe of the page on large data."""
    page = Path(__file__).parents[1] / "docs" / "large-data.md"
    if not page.exists():
        pytest.skip(f"{page.name} is not here: the tests run without the repository")
    (command,) = re.findall(r"```bash\n(zcat .*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    rows = "".join(f"{k % 7},{'ab'[k % 2]},{int(k % 7 + k % 3 > 4)}\n" for k in range(600))
    (tmp_path / "clicks.csv.gz").write_bytes(gzip.compress(b"age,site,click\n" + rows.encode()))
    shim = tmp_path / "sgdone"
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m sgdone.cli "$@"\n')
    shim.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(command, shell=True, cwd=tmp_path, env=environment, check=True, stdout=subprocess.PIPE)
    assert b"of 600 rows for the scores" in done.stdout
    assert sgdone.load(tmp_path / "clicks.sgdone").classes_.size == 2
