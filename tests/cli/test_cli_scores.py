import math

import numpy as np
import pytest
from scipy.stats import rankdata
from sklearn.metrics import roc_auc_score

from sgdone.cli.scores import area_under_roc, average_ranks


@pytest.mark.parametrize("decimals", [0, 1, 10])
def test_as_scikit_learn_and_scipy(rng, decimals):
    """With many equal scores, some and none; with weights, some of them 0, and without."""
    scores, positive = rng.standard_normal(500).round(decimals), rng.random(500) < 0.3
    weights = rng.integers(0, 3, 500).astype(float)
    np.testing.assert_array_equal(average_ranks(scores), rankdata(scores))
    assert area_under_roc(positive, scores) == pytest.approx(roc_auc_score(positive, scores), abs=1e-12)
    expected = roc_auc_score(positive, scores, sample_weight=weights)
    assert area_under_roc(positive, scores, weights) == pytest.approx(expected, abs=1e-12)


def test_of_one_class_there_is_no_area():
    assert math.isnan(area_under_roc(np.array([True, True]), np.array([1.0, 2.0])))
    assert math.isnan(area_under_roc(np.array([True, False]), np.array([1.0, 2.0]), np.array([1.0, 0.0])))
