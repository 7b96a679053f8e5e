import numpy as np
import pytest

import sgdone
from sgdone import CustomLoss, LinearRegressor
from sgdone.model_file import ModelFileError


def value(z, y):
    return 0.5 * (z - y) ** 2


def slope(z, y):
    return z - y


def loss(name="half_square", task="regression"):
    return CustomLoss(value, slope, name=name, task=task, smoothness=1.0)


@pytest.fixture
def path(rng, tmp_path):
    X = rng.standard_normal((50, 2))
    sgdone.save(LinearRegressor(loss(), random_state=0).fit(X, X[:, 0]), tmp_path / "m")
    return tmp_path / "m"


@pytest.mark.slow
def test_it_is_brought_along(path, rng):
    X = rng.standard_normal((30, 2))
    model = LinearRegressor(loss(), random_state=0)
    first = np.random.default_rng(7).standard_normal((50, 2))
    model.fit(first, first[:, 0])
    loaded = sgdone.load(path, loss=loss())
    assert loaded.predict(X).tobytes() == model.predict(X).tobytes()
    assert loaded.partial_fit(X, X[:, 0]).coef_.tobytes() == model.partial_fit(X, X[:, 0]).coef_.tobytes()


def test_it_is_asked_for(path):
    with pytest.raises(
        ModelFileError,
        match=r"m: was trained with a loss of your own, 'half_square' \(for regression\).*load\(path, loss=...\)",
    ):
        sgdone.load(path)
    with pytest.raises(ModelFileError, match=r"loss= is 'other' \(for regression\): give the same one"):
        sgdone.load(path, loss=loss("other"))
    with pytest.raises(ModelFileError, match=r"loss='half_square' is not a sgdone\.CustomLoss"):
        sgdone.load(path, loss="half_square")


def test_it_is_not_taken_where_there_is_none(rng, tmp_path):
    X = rng.standard_normal((50, 2))
    sgdone.save(LinearRegressor().fit(X, X[:, 0]), tmp_path / "m")
    with pytest.raises(ModelFileError, match="was not trained with a loss of your own: leave loss= out"):
        sgdone.load(tmp_path / "m", loss=loss())
