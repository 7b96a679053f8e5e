import numpy as np
import pytest

from sgdone import LinearClassifier


@pytest.fixture
def binary():
    """300 rows of two classes, not quite separable."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 5))
    return X, (X @ [2.0, -1.0, 0.5, 0.0, 1.0] + 0.5 * rng.standard_normal(300) > 0.3).astype(int)


@pytest.fixture
def several():
    """400 rows of four classes."""
    rng = np.random.default_rng(2)
    y = rng.integers(0, 4, 400)
    return 3.0 * np.eye(4, 6)[y] + rng.standard_normal((400, 6)), y


@pytest.fixture
def numbers():
    """300 rows with a number each."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((300, 5))
    return X, X @ [2.0, -1.0, 0.5, 0.0, 1.0] + 3.0 + 0.1 * rng.standard_normal(300)


@pytest.fixture
def model():
    return LinearClassifier(random_state=0)


@pytest.fixture
def same_model():
    """Assert that two models hold the same bits."""

    def check(first, second):
        assert first.coef_.dtype == second.coef_.dtype
        assert first.coef_.tobytes() == second.coef_.tobytes()
        assert first.intercept_.tobytes() == second.intercept_.tobytes()

    return check
