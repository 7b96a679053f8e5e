"""Memory that is used again."""

import threading

import numpy as np
import pytest

from sgdone.matrices.csr import csr_of
from sgdone.matrices.stacking import ReusedArrays

LARGE = 1 << 18


def address(array):
    return array.ctypes.data


def test_memory_that_somebody_has_is_not_given_out():
    arrays = ReusedArrays()
    first = arrays.empty(LARGE, np.float64)
    view = first[5:10]
    begin, end = address(first), address(first) + first.nbytes
    del first
    other = arrays.empty(LARGE, np.float64)
    assert not begin <= address(other) < end
    del view, other
    assert begin in {address(arrays.empty(LARGE, np.float64))}


def test_a_matrix_keeps_its_memory():
    arrays = ReusedArrays()
    data = arrays.empty(LARGE, np.float64)
    data[:3] = [1.0, 2.0, 3.0]
    X = csr_of(data[:3], np.array([0, 1, 2]), np.array([0, 3]), (1, 3))
    del data
    arrays.empty(LARGE, np.float64)[:] = -1.0
    assert X.toarray().tolist() == [[1.0, 2.0, 3.0]]


@pytest.mark.parametrize(("size", "same"), [(LARGE, True), (LARGE // 2 + LARGE // 8, True), (LARGE // 4, False)])
def test_memory_that_is_far_too_large_is_not_wasted(size, same):
    arrays = ReusedArrays()
    before = address(arrays.empty(4 * LARGE, np.float64))
    assert (address(arrays.empty(4 * size, np.float64)) == before) == same


def test_few_free_arrays_are_kept():
    arrays = ReusedArrays()
    held = [arrays.empty(LARGE, np.uint64) for _ in range(200)]
    del held
    arrays.empty(LARGE, np.uint64)
    assert len(arrays._kept) <= 65


def test_small_arrays_are_new_ones():
    arrays = ReusedArrays()
    assert arrays.empty(10, np.int32).base is None


def test_threads_never_share_an_array():
    arrays, errors = ReusedArrays(), []

    def work(number):
        for _ in range(300):
            own = arrays.empty(LARGE, np.int64)
            own[::4096] = number
            if not np.all(own[::4096] == number):
                errors.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
