"""Small banks for tests, and their slow twins."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

import reference_bank as slow
from sgdone.auto.bank import Bank
from sgdone.auto.candidates import Candidate
from sgdone.auto.task import Task
from sgdone.data import ArraySource, Scaling
from sgdone.kernels.bank import CLOCK, GAIN, NO_FOLD, PENALTY, TOLD
from sgdone.losses import Hinge, Huber, Logistic, Squared, SquaredHinge

TASKS = {
    "logistic": Task.of(Logistic(), 2, True),
    "hinge": Task.of(Hinge(), 2, True),
    "squared hinge without intercept": Task.of(SquaredHinge(), 2, False),
    "squared": Task.of(Squared(), None, True),
    "huber": Task.of(Huber(0.7), None, True),
    "softmax of 3": Task.of(Logistic(), 3, True),
    "softmax of 5 without intercept": Task.of(Logistic(), 5, False),
    "one-vs-rest of 3": Task.of(Hinge(), 3, True),
}
FEW_TASKS = {name: TASKS[name] for name in ("logistic", "softmax of 3")}

#: The second one's penalty shrinks the weights a hundredfold within a few rows.
CANDIDATES = (Candidate(1.0, 1e-3), Candidate(4.0, 3.0), Candidate(0.25, 0.1))


@dataclass
class Case:
    """Rows in units to learn in, some of weight 0, some in folds."""

    task: Task
    X: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    folds: np.ndarray
    scaling: Scaling
    dense: bool

    @property
    def block(self):
        X = self.X if self.dense else sparse.csr_array(self.X)
        source = ArraySource(X, self.labels, self.weights, shuffle=False, scaling=self.scaling)
        return next(source.blocks(np.random.default_rng(0)))

    def bank(self, candidates=CANDIDATES, start=None):
        coef, intercept = start or self.at_zero
        bank = Bank.at(self.task, candidates, self.X.dtype, coef, intercept)
        return with_steps(bank)

    @property
    def at_zero(self):
        return np.zeros((self.task.n_outputs, self.X.shape[1])), np.zeros(self.task.n_outputs)

    @property
    def rows_learnt_in(self):
        """The rows in their units, dense."""
        return (self.X - (0.0 if self.scaling.shift is None else self.scaling.shift)) / self.scaling.scale

    def outputs(self, alpha):
        task = self.task
        if task.kind == "softmax":
            return slow.coupled(alpha, task.fit_intercept)
        make = slow.one_vs_rest if task.kind == "one_vs_rest" else slow.one_output
        return make(task.loss, alpha, task.fit_intercept)

    def course(self, bank, model, start=None):
        """What the slow twin of a model comes to: averaged weights and intercepts in the user's units, and losses."""
        gain, clock, penalty = bank.plans[model, [GAIN, CLOCK, PENALTY]]
        learns = self.folds != bank.folds[model]
        coef, intercept, losses = slow.averaged_implicit(
            self.rows_learnt_in,
            self.labels,
            self.weights,
            learns,
            self.outputs(penalty),
            gain,
            clock,
            start or self.at_zero,
        )
        coef = coef / self.scaling.scale
        return coef, intercept - (0.0 if self.scaling.shift is None else coef @ self.scaling.shift), losses


def with_steps(bank):
    """Step sizes for rows of a squared length of 4, penalties as the candidates say."""
    bank.set_steps(0.5, 4.0, 1.0, [candidate.penalty for candidate in bank.candidates])
    return bank


def forked(bank, n_folds=2):
    """With a model for each fold, all of which tell their losses."""
    bank.fork(n_folds)
    bank.plans[:, TOLD] = 1.0
    return bank


def random_case(seed, task, dense=True, n_rows=30, n_features=6):
    """Continuous values, so that no margin ties a kink; some rows empty."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features)) * (rng.random((n_rows, n_features)) < 0.6)
    X[n_rows // 3] = 0.0
    count = task.n_outputs
    scores = X @ rng.standard_normal((n_features, count)) + 0.5 * rng.standard_normal((n_rows, count))
    if count > 1:
        labels = np.argmax(scores, axis=1).astype(np.float64)
    else:
        labels = scores[:, 0] if task.is_regression else np.where(scores[:, 0] > 0, 1.0, -1.0)
    weights = rng.uniform(0.5, 1.5, n_rows) * (rng.random(n_rows) < 0.8)
    weights[0] = 1.0
    folds = rng.choice(np.array([0, 1, NO_FOLD], dtype=np.uint8), n_rows)
    shift = rng.standard_normal(n_features) if dense else None
    return Case(task, X, labels, weights, folds, Scaling(rng.uniform(0.5, 2.0, n_features), shift), dense)


def advance(bank, case, first=0, last=None, *, learn=True):
    return bank.advance(case.block, case.folds, first, len(case.labels) if last is None else last, learn=learn)


def predictions(bank, case):
    """Of every model's average, for every row (models × outputs × rows)."""
    found = [bank.solution(model, case.scaling) for model in range(bank.n_models)]
    return np.array([coef @ case.X.T + intercept[:, None] for coef, intercept in found])
