import os

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# Where CI is set, as Hypothesis' own profile for it has it, the examples are the same in every run.
settings.register_profile(
    "sgdone",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
    derandomize="CI" in os.environ,
)
settings.load_profile("sgdone")


@pytest.fixture
def rng():
    return np.random.default_rng(0)
