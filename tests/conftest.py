import os

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from sgdone.auto import ExactFinish

#: Where CI is set, as Hypothesis' own profile for it has it, the examples are the same in every run.
settings.register_profile(
    "default",
    deadline=None,
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
    monkeypatch.setattr(ExactFinish, "suits", lambda *arguments: False)
