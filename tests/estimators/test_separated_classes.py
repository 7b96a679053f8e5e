"""Where a model makes no errors: the fit ends soon, at a good penalty, and the model is the proof of separation."""

import signal

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics import log_loss
from source_problems import NAMES, bits, from_files, table_of, write

from sgdone import LinearClassifier, diagnose
from sgdone.newton import exact_phase
from sgdone.newton.exact_phase import ExactFromDisk
from sgdone.newton.penalty_path import share_of_errors
from sgdone.stopping import Gain, MaxPasses
from tiers import fast_first


def with_a_gap(rng, n_rows):
    """One of the columns decides; no row is near the boundary."""
    X = rng.standard_normal((n_rows, 4))
    X[:, 0] += 2.0 * np.sign(X[:, 0])
    return X, X[:, 0] > 0


def touching(rng, n_rows):
    """All columns decide; rows come as close to the boundary as they like."""
    X = rng.standard_normal((n_rows, 4))
    return X, X @ [1.0, -2.0, 0.5, 1.0] > 0


def with_levels(rng, n_rows):
    """Two of the levels of a category are one class."""
    levels = rng.integers(0, 5, n_rows)
    return np.hstack([np.eye(5)[levels], rng.integers(0, 2, (n_rows, 4)).astype(float)]), levels < 2


def of_three_classes(rng, n_rows):
    X, classes = rng.standard_normal((n_rows, 3)), rng.integers(0, 3, n_rows)
    return X + 8.0 * np.eye(3)[classes], classes


KINDS = {made.__name__: made for made in (with_a_gap, touching, with_levels, of_three_classes)}
every_kind = pytest.mark.parametrize("kind", KINDS)


def drawn(kind, n_rows=400, n_fresh=20_000):
    """Rows to fit, and fresh ones."""
    X, y = KINDS[kind](np.random.default_rng(0), n_rows + n_fresh)
    return X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:]


def loss_of(model, X, y):
    return log_loss(y, model.predict_proba(X), labels=model.classes_)


@every_kind
def test_the_fit_takes_few_passes(kind):
    X, y, *_ = drawn(kind)
    assert LinearClassifier(random_state=0).fit(X, y).verdict_.passes <= (50 if kind == "touching" else 30)


@every_kind
def test_fresh_rows_are_predicted_as_well_as_with_hardly_any_penalty(kind):
    X, y, *fresh = drawn(kind)
    chosen, least = (LinearClassifier(alpha=alpha, random_state=0).fit(X, y) for alpha in ("auto", 1e-10))
    # Errors that the rows do not rule out are expected, and cost as much as they are probable.
    expected = share_of_errors(len(y), X.shape[1] / len(y))
    assert loss_of(chosen, *fresh) <= 1.05 * loss_of(least, *fresh) + 0.05 / len(y) + 2.0 * expected


@every_kind
@pytest.mark.parametrize("alpha", fast_first(1, ["auto", 1e-5]))
def test_the_model_is_the_proof_that_the_verdict_names(kind, alpha, monkeypatch):
    def prove(*arguments, **options):
        raise AssertionError("it is proved twice")

    monkeypatch.setattr(diagnose, "fast_check", prove)
    X, y, *_ = drawn(kind)
    verdict = LinearClassifier(alpha=alpha, random_state=0).fit(X, y).verdict_
    assert verdict.status == "converged"
    assert verdict.evidence["separation"] == "complete"
    assert "Complete separation: some direction classifies all 400 rows without error" in verdict.advice
    assert diagnose.separation(X, y == y.max()).kind == "complete"


def test_rows_without_errors_leave_room_for_one_in_the_error_of_their_loss():
    X, y, *_ = drawn("with_a_gap")
    evidence = LinearClassifier(random_state=0).fit(X, y).verdict_.evidence
    assert evidence["loss"] < share_of_errors(400, X.shape[1] / 400)
    assert evidence["standard_error"] == pytest.approx(1.0 / 400, rel=1e-3)


def test_rows_that_overlap_are_not_called_separated():
    X, y, *_ = drawn("touching")
    y = y ^ (np.random.default_rng(1).random(y.size) < 0.05)
    assert "separation" not in LinearClassifier(random_state=0).fit(X, y).verdict_.evidence


@every_kind
def test_sparse_rows_have_the_same_fit(kind):
    X, y, fresh, _ = drawn(kind)
    dense, same = (LinearClassifier(random_state=0).fit(form(X), y) for form in (np.asarray, sparse.csr_matrix))
    assert same.verdict_.evidence["separation"] == "complete"
    # Columns of dense rows are centred: their penalties differ a little.
    assert loss_of(same, fresh, same.predict(fresh)) <= 2.0 * loss_of(dense, fresh, dense.predict(fresh)) + 1e-3


@pytest.fixture
def separated_files(tmp_path):
    X, y, fresh, labels = drawn("touching", 20_000)
    return write(table_of(X, y), tmp_path / "rows.csv"), pd.DataFrame(fresh, columns=NAMES), labels


def test_of_files_newtons_method_takes_over(separated_files):
    paths, X, y = separated_files
    model = LinearClassifier(random_state=0).fit(from_files(paths))
    verdict = model.verdict_
    assert verdict.passes <= 50
    assert verdict.evidence["separation"] == "complete"
    assert "the leave-one-out loss is" in verdict.reason
    in_memory = LinearClassifier(random_state=0).fit(*drawn("touching", 20_000)[:2])
    assert loss_of(model, X, y) <= 1.5 * loss_of(in_memory, X.to_numpy(), y)


def test_a_budget_that_newtons_method_exceeds_is_named(separated_files, monkeypatch):
    monkeypatch.setattr(exact_phase, "_PASSES", 1.0)
    paths, X, y = separated_files
    model = LinearClassifier(random_state=0, stop=Gain() | MaxPasses(6)).fit(from_files(paths))
    assert model.verdict_.status == "budget spent"
    assert model.score(X, y) > 0.9


def test_a_fit_that_newtons_method_took_over_is_resumed_with_the_same_bits(separated_files, tmp_path, monkeypatch):
    paths, *_ = separated_files
    advance, calls = ExactFromDisk.advance, []

    def interrupted(phase, *arguments):
        calls.append(phase)
        if len(calls) == 4:
            signal.raise_signal(signal.SIGINT)
        return advance(phase, *arguments)

    def fitted(**options):
        rows = from_files(paths, cache=tmp_path / "rows")
        return LinearClassifier(random_state=0).fit(rows, checkpoint=tmp_path / "state", **options)

    whole = LinearClassifier(random_state=0).fit(from_files(paths))
    with monkeypatch.context() as patch:
        patch.setattr(ExactFromDisk, "advance", interrupted)
        assert fitted().verdict_.status == "interrupted"
    assert bits(fitted(resume=True)) == bits(whole)
