import numpy as np
import pytest

import sgdone


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def rows(rng):
    X = rng.standard_normal((60, 4))
    return X, np.where(X @ [1.0, -2.0, 0.5, 0.0] > 0, "yes", "no")


@pytest.fixture
def stored(tmp_path):
    """Save and load again."""

    def there_and_back(model, *, words=True, **options):
        sgdone.save(model, tmp_path / "model.safetensors", words=words)
        return sgdone.load(tmp_path / "model.safetensors", **options)

    return there_and_back
