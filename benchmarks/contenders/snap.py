"""Snap ML, on the processor."""

from typing import Any

from contenders.contender import Contender, Data, Fit, MissingError, iterations, linear


def contenders(loss: str) -> list[Contender]:
    """Its logistic regression or its support vector machine, in the dual if there are more rows than features."""

    def prepare(data: Data) -> Fit:
        try:
            import snapml
        except ImportError as error:
            raise MissingError("snapml is not installed") from error

        def fit(budget: int, seed: int) -> Any:
            # Its penalty is against the sum of the losses; its squared hinge has no ½.
            common: dict[str, Any] = {
                "max_iter": budget,
                "tol": 1e-12,
                "n_jobs": 1,
                "random_state": seed,
                "fit_intercept": False,
            }
            weight = data.alpha * data.n_rows
            if loss == "logistic":
                model = snapml.LogisticRegression(regularizer=weight, dual=data.n_rows > data.X.shape[1], **common)
            else:
                model = snapml.SupportVectorMachine(loss="squared_hinge", regularizer=2.0 * weight, **common)
            model.fit(data.X, data.y)
            return linear(model.coef_.reshape(-1))

        return fit

    return [Contender("snapml", prepare, iterations(1), iterations(2000))]
