"""Fits on a real cluster: two worker processes, and some that are killed."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from tiers import at_night

pytest.importorskip("distributed", reason="Dask is not installed")

import dask
import dask.array as da
from distributed import Client, LocalCluster
from repeated_fits import digest, fitted_here, fitted_on_workers

import sgdone
from cluster_fits import fit_model
from sgdone.cluster import LocalEngine, Partition, PartitionError
from sgdone.dask import LinearClassifier, LinearRegressor, engine

pytestmark = pytest.mark.slow

N_ROWS, CHUNK = 6_000, 250


def block(number, features=6):
    rng = np.random.default_rng(number)
    X = rng.standard_normal((CHUNK, features)) + 3.0
    return X, (X[:, 0] - X[:, 1] + rng.logistic(size=CHUNK) > 0).astype(int)


def slow_block(number, seconds):
    """Rows that take some time to read, so that a worker can die meanwhile."""
    time.sleep(seconds)
    return block(number)


def parts(seconds=0.0):
    make = dask.delayed(slow_block, pure=False)
    return [make(number, seconds) for number in range(N_ROWS // CHUNK)]


@pytest.fixture(scope="module")
def expected():
    model = sgdone.LinearClassifier(random_state=0)
    fit_model(model, LocalEngine(Partition(k, *block(k)) for k in range(N_ROWS // CHUNK)))
    return model


def test_the_model_does_not_depend_on_the_workers(client, expected):
    model = LinearClassifier(random_state=0).fit(parts())
    assert model.coef_.tobytes() == expected.coef_.tobytes()
    assert model.trace_["bytes_received"].tolist() == expected.trace_["bytes_received"].tolist()
    X = da.from_array(np.concatenate([block(k)[0] for k in range(4)]), chunks=(100, -1))
    assert np.array_equal(model.predict_proba(X).compute(), expected.predict_proba(X.compute()))


def test_partitions_and_requests_are_forgotten_after_the_fit(client, monkeypatch):
    monkeypatch.setattr(engine, "_POLL", 1e-3)  # every round takes longer
    LinearRegressor(random_state=0).fit(parts())
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        kept = client.run_on_scheduler(lambda dask_scheduler: [k for k in dask_scheduler.tasks if "sgdone" in str(k)])
        if not kept:
            break
        time.sleep(0.1)
    assert not kept


@pytest.fixture(scope="module")
def bits():
    """The digest of the model of larger partitions."""
    return digest(fitted_here())


@pytest.mark.parametrize("number", [1, 3, 7, *at_night(range(17))])
@pytest.mark.parametrize("kill", [True, *at_night([False])])
def test_a_worker_that_dies_changes_nothing(number, kill, bits):
    """It dies in the middle of a round, at a random moment."""
    model, _, killed = fitted_on_workers(number, kill)
    assert digest(model) == bits
    assert bool(killed) == kill


def always_dies():
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_partition_that_always_kills_its_worker_is_named(own_client):
    # Each failure takes some seconds, until the next worker has started.
    own_client.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 0))
    parts = [own_client.persist(dask.delayed(block)(0)), dask.delayed(always_dies, pure=False)()]
    with pytest.raises(PartitionError, match="partition 1: KilledWorker"):
        LinearClassifier().fit(parts)


def test_a_cluster_without_workers_is_given_up():
    with (
        LocalCluster(n_workers=0, dashboard_address=":0") as cluster,
        Client(cluster),
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        pytest.raises(TimeoutError, match="has had no running workers for 1 seconds: start some"),
    ):
        LinearClassifier().fit(parts())


def test_workers_that_leave_in_the_middle_of_a_fit_are_noticed():
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
        dask.config.set({"distributed.comm.timeouts.connect": "2s"}),
    ):
        client.run(os.getpid)
        leaving = threading.Timer(1.0, cluster.scale, (0,))
        leaving.start()
        with pytest.raises(TimeoutError, match="has had no running workers for 2 seconds"):
            LinearClassifier(random_state=0).fit(parts(0.5))
        leaving.join()
