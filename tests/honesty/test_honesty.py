"""No fit is called converged that is clearly worse than the exact optimum with its own penalty, or than a constant."""

import numpy as np
import pytest

from .comparison import compare
from .coverage import error_in_errors
from .problems import KINDS, problem_of

#: Problems of each kind; of those with many columns or rows, some that take a second each.
NUMBERS = dict.fromkeys(KINDS, range(9)) | {"fewer rows than columns": (6,), "10⁴ to 10⁵ columns": (5, 7)}
NUMBERS |= {"table with many levels": (3, 4, 5), "sorted file": (1, 2, 5, 6, 7)}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_converged_means_converged(kind):
    found = {number: compare(problem_of(kind, number)) for number in NUMBERS[kind]}
    assert not {number: result for number, result in found.items() if result.is_dishonest}


@pytest.mark.slow
def test_the_error_of_the_loss_is_its_error():
    """The loss of the verdict against that of 20,000 fresh rows."""
    errors = [error_in_errors(number, 20_000)[1] for number in range(140)]
    assert 0.9 <= np.mean(np.abs(errors) < 1.96) <= 0.99
