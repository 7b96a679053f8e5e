"""Memory: estimates before allocations, and errors that name the size and what to reduce."""

import numpy as np
import pytest
from scipy import sparse

from sgdone import LinearClassifier, SGDClassifier
from sgdone.machine import memory


def wide(n_features):
    X = sparse.random_array((60, 50), density=0.2, format="csr", rng=np.random.default_rng(0))
    return sparse.csr_array((X.data, X.indices, X.indptr), shape=(60, n_features)), np.arange(60) % 2


@pytest.mark.parametrize("estimator", [LinearClassifier(), SGDClassifier(), SGDClassifier(solver="olbfgs")])
@pytest.mark.parametrize("call", ["fit", "partial_fit"])
def test_too_many_columns_are_refused_before_anything_is_allocated(estimator, call):
    X, y = wide(2**40)
    options = {"classes": [0, 1]} if call == "partial_fit" else {}
    message = r"training on 1,099,511,627,776 columns needs about [\d.e+]+ GB of memory, but .* available: use fewer"
    with pytest.raises(memory.NotEnoughMemoryError, match=message):
        getattr(estimator, call)(X, y, **options)
    assert not hasattr(estimator, "coef_")


@pytest.mark.usefixtures("without_finish")
def test_models_that_a_fit_adds_are_checked_too(monkeypatch):
    X, y = wide(1000)
    monkeypatch.setattr(memory, "_SMALL", 0)
    monkeypatch.setattr(memory, "available_memory", lambda: 300_000)
    with pytest.raises(memory.NotEnoughMemoryError, match=r"training on 1,000 columns needs about 0.\d+ MB"):
        LinearClassifier(random_state=0).fit(X, y)


def test_an_allocation_that_fails_says_what_to_reduce(monkeypatch):
    def fail(*_args, **_kwargs):
        raise MemoryError("Unable to allocate 84.0 GiB for an array")

    X, _ = wide(1000)
    monkeypatch.setattr("sgdone.fit.fit.run", fail)
    message = r"training on 1,000 columns for 3 outputs needs more memory .*84.0 GiB.*: use fewer columns or classes"
    with pytest.raises(memory.NotEnoughMemoryError, match=message):
        LinearClassifier().fit(X, np.arange(60) % 3)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"memory.max": "1000", "memory.current": "700", "memory.stat": "anon 600\ninactive_file 100\n"}, 400),
        ({"memory.max": "max", "memory.current": "700", "memory.stat": ""}, None),
        ({"memory.limit_in_bytes": "1000", "memory.usage_in_bytes": "900", "memory.stat": "cache 1\n"}, 100),
        ({}, None),
    ],
)
def test_the_limit_of_a_control_group(tmp_path, monkeypatch, files, expected):
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    monkeypatch.setattr(memory, "_cgroup_folders", lambda: (tmp_path,))
    assert memory._of_cgroup() == expected


def test_the_limit_of_a_process(monkeypatch):
    resource = pytest.importorskip("resource")
    free = memory.available_memory()
    monkeypatch.setattr(resource, "getrlimit", lambda _: (2**40, 2**40))
    assert 0 < memory._of_process() < 2**40
    monkeypatch.setattr(resource, "getrlimit", lambda _: (2**20, 2**20))
    assert memory.available_memory() == 0 < free
