"""Random integer problems against exact linear programs, one per row."""

from collections import Counter

import numpy as np
import pytest
from random_problems import random_problem
from scipy import sparse

from sgdone.diagnose import separation
from sgdone.papers.logistic import reference as slow
from tiers import fast_first

SEEDS = range(500)


def _kind(separable):
    return "none" if not any(separable) else "complete" if all(separable) else "quasi-complete"


@pytest.mark.parametrize(
    "seeds",
    fast_first(1, np.array_split(SEEDS, 10)),
    ids=[f"{part[0]}-{part[-1]}" for part in np.array_split(SEEDS, 10)],
)
def test_kind_rows_and_signs_agree_with_brute_force(seeds):
    for seed in seeds:
        X, y, fit_intercept = random_problem(seed)
        shape = separation(X, y, fit_intercept=fit_intercept)
        labels = np.where(y == shape.certificate.positive, 1, -1)
        A = -labels[:, None] * np.column_stack([X, np.ones((y.size, int(fit_intercept)), dtype=int)])
        exact = A.tolist()
        rows = slow.separable_rows(exact)
        assert shape.kind == _kind(rows), seed
        assert shape.separable_rows.tolist() == rows, seed
        found = [*shape.infinite.tolist(), *([shape.infinite_intercept] if fit_intercept else [])]
        assert found == slow.infinite(exact, rows), seed
        checked = shape.certificate.check(X, y)
        assert checked.holds, (seed, str(checked))
        assert checked.exact, seed


@pytest.mark.slow
def test_the_problems_are_of_all_kinds_and_ranks():
    kinds, deficient, zero = Counter(), 0, 0
    for seed in SEEDS:
        X, y, fit_intercept = random_problem(seed)
        kinds[separation(X, y, fit_intercept=fit_intercept).kind] += 1
        deficient += np.linalg.matrix_rank(X) < min(X.shape)
        zero += bool((X == 0).all(axis=0).any())
    assert set(kinds) == {"none", "quasi-complete", "complete"}
    assert min(kinds.values()) >= 60
    assert deficient >= 50
    assert zero >= 50


@pytest.mark.parametrize("seed", fast_first(5, range(0, 500, 20)))
def test_sparse_rows_give_the_same_answer(seed):
    X, y, fit_intercept = random_problem(seed)
    dense = separation(X, y, fit_intercept=fit_intercept)
    thin = separation(sparse.csr_array(X), y, fit_intercept=fit_intercept)
    assert dense.kind == thin.kind
    np.testing.assert_array_equal(dense.separable_rows, thin.separable_rows)
    np.testing.assert_array_equal(dense.infinite, thin.infinite)
    assert thin.margin == pytest.approx(dense.margin, rel=1e-9)
    np.testing.assert_allclose(thin.finite_part.coef, dense.finite_part.coef, atol=1e-9)
    assert thin.certificate.check(sparse.csr_array(X), y)
