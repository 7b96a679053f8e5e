import pkgutil
from importlib import import_module

import numpy as np
import pytest

import sgdone.losses
from sgdone.losses import EpsilonInsensitive, Huber, Loss, Quantile


def every_loss():
    for module in pkgutil.iter_modules(sgdone.losses.__path__):
        import_module(f"sgdone.losses.{module.name}")
    defaults = [leaf() for leaf in Loss.__subclasses__() if hasattr(leaf, "name")]
    return [*defaults, Huber(delta=0.3), EpsilonInsensitive(epsilon=0.0), Quantile(level=0.9)]


@pytest.fixture(scope="session", params=every_loss(), ids=repr)
def loss(request):
    return request.param


@pytest.fixture(scope="session")
def labels(loss):
    """Labels that the loss accepts."""
    return np.array([-2.6, -1.0, 0.0, 0.7, 1.0] if loss.task == "regression" else [-1.0, 1.0])
