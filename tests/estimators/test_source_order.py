"""Files that are sorted are no worse than shuffled ones once a second pass is made; in one pass the verdict says so."""

import numpy as np
import pytest
from source_problems import fitted, from_batches, from_files, numbers, table_of, test_loss, write

from sgdone.stopping import Gain, MaxPasses
from tiers import fast_first, slow

pytestmark = pytest.mark.usefixtures("own_cache_folder")


def by_label(X, y):
    return np.argsort(y, kind="stable")


def by_column(X, y):
    return np.argsort(X[:, 0], kind="stable")


def first_quarter_of_one_class(X, y):
    ones, zeros = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    first = ones[: len(y) // 4]
    return np.r_[first, np.random.default_rng(0).permutation(np.r_[ones[first.size :], zeros])]


def the_rarer_class_last(X, y):
    """Nine tenths of the rows, then the others."""
    ones, zeros = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    return np.r_[ones, zeros[: len(ones) // 9]]


ORDERS = (by_label, by_column, first_quarter_of_one_class, the_rarer_class_last)


@slow
@pytest.mark.parametrize("order", fast_first(1, ORDERS))
def test_a_sorted_file_is_as_good_as_a_shuffled_one(order, tmp_path):
    X, y = numbers(40_000)
    rows = order(X, y)
    shuffled = np.random.default_rng(1).permutation(rows)
    models = []
    for number, found in enumerate((rows, shuffled)):
        paths = write(table_of(X[found], y[found]), tmp_path / f"{number}.parquet")
        models.append(fitted(from_files(paths), stop=Gain() | MaxPasses(20)))
    new, labels = numbers(40_000, seed=9)
    kept = order(new, labels)
    losses = [test_loss(model, new[kept], labels[kept]) for model in models]
    assert losses[0] < losses[1] + 2e-3
    if order is not by_column:
        assert models[0].verdict_.passes >= 2


@slow
@pytest.mark.parametrize("order", [by_label, by_column, the_rarer_class_last])
def test_a_sorted_file_is_nearly_as_good_without_an_exact_finish(order, tmp_path, without_finish):
    """As with many columns: buffers of pieces from all over the file make up for its order."""
    X, y = numbers(160_000)
    rows, losses = order(X, y), []
    new, labels = numbers(40_000, seed=9)
    kept = order(new, labels)
    for number, found in enumerate((rows, np.random.default_rng(1).permutation(rows))):
        model = fitted(
            from_files(write(table_of(X[found], y[found]), tmp_path / f"{number}.parquet")), stop=Gain() | MaxPasses(20)
        )
        losses.append(test_loss(model, new[kept], labels[kept]))
    assert losses[0] < losses[1] + 4e-3


@slow
def test_several_classes_sorted_by_class(tmp_path, rng):
    X, _ = numbers(40_000)
    y = np.array(["p", "q", "r", "s"])[np.digitize(X[:, 0] + rng.logistic(size=len(X)), [-1, 0.5, 2])]
    losses = []
    for number, found in enumerate((np.argsort(y, kind="stable"), np.arange(len(y)))):
        paths = write(table_of(X[found], y[found]), tmp_path / f"{number}.parquet")
        model = fitted(from_files(paths), stop=Gain() | MaxPasses(20))
        assert model.classes_.tolist() == ["p", "q", "r", "s"]
        losses.append(test_loss(model, X, y))
    assert losses[0] < losses[1] + 4e-3


@slow
@pytest.mark.parametrize("last", [1, 500])
def test_a_class_that_first_appears_late_is_found(tmp_path, last):
    """The classes of the first rows are taken for all of them; the rows are then read once more."""
    X, y = numbers()
    labels = np.array(["no", "yes"])[y].astype(object)
    labels[-last:] = "perhaps"
    paths = write(table_of(X, labels.astype(str)), tmp_path / "rows.parquet", (5000,))
    model = fitted(from_files(paths))
    assert model.classes_.tolist() == ["no", "perhaps", "yes"]
    with pytest.raises(
        ValueError, match=r"row 1\d,\d{3} has the label 'perhaps'.*read once must show all classes at first"
    ):
        fitted(from_batches((X[k : k + 500], labels[k : k + 500].astype(str)) for k in range(0, len(y), 500)))


def test_in_one_pass_the_verdict_says_that_the_order_matters(tmp_path):
    X, y = numbers()
    rows = by_label(X, y)
    paths = write(table_of(X[rows], y[rows]), tmp_path / "rows.parquet")
    sorted_rows = fitted(from_files(paths), stop=MaxPasses(1))
    assert "The rows are sorted by label" in sorted_rows.verdict_.advice
    rows = by_column(X, y)
    paths = write(table_of(X[rows], y[rows]), tmp_path / "rows.parquet")
    assert "The rows are sorted by a" in fitted(from_files(paths), stop=MaxPasses(1)).verdict_.advice
    shuffled = fitted(from_files(write(table_of(X, y), tmp_path / "rows.parquet")), stop=MaxPasses(1))
    assert "sorted" not in shuffled.verdict_.advice


def test_one_class_is_an_error(tmp_path):
    X, y = numbers()
    paths = write(table_of(X, np.ones_like(y)), tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match=r"the rows have one class only \(1\): a classifier needs two or more"):
        fitted(from_files(paths))
    with pytest.raises(ValueError, match="the first rows have one class only, and the rows can be read once"):
        fitted(from_batches((X[k : k + 500], np.ones(500)) for k in range(0, len(y), 500)))
