"""Ctrl-C keeps the model so far."""

import signal
import subprocess
import sys
import textwrap
from dataclasses import dataclass

import numpy as np
import pytest
from automatic_problems import TASKS, estimator, pressing_at, problem

from sgdone import LinearClassifier, SGDClassifier, stopping
from sgdone.bank import BankState
from sgdone.interfaces.stop_rule import Status

#: The bank is tested here: large data are left to it.
pytestmark = pytest.mark.usefixtures("without_finish")


@dataclass(frozen=True)
class Interrupting(stopping.StopRule):
    """A budget that presses Ctrl-C at the end of a pass."""

    at_pass: int
    name = "interrupting"
    is_budget = True

    def start(self, n_rows):
        return None

    def observe(self, state, progress):
        if progress.pass_ended and progress.pass_number == self.at_pass:
            raise KeyboardInterrupt


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("call", [1, 2, 3])
def test_in_a_hook(call, task):
    X, y = problem(task)
    model = estimator(task, tol=0.0)
    model._progress_hook = pressing_at(call)
    model.fit(X, y)
    assert model.verdict_.status is Status.INTERRUPTED
    assert model.verdict_.rule == ""
    assert model.verdict_.step == 600 * call
    assert model.score(X, y) > 0.5
    assert str(model.verdict_).endswith("Continue with partial_fit, or fit again with warm_start=True.")


@pytest.mark.parametrize("task", TASKS)
def test_in_the_middle_of_a_first_pass(task):
    X, y = problem(task, 9000)
    model = estimator(task)
    model._progress_hook = pressing_at(2)
    model.fit(X, y)
    assert model.verdict_.status is Status.INTERRUPTED
    assert 0 < model.verdict_.step < 9000
    assert model.score(X, y) > 0.5
    del model._progress_hook
    steps = model.verdict_.step
    assert model.partial_fit(X, y).verdict_.step == steps + 9000


@pytest.mark.parametrize("task", TASKS)
def test_in_a_stopping_rule(task, same_model):
    X, y = problem(task)
    model = estimator(task, tol=0.0, stop=Interrupting(3)).fit(X, y)
    same_model(model, estimator(task, tol=0.0, stop=3).fit(X, y))
    assert model.verdict_.status is Status.INTERRUPTED
    assert (model.verdict_.step, model.n_iter_) == (1800, 3)
    assert isinstance(model._fitted.results[0].state, BankState)


@pytest.mark.parametrize("task", TASKS)
def test_in_partial_fit(task):
    X, y = problem(task)
    classes = {} if task == "numbers" else {"classes": np.unique(y)}
    model = estimator(task).partial_fit(X, y, **classes)
    model._progress_hook = pressing_at(1)
    model.partial_fit(X, y)
    assert model.verdict_.status is Status.INTERRUPTED
    steps = model.verdict_.step
    assert 600 < steps <= 1200
    del model._progress_hook
    assert model.partial_fit(X, y).verdict_.step == steps + 600


def test_before_the_first_row_there_is_no_model(monkeypatch):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(BankState, "initial", interrupt)
    X, y = problem("two")
    model = LinearClassifier()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not hasattr(model, "coef_")


def test_an_interrupted_model_can_be_warm_started(same_model):
    X, y = problem("two")
    model = LinearClassifier(warm_start=True, random_state=0)
    model._progress_hook = pressing_at(1)
    model.fit(X, y)
    del model._progress_hook
    model.fit(X, y)
    assert model.verdict_.status is Status.CONVERGED


def test_in_a_stopping_rule_of_a_named_method(binary, same_model):
    model = SGDClassifier(solver="asgd", stop=Interrupting(3), random_state=0).fit(*binary)
    assert model.verdict_.status == "interrupted"
    assert (model.verdict_.step, model.verdict_.passes, model.n_iter_) == (900, 3.0, 3)
    same_model(model, SGDClassifier(solver="asgd", stop=3, random_state=0).fit(*binary))


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_several_classes_all_end(n_jobs, several):
    X, y = several
    model = SGDClassifier(stop=Interrupting(2), n_jobs=n_jobs, random_state=0).fit(X, y)
    assert model.verdict_.status == "interrupted"
    assert all(verdict.status == "interrupted" for verdict in model.verdict_.per_class.values())
    assert all(0 < verdict.step <= 800 for verdict in model.verdict_.per_class.values())
    assert model.coef_.shape == (4, 6)
    assert model.score(X, y) > 0.5


def test_a_named_method_goes_on_after_it(binary):
    X, y = binary
    model = SGDClassifier(stop=Interrupting(2), random_state=0).partial_fit(X, y, classes=[0, 1]).partial_fit(X, y)
    assert (model.verdict_.status, model.verdict_.step) == ("interrupted", 600)
    assert model.set_params(stop=5).partial_fit(X, y).verdict_.step == 900


# ---- a real Ctrl-C, sent to another process in the middle of a fit, keeps the model so far ----


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


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
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
