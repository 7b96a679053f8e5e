"""A real Ctrl-C, sent to another process in the middle of a fit, keeps the model so far."""

import signal
import subprocess
import sys
import textwrap

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")]

#: Prints a line a pass, and one more at the end.
CHILD = """
    import numpy as np
    from sgdone import LinearClassifier, SGDClassifier, solvers, stopping
    X = np.random.default_rng(0).standard_normal((20_000, 20))
    y = {labels}
    model = {model}(stop=10**9, random_state=0, verbose=1, {options}).fit(X, y)
    print()
    print(model.verdict_.status, model.verdict_.step > 0, np.isfinite(model.coef_).all(), model.score(X, y) > 0.6)
"""
BINARY = "(X[:, 0] > 0).astype(int)"
SEVERAL = "(X[:, 0] > 0).astype(int) + (X[:, 0] > 1)"


@pytest.mark.parametrize(
    ("model", "labels", "options"),
    [
        ("LinearClassifier", BINARY, "loss='hinge', tol=0"),
        ("LinearClassifier", SEVERAL, "loss='hinge', tol=0"),
        ("SGDClassifier", SEVERAL, "solver='asgd', n_jobs=2"),
        ("SGDClassifier", BINARY, "solver=solvers.Halving(detector=stopping.MaxPasses(1000))"),
        ("SGDClassifier", BINARY, "solver=solvers.SVRG()"),
    ],
    ids=["binary", "several", "threads", "halving", "svrg"],
)
def test_the_model_so_far_is_kept(model, labels, options):
    code = textwrap.dedent(CHILD).format(model=model, labels=labels, options=options)
    command = [sys.executable, "-u", "-c", code]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline()
        child.send_signal(signal.SIGINT)
        out, errors = child.communicate(timeout=300)
    finally:
        child.kill()
    assert child.returncode == 0, errors
    assert out.splitlines()[-1] == "interrupted True True True"
