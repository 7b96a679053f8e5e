"""A few fits that are killed or sent a signal; ``python -m tests.interruptions`` runs many."""

import pytest

from .cases import run_cases, table

pytestmark = pytest.mark.slow


def test_nothing_is_lost(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    outcomes = list(run_cases(tmp_path, kills=4, signals=4))
    assert all(outcome.is_right for outcome in outcomes), f"{table(outcomes)}\n{outcomes}"
