"""Fits of the same rows with two workers, some of which are killed: every fit has the same bits.

    python tests/sgdone_dask/repeated_fits.py --fits 20 --kills 10

prints a line per fit, and fails if they differ.
"""

import argparse
import hashlib
import os
import signal
import sys
import threading

import dask
import numpy as np
from distributed import Client, LocalCluster

import sgdone
from cluster_fits import fit_model
from sgdone.cluster import LocalEngine, Partition
from sgdone.dask import LinearClassifier
from sgdone.dask.engine import DaskEngine

#: Partitions of the size that a fit does not copy: their place in memory could change a sum.
N_PARTITIONS, ROWS, FEATURES = 16, 12_500, 30
#: A worker is killed in one of these rounds, all but the last, within this number of seconds after it begins.
ROUNDS, LATEST = 8, 0.05


def block(number):
    rng = np.random.default_rng(number)
    X = rng.standard_normal((ROWS, FEATURES)) + 1.0
    return X, (X[:, 0] - X[:, 1] + rng.logistic(size=ROWS) > 0).astype(int)


def digest(model):
    return hashlib.sha256(model.coef_.tobytes() + model.intercept_.tobytes()).hexdigest()[:16]


def fitted_here():
    """The model of the same partitions in this process."""
    model = sgdone.LinearClassifier(random_state=0)
    fit_model(model, LocalEngine(Partition(k, *block(k)) for k in range(N_PARTITIONS)))
    return model


def fitted_on_workers(number, kill):
    """The model of two new workers, the number of rounds, and the round in which one of the workers was killed."""
    chosen, moment = 1 + number % ROUNDS, np.random.default_rng(number).uniform(0.0, LATEST)
    ask, asked, killed, timers = DaskEngine.ask, [], [], []

    def kill_worker(victim):
        os.kill(victim, signal.SIGKILL)
        killed.append(chosen)

    def ask_and_kill(engine, request, *, in_order=False):
        asked.append(request)
        if kill and len(asked) == chosen:
            timers.append(threading.Timer(moment, kill_worker, [victim]))
            timers[-1].start()
        return ask(engine, request, in_order=in_order)

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        victim = next(iter(client.run(os.getpid).values()))
        DaskEngine.ask = ask_and_kill
        try:
            make = dask.delayed(block, pure=False)
            model = LinearClassifier(random_state=0).fit([make(k) for k in range(N_PARTITIONS)])
        finally:
            DaskEngine.ask = ask
            for timer in timers:
                timer.join()
    return model, len(asked), killed


def digests(fits, kills):
    """The digest of each fit, the last ``kills`` of which lose a worker."""
    for number in range(fits):
        model, rounds, killed = fitted_on_workers(number, kill=number >= fits - kills)
        yield digest(model), rounds, killed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fits", type=int, default=20)
    parser.add_argument("--kills", type=int, default=10)
    options = parser.parse_args()
    print(f"{N_PARTITIONS} partitions of {ROWS:,} x {FEATURES}; in this process: {digest(fitted_here())}")
    found = set()
    for number, (own, rounds, killed) in enumerate(digests(options.fits, options.kills), 1):
        found.add(own)
        lost = f", a worker killed in round {killed[0]}" if killed else ""
        print(f"fit {number:2}: {own}, {rounds} rounds{lost}", flush=True)
    print(f"{options.fits} fits, {options.kills} of them with a kill: {'one hash' if len(found) == 1 else found}")
    return int(len(found) > 1)


if __name__ == "__main__":
    sys.exit(main())
