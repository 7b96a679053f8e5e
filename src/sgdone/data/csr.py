"""CSR matrices made of arrays as they are."""

from typing import Any

from numpy.typing import NDArray
from scipy import sparse


def csr_of(data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: tuple[int, int]) -> sparse.csr_array:
    """A CSR matrix of these very arrays.

    SciPy's constructor copies arrays that are a small part of another one.

    Examples
    --------
    >>> import numpy as np
    >>> data = np.arange(100.0)[:2]
    >>> X = csr_of(data, np.array([1, 0]), np.array([0, 1, 2]), (2, 2))
    >>> X.toarray(), X.data is data
    (array([[0., 0.],
           [1., 0.]]), True)
    """
    made = sparse.csr_array(shape, dtype=data.dtype)
    made.data, made.indices, made.indptr = data, indices, indptr
    return made
