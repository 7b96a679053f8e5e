"""Small sets of models for tests, and their slow references."""

from dataclasses import dataclass

import numpy as np

import reference_bank as slow
from running import objective_of
from sgdone.bank.evaluation import Candidate
from sgdone.bank.models import Models
from sgdone.interfaces.objective import Objective
from sgdone.kernels.bank import ALPHA, DECAY_ROWS, NO_FOLD, RECORDS_LOSSES, STEP_SCALE
from sgdone.losses import Hinge, Huber, Logistic, Squared, SquaredHinge
from sgdone.matrices.mixed_matrix import with_dense_columns
from sgdone.rows import ArraySource, Scaling

OBJECTIVES = {
    "logistic": objective_of(Logistic(), 2),
    "hinge": objective_of(Hinge(), 2),
    "squared hinge without intercept": objective_of(SquaredHinge(), 2, fit_intercept=False),
    "squared": objective_of(Squared(), None),
    "huber": objective_of(Huber(0.7), None),
    "softmax of 3": objective_of(Logistic(), 3),
    "softmax of 5 without intercept": objective_of(Logistic(), 5, fit_intercept=False),
    "one-vs-rest of 3": objective_of(Hinge(), 3),
}
FEW_OBJECTIVES = {name: OBJECTIVES[name] for name in ("logistic", "softmax of 3")}

#: The second one's penalty shrinks the weights a hundredfold within a few rows.
CANDIDATES = (Candidate(1.0, 1e-3), Candidate(4.0, 3.0), Candidate(0.25, 0.1))


@dataclass
class Case:
    """Rows in scaled units, some of weight 0, some in folds."""

    objective: Objective
    X: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    folds: np.ndarray
    scaling: Scaling
    n_dense: int

    @property
    def block(self):
        X = with_dense_columns(self.X, self.n_dense)
        source = ArraySource(X, self.labels, self.weights, shuffle=False, scaling=self.scaling)
        return next(source.blocks(np.random.default_rng(0)))

    def models(self, candidates=CANDIDATES, start=None):
        coef, intercept = start or self.at_zero
        models = Models.at(self.objective, candidates, self.X.dtype, coef, intercept)
        return with_steps(models)

    @property
    def at_zero(self):
        return np.zeros((self.objective.n_outputs, self.X.shape[1])), np.zeros(self.objective.n_outputs)

    @property
    def scaled_rows(self):
        """The rows in scaled units, dense."""
        return (self.X - (0.0 if self.scaling.shift is None else self.scaling.shift)) / self.scaling.scale

    def outputs(self, alpha):
        objective = self.objective
        if objective.predicts == "softmax":
            return slow.coupled(alpha, objective.fit_intercept)
        make = slow.one_vs_rest if objective.predicts == "one_vs_rest" else slow.one_output
        return make(objective.loss, alpha, objective.fit_intercept)

    def reference(self, models, model, start=None):
        """The slow reference of a model: averaged weights and intercepts in the user's units, and losses."""
        gain, decay_rows, penalty = models.plans[model, [STEP_SCALE, DECAY_ROWS, ALPHA]]
        learns = self.folds != models.folds[model]
        coef, intercept, losses = slow.averaged_implicit(
            self.scaled_rows,
            self.labels,
            self.weights,
            learns,
            self.outputs(penalty),
            gain,
            decay_rows,
            start or self.at_zero,
        )
        coef = coef / self.scaling.scale
        return coef, intercept - (0.0 if self.scaling.shift is None else coef @ self.scaling.shift), losses


def with_steps(models):
    """Set step sizes for rows of squared norm 4, and the penalties of the candidates."""
    models.set_steps(0.5, 4.0, 1.0, [candidate.penalty for candidate in models.candidates])
    return models


def forked(models, n_folds=2):
    """Add a model for each fold; the losses of all of them are recorded."""
    models.fork(n_folds)
    models.plans[:, RECORDS_LOSSES] = 1.0
    return models


def random_case(seed, objective, dense=True, n_rows=30, n_features=6, n_dense=None):
    """Continuous values, so that no margin ties a kink; some rows empty. ``n_dense`` columns are dense, if given."""
    n_dense = n_features * dense if n_dense is None else n_dense
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features)) * (rng.random((n_rows, n_features)) < 0.6)
    X[n_rows // 3] = 0.0
    count = objective.n_outputs
    scores = X @ rng.standard_normal((n_features, count)) + 0.5 * rng.standard_normal((n_rows, count))
    if count > 1:
        labels = np.argmax(scores, axis=1).astype(np.float64)
    else:
        labels = scores[:, 0] if objective.is_regression else np.where(scores[:, 0] > 0, 1.0, -1.0)
    weights = rng.uniform(0.5, 1.5, n_rows) * (rng.random(n_rows) < 0.8)
    weights[0] = 1.0
    folds = rng.choice(np.array([0, 1, NO_FOLD], dtype=np.uint8), n_rows)
    shift = rng.standard_normal(n_features) * (np.arange(n_features) < n_dense) if n_dense else None
    return Case(objective, X, labels, weights, folds, Scaling(rng.uniform(0.5, 2.0, n_features), shift), n_dense)


def advance(models, case, first=0, last=None, *, learn=True):
    return models.advance(case.block, case.folds, first, len(case.labels) if last is None else last, learn=learn)


def predictions(models, case):
    """Predictions of every model's average for every row (models × outputs × rows)."""
    found = [models.solution(model, case.scaling) for model in range(models.n_models)]
    return np.array([coef @ case.X.T + intercept[:, None] for coef, intercept in found])
