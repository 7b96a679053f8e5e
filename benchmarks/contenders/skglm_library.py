"""skglm: its L-BFGS, the solver it has for smooth penalties."""

import warnings
from typing import Any

from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from contenders.contender import Contender, Data, Fit, MissingError, iterations, linear


def contenders(loss: str) -> list[Contender]:
    """Logistic only: its support vector machine has the hinge."""
    if loss != "logistic":
        return []

    def prepare(data: Data) -> Fit:
        try:
            from skglm.datafits import Logistic
            from skglm.penalties import L2
            from skglm.solvers import LBFGS
        except ImportError as error:
            raise MissingError("skglm is not installed") from error

        def fit(budget: int, seed: int) -> Any:
            # Without an estimator around it, which this solver is not made for.
            X = data.X.tocsc() if sparse.issparse(data.X) else data.X
            solver = LBFGS(max_iter=budget, tol=1e-12, verbose=False)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                weights = solver.solve(X, data.y, Logistic(), L2(data.alpha))[0]
            return linear(weights)

        return fit

    return [Contender("skglm", prepare, iterations(1), iterations(2000), stochastic=False)]
