"""Rows that are sorted by label or by a column are detected; rows in random order are not."""

import numpy as np
import pytest

from sgdone.rows import ArraySource
from sgdone.rows.faults import GROUP, GroupMeans, LabelOrder, drift_advice
from sgdone.sums.units import Units


def observed(labels, n_classes=1, window=4096):
    order = LabelOrder()
    labels = np.asarray(labels, dtype=np.float64)
    for first in range(0, len(labels), window):
        order.observe(labels[first : first + window], n_classes)
    return order


def labels_of(task, n_rows, rng):
    """Labels in random order, and their number of outputs."""
    if task == "two classes":
        return np.where(rng.random(n_rows) < 0.3, 1.0, -1.0), 1
    if task == "five classes":
        return rng.integers(0, 5, n_rows).astype(float), 5
    return rng.standard_normal(n_rows), 1


TASKS = ["two classes", "five classes", "targets"]


def adjusted_shares(values, group):
    """η² of each column by its definition, from the variances within groups and about the mean."""
    groups = [values[first : first + group] for first in range(0, len(values), group)]
    within = sum(np.sum((part - part.mean(axis=0)) ** 2, axis=0) for part in groups) / (len(values) - len(groups))
    return np.maximum(0.0, 1.0 - within / values.var(axis=0, ddof=1))


def expected_share(labels, n_classes):
    values = labels[:, None] if n_classes == 1 else np.eye(n_classes)[labels.astype(int)]
    return adjusted_shares(values, GROUP).max()


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("n_rows", [700, 5000, 20000])
def test_sorted_labels_are_detected(task, n_rows, rng):
    labels, n_classes = labels_of(task, n_rows, rng)
    order = observed(np.sort(labels), n_classes)
    assert order.share_between == pytest.approx(expected_share(np.sort(labels), n_classes), rel=1e-10)
    assert "sorted by label" in order.advice
    assert f"{order.share_between:.0%}" in order.advice
    assert "shuffle=True" in order.advice


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("n_rows", [300, 700, 5000, 20000])
def test_labels_in_random_order_are_not(task, n_rows, rng):
    shares = []
    for _ in range(20):
        order = observed(*labels_of(task, n_rows, rng))
        assert order.advice == ""
        shares.append(order.share_between)
    assert np.mean(shares) < 0.02


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("mixed", [0.0, 0.3, 0.8])
def test_the_share_is_the_adjusted_eta_squared(task, mixed, rng):
    labels, n_classes = labels_of(task, 9 * GROUP + 17, rng)
    labels = np.sort(labels)
    some = np.flatnonzero(rng.random(labels.size) < mixed)
    labels[some] = labels[rng.permutation(some)]
    expected = expected_share(labels, n_classes)
    assert observed(labels, n_classes).share_between == pytest.approx(expected, rel=1e-10)
    assert expected > 0.02


@pytest.mark.parametrize("task", TASKS)
def test_windows_of_whole_groups_do_not_matter(task, rng):
    labels, n_classes = labels_of(task, 8192, rng)
    labels[:3000] = np.sort(labels[:3000])
    expected = observed(labels, n_classes, 8192).share_between
    for window in (256, 1024, 4096):
        assert observed(labels, n_classes, window).share_between == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("mean", [0.0, 1e3, -1e9, 1e12])
def test_targets_far_from_0(mean, rng):
    """A mean of many standard deviations is not mistaken for variance."""
    labels = mean + np.round(rng.standard_normal(5000), 3)
    assert observed(labels).advice == ""
    assert observed(labels).share_between < 0.05
    order = observed(np.sort(labels))
    assert order.share_between == pytest.approx(expected_share(np.sort(labels) - mean, 1), rel=1e-3)
    assert order.advice


def test_a_first_target_far_away_does_not_hide_the_order(rng):
    labels = np.sort(rng.standard_normal(20000))
    expected = observed(labels).share_between
    labels[0] = -1e9
    far = observed(labels)
    assert far.share_between < 0.01 < 0.9 < expected
    labels[0] = -10.0
    assert observed(labels).share_between == pytest.approx(expected_share(labels, 1), rel=1e-10)


@pytest.mark.parametrize("n_classes", [1, 3])
def test_labels_that_are_all_the_same_have_no_order(n_classes):
    order = observed(np.ones(2000), n_classes)
    assert (order.share_between, order.advice) == (0.0, "")


def test_too_few_rows_to_tell():
    assert LabelOrder().share_between == 0.0
    assert observed(np.sort(np.random.default_rng(0).standard_normal(GROUP))).share_between == 0.0


def test_streams_of_single_rows_have_no_groups(rng):
    """Each call is a group, and a group of one row has no variance within."""
    assert observed(np.sort(rng.standard_normal(600)), window=1).share_between == 0.0


def test_long_runs_of_one_class_are_sorted():
    """In any order of the classes."""
    labels = np.repeat([2.0, 0.0, 1.0, 0.0, 2.0], 1024)
    assert observed(labels, 3).share_between == pytest.approx(1.0)
    assert observed(np.tile([0.0, 1.0, 2.0], 2000), 3).advice == ""


def test_a_copy_is_independent(rng):
    order = observed(np.sort(rng.standard_normal(2000)))
    copy, before = order.copy(), order.share_between
    copy.observe(rng.standard_normal(2000), 1)
    assert order.share_between == before != copy.share_between


# ---- columns ----


def groups_of(X, window, *, centred=True):
    """Group means that units keep of windows of ordered rows."""
    source = ArraySource(X, np.zeros(len(X)), shuffle=False)
    block = next(source.blocks(np.random.default_rng(0)))
    units = Units(X.shape[1], centred, X.shape[1], ordered=True)
    for first in range(0, len(X), window):
        units.observe(block, block.used(first, first + window))
    return units.groups


@pytest.mark.parametrize(("mean", "centred"), [(0.0, True), (1e6, True), (0.0, False), (100.0, False)])
def test_shares_of_columns_are_the_adjusted_eta_squared(mean, centred, rng):
    """Without centring, sums of squares lose twice as many digits to the mean."""
    X = rng.standard_normal((1000, 4))
    X[:, 1] = np.sort(X[:, 1])
    X[:, 2] += np.linspace(0.0, 3.0, 1000)
    found = groups_of(X + mean, 130, centred=centred).shares()
    np.testing.assert_allclose(found, adjusted_shares(X, 130), rtol=0.0, atol=1e-9)
    assert found[1] > 0.9 > 0.3 > found[0]


def test_the_column_that_rows_are_sorted_by_is_named(rng):
    X = rng.standard_normal((1000, 3))
    assert drift_advice(groups_of(X, 100), None) == ""
    X[:, 1] = np.sort(X[:, 1])
    groups = groups_of(X, 100)
    assert "sorted by column 1 (" in drift_advice(groups, None)
    assert "sorted by date (" in drift_advice(groups, ["age", "date", "size"])
    assert f"{groups.shares()[1]:.0%}" in drift_advice(groups, None)
    assert drift_advice(groups_of(X, 500), None) == ""  # two groups are too few
    assert drift_advice(GroupMeans(), None) == ""


@pytest.mark.parametrize("centred", [True, False])
def test_columns_that_are_constant_have_no_order(centred, rng):
    """Whatever rounding leaves of their variance."""
    values = np.concatenate(
        [[0.0, 1.0, 0.1, 1.0 / 3.0, -1e9], rng.standard_normal(500) * 10.0 ** rng.uniform(-3, 3, 500)]
    )
    assert drift_advice(groups_of(np.tile(values, (1224, 1)), 123, centred=centred), None) == ""


def test_rows_in_a_random_order_are_not_compared(rng):
    X = np.sort(rng.standard_normal((1000, 2)), axis=0)
    source = ArraySource(X, np.zeros(1000), shuffle=False)
    block = next(source.blocks(rng))
    units = Units(2, True, 2)
    for first in range(0, 1000, 100):
        units.observe(block, block.used(first, first + 100))
    assert drift_advice(units.groups, None) == ""
