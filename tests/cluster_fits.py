"""Fits over partitions, as tests want them."""

from sgdone import cluster
from sgdone.cluster import PartitionedRows
from sgdone.estimators import fitted_model
from sgdone.fit.fit import fit
from sgdone.fit.options import FitOptions


class Fit:
    """A fit of partitions: the fitted model, its only run and the rounds."""

    def __init__(self, rows, fitted):
        self.fitted, self.rounds = fitted, rows.rounds
        self.bytes_sent = sum(record.bytes_sent for record in rows.rounds)
        self.bytes_received = sum(record.bytes_received for record in rows.rounds)
        (self.result,) = fitted.results
        self.model, self.objective = self.result.model, self.result.objective
        self.trace, self.verdict, self.classes = fitted.trace_, fitted.verdict_, fitted.classes_
        self.encoder = fitted.encoder_
        self.names = None if fitted.feature_names_in_ is None else fitted.feature_names_in_.tolist()


def fit_partitions(engine, *, task="classification", hooks=(), checkpoints=None, random_state=0, **parameters):
    """Fit a model without knobs to the partitions of an engine."""
    name = "LinearClassifier" if task == "classification" else "LinearRegressor"
    rows = PartitionedRows(engine, checkpoints)
    (hook,) = hooks or [None]
    options = FitOptions.of(name, random_state=random_state, **parameters)
    return Fit(rows, fit(rows, options, hook=hook and (lambda _: hook)))


def fit_model(model, engine, *, checkpoints=None, hooks=(), began=None):
    """Fit an estimator to the partitions of an engine."""
    (hook,) = hooks or [None]
    rows = PartitionedRows(engine, checkpoints, began)
    model._adopt(fit(rows, model._options(), hook=hook and (lambda _: hook)))


def summarise_partitions(rounds, model, **options):
    """The summary of an estimator whose rows are in partitions."""
    return cluster.summarise_partitions(rounds, fitted_model(model), **options)
