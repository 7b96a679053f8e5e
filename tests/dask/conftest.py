import pytest

pytest.importorskip("dask", reason="Dask is not installed")
pytest.importorskip("distributed", reason="distributed is not installed")


@pytest.fixture(scope="package")
def client():
    """A cluster of two worker processes."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client
