import os
import signal
import threading

# Processes that run tests side by side share the cores: threads of BLAS would only wait for each other.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from sgdone.kernels.jit import CompiledLater
from sgdone.newton.exact_phase import ExactInMemory
from tiers import NIGHTLY, slow

# Shells let their background jobs ignore SIGINT, which some tests send.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

#: Where CI is set, as Hypothesis' own profile for it has it, the examples are the same in every run.
settings.register_profile(
    "default",
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
    derandomize="CI" in os.environ,
)
#: New examples every night, and more of them (`tiers.examples`).
settings.register_profile("nightly", settings.get_profile("default"), derandomize=False, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def without_finish(monkeypatch):
    """The default fit by the bank alone, as on large data."""
    monkeypatch.setattr(ExactInMemory, "is_worthwhile", lambda *arguments: False)


@pytest.fixture
def own_cache_folder(tmp_path_factory, monkeypatch):
    """A cache folder of the user that is new; nothing is left in it, and no thread."""
    before = set(threading.enumerate())
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    yield folder
    assert not [path for path in folder.rglob("*") if path.is_file()]
    assert {thread for thread in threading.enumerate() if thread.name == "sgdone-reader"} <= before


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    """Let each process begin with tests that lie together: what one compiles, its next ones find."""
    if getattr(config.option, "dist", "no") == "load":
        config.option.dist = "worksteal"


def pytest_generate_tests(metafunc):
    """Tests marked `tiers.interpreted` are fast with loops in plain Python, and slow with compiled ones."""
    if metafunc.definition.get_closest_marker("interpreted"):
        metafunc.parametrize("loops", ["interpreted", pytest.param("compiled", marks=slow)], indirect=True)


#: Packages whose tests need the same compiled loops, those of whole fits.
WHOLE_FITS = {"cli", "cluster", "estimators", "fits", "inference", "model_file"}


def pytest_collection_modifyitems(config, items):
    """Put tests together that need the same loops, and leave grids of forms to the nightly run.

    Two processes that begin at different halves do not compile the same loops at once then. By day there is one
    compiled form of each test that the fast tier has as plain Python.
    """
    items.sort(key=lambda item: item.path.parent.name not in WHOLE_FITS)
    if NIGHTLY:
        return
    kept, left_out = [], []
    for item in items:
        (kept if _is_first_form(item) or not item.get_closest_marker("grid") else left_out).append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept


def _is_first_form(item):
    marks = list(item.iter_markers("slow"))
    compiled = hasattr(item, "callspec") and item.callspec.params.get("loops") == "compiled"
    return len(marks) <= int(compiled)


@pytest.fixture(autouse=True)
def loops(request):
    """How the loops of a test run: compiled, unless it is marked."""
    if getattr(request, "param", "compiled") == "compiled":
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CompiledLater, "__call__", _call_in_python)
        yield


def _call_in_python(loop, *arguments):
    # Compiled code neither warns of an overflow nor stops at it.
    with np.errstate(all="ignore"):
        return loop.py_func(*arguments)
