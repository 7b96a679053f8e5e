"""A disk that is full: no file can grow beyond a few bytes."""

import resource
from contextlib import contextmanager


@contextmanager
def files_of_at_most(size):
    """Writes beyond ``size`` bytes of a file are cut short, and fail after that with an error of the system."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
