"""One thread for linear algebra: on small matrices threads that wait for each other cost more than they give."""

from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]  # it has no types


def single_thread() -> AbstractContextManager[Any]:
    """While entered, BLAS runs on one thread."""
    limited: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limited


@lru_cache(maxsize=1)
def _controller() -> Any:
    # Looking for the libraries takes longer than a small fit.
    return ThreadpoolController()
