import numpy as np
import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("sgdone", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.load_profile("sgdone")


@pytest.fixture
def rng():
    return np.random.default_rng(0)
