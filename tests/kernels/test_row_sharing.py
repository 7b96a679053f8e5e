"""Several models sharing one read of each row: the per-row work is a function of row and model."""

import numpy as np

from problems import LOSSES, random_problem
from running import run
from sgdone import solvers, steps, stopping
from sgdone.kernels.jit import compiled
from sgdone.kernels.model import LENGTH, Numbers, load, store
from sgdone.kernels.outcome import count_update
from sgdone.kernels.row_step import make_row_step
from sgdone.kernels.rows import DENSE
from sgdone.kernels.storage import make_averaged
from sgdone.kernels.updates import make_explicit
from tiers import interpreted

PENALTIES = (1e-3, 1e-1, 1.0)


@interpreted
def test_models_side_by_side_equal_each_alone():
    loss = LOSSES[0]
    problem = random_problem(3, loss, n_rows=200, n_features=4)
    problem.weights[:] = 1.0
    kernel = loss.kernel
    predict, update, *_ = make_row_step(DENSE, make_averaged, make_explicit, kernel.value, kernel.slope)

    @compiled()
    def bank(rows, labels, steps, alphas, settings, parameters, weights, offsets, numbers):
        for i in range(labels.size):
            for k in range(settings.shape[0]):
                model = load(numbers[k])
                own = steps, alphas[k : k + 1], 0
                z, reading = predict(rows, i, weights[k], offsets[k], model, own)
                row = i, labels[i], 1.0, z, reading, 0
                arrays = rows, settings[k], parameters, weights[k], offsets[k]
                _, _, _, changed, sums = update(row, arrays, model, own)
                store(count_update(model, changed, sums), numbers[k])

    n_models, d = len(PENALTIES), problem.X.shape[1]
    weights, offsets, numbers = np.zeros((n_models, 2, d)), np.zeros((n_models, 2, 2)), np.zeros((n_models, LENGTH))
    numbers[:, :2] = 1.0
    settings = np.array([[1.0, 1e150, np.inf, 0.0, 1.0, 0.0]] * n_models)
    constant = np.array([0.1])
    bank((problem.X,), problem.y, constant, np.array(PENALTIES), settings, loss.parameters, weights, offsets, numbers)
    own, share = (numbers[:, Numbers._fields.index(name)] for name in ("own", "share"))
    for k, alpha in enumerate(PENALTIES):
        alone = run(
            problem.source(shuffle=False),
            loss,
            solvers.Averaged(solvers.SGD(), 0),
            stopping.MaxPasses(1),
            alpha=alpha,
            step=steps.Constant(0.1),
        )
        assert np.allclose(own[k] * weights[k, 1] + share[k] * weights[k, 0], alone.coef, rtol=1e-12)
