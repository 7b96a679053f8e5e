"""sgdone's methods."""

from typing import Any

from contenders.contender import Contender, Data, Fit, linear, passes, rows_from
from sgdone import SGDClassifier
from sgdone.solvers import ISGD, SGD, Averaged
from sgdone.steps import Root
from sgdone.stopping import MaxSamples

#: Averages that forget their start.
_EXPLICIT, _IMPLICIT = (Averaged(inner, after=0, decay=3) for inner in (SGD(), ISGD()))
#: Averaged SGD as Xu has it, and what else may be best: solver and step.
METHODS: dict[str, tuple[Any, Any]] = {
    "asgd": ("asgd", "auto"),
    "aisgd": ("aisgd", "auto"),
    "asgd, decay": (_EXPLICIT, "auto"),
    "asgd, decay, bottou": (_EXPLICIT, "bottou"),
    "aisgd, decay, root 1": (_IMPLICIT, Root(1)),
    "aisgd, decay, root 4": (_IMPLICIT, Root(4)),
    "sgd2": ("sgd2", "auto"),
    "sgdqn": ("sgdqn", "auto"),
    "svrg": ("svrg", "auto"),
}


def contenders(loss: str) -> list[Contender]:
    """Each of `METHODS`."""

    def prepare_with(solver: Any, step: Any) -> Any:
        def prepare(data: Data) -> Fit:
            def fit(budget: int, seed: int) -> Any:
                model = SGDClassifier(
                    loss,
                    solver=solver,
                    step=step,
                    alpha=data.alpha,
                    fit_intercept=False,
                    stop=MaxSamples(budget),
                    random_state=seed,
                ).fit(data.X, data.y)
                return linear(model.coef_[0])

            return fit

        return prepare

    return [
        Contender(name, prepare_with(*method), rows_from(64), passes(50), "rows", own=True)
        for name, method in METHODS.items()
    ]
