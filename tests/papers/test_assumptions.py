"""Arguments and assumptions of theorems are refused with the numbers that were found."""

import re

import numpy as np
import pytest

from sgdone.papers.assumptions import (
    AssumptionError,
    as_given,
    assume,
    finite,
    matrix,
    non_negative,
    numbers,
    positive,
    spectrum,
    symmetric,
    vector,
    whole,
)

REFUSED = [
    *((positive, value, f"q={value!r} is not a positive finite number") for value in (0.0, -1, np.inf, np.nan)),
    (positive, "1", "q='1' is not a number"),
    (positive, True, "q=True is not a number"),
    (non_negative, -0.5, "q=-0.5 is not a finite number of 0 or more"),
    (finite, -np.inf, "q=-inf is not a finite number"),
    (lambda name, value: whole(name, value, 1), 2.5, "q=2.5 is not a whole number of 1 or more"),
    (lambda name, value: whole(name, value, 1), 0, "q=0 is not a whole number of 1 or more"),
    (vector, 3.0, "q has the shape () where a vector is wanted"),
    (vector, [], "q has the shape (0,) where a vector is wanted"),
    (vector, ["a"], "q=['a'] is not a vector of numbers"),
    (lambda name, value: vector(name, value, 1), [1.0, 0.0], "q has 2 entries where 1 are wanted"),
    (matrix, [[np.inf]], "q holds NaN or infinite entries"),
    (lambda name, value: symmetric(name, value, 1), np.eye(2), "q has the shape (2, 2) where (1, 1) is wanted"),
    (symmetric, [[1.0, 0.5], [0.0, 1.0]], "q is not symmetric: its largest |a_ij − a_ji| is 0.5"),
    (spectrum, [[1.0, 2.0], [2.0, 1.0]], "q is no covariance matrix: its smallest eigenvalue is -1"),
    (numbers, [], "q is empty: give one number at least"),
    (numbers, "much", "q='much' is not a number or an array of them"),
    (numbers, True, "q=True is not a number or an array of them"),
    (lambda name, value: numbers(name, value, 0.0, above=True), [1.0, 0.0], "q=0 is not a positive finite number"),
    (lambda name, value: numbers(name, value, 0.0, 1.0), [0.5, 2.0], "q=2 is not a number from 0 to 1"),
]


@pytest.mark.parametrize(("check", "value", "message"), REFUSED)
def test_an_argument_that_makes_no_sense_is_refused(check, value, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        check("q", value)


def test_arguments_are_returned_as_floats_and_arrays():
    assert (positive("q", 2), non_negative("q", 0), whole("q", 3.0, 1)) == (2.0, 0.0, 3)
    assert as_given(numbers("q", 2)) == 2.0
    np.testing.assert_array_equal(as_given(numbers("q", [1, 2])), [1.0, 2.0])
    eigenvalues, _ = spectrum("q", np.diag([1.0, -1e-12]))
    np.testing.assert_array_equal(eigenvalues, [0.0, 1.0])


def test_an_assumption_that_fails_is_named_with_the_numbers():
    assume(True, "Theorem 1 assumes q < 1", "q=0.5")
    with pytest.raises(AssumptionError, match=re.escape("Theorem 1 assumes q < 1; found q=2")):
        assume(False, "Theorem 1 assumes q < 1", "q=2")
