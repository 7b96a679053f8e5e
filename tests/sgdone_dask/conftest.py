from contextlib import contextmanager

import pytest


@contextmanager
def two_workers():
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="package")
def client():
    """A cluster of two worker processes."""
    with two_workers() as client:
        yield client


@pytest.fixture
def own_client():
    """Another one for a test that kills workers: Dask does not always start them again."""
    with two_workers() as client:
        yield client
