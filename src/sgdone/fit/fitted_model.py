"""A fitted model: its coefficients, predictions, and what is known of its features."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit

from sgdone.fit.columns import FILE_CHECKS, InputChecks, InputColumns, linear_scores, rows_to_predict
from sgdone.fit.options import FitOptions
from sgdone.interfaces.objective import Objective, Predicts
from sgdone.interfaces.stop_rule import Status
from sgdone.machine import interruption
from sgdone.run import Result, Trace, Verdict

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]


def probabilities(scores: NDArray[Any], *, multinomial: bool = False) -> NDArray[Any]:
    """Probabilities with a column for each class.

    With more than two classes, the softmax, or the one-vs-rest probabilities normalised to sum to 1.

    Examples
    --------
    >>> probabilities(np.array([0.0]))
    array([[0.5, 0.5]])
    """
    if scores.ndim == 1:
        return np.column_stack([expit(-scores), expit(scores)])
    return np.asarray(np.exp(log_probabilities(scores, multinomial=multinomial)))


def log_probabilities(scores: NDArray[Any], *, multinomial: bool = False) -> NDArray[Any]:
    """Logarithms of the same, exact where the probabilities themselves underflow."""
    if scores.ndim == 1:
        return np.column_stack([log_expit(-scores), log_expit(scores)])
    logs = scores if multinomial else log_expit(scores)
    return np.asarray(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))


@final
@dataclass
class FittedModel:
    """Model that a fit leaves: an estimator without its scikit-learn interface.

    Attributes whose names end with an underscore are those of the estimators, which describe them.
    """

    #: Options of the last fit.
    options: FitOptions
    #: Columns of X.
    columns: InputColumns
    #: Coefficients, in the units of X, and intercepts.
    coef_: NDArray[Any]
    intercept_: NDArray[Any]
    #: The labels, sorted; None in regression.
    classes_: NDArray[Any] | None = None
    #: Whether probabilities are the softmax of the scores; None in regression.
    multinomial_: bool | None = None
    #: Penalty, passes, why the fit stopped, and measurements.
    alpha_: Any = None
    n_iter_: Any = None
    verdict_: Any = None
    trace_: Any = None
    #: Standard deviations of the features, and the shares of rows that have them; None if they are not known.
    feature_std_: Array | None = None
    feature_share_: Array | None = None
    #: The run of each model, to continue from.
    results: Sequence[Result] | None = field(default=None, repr=False)
    #: Parameter ``stop`` with which the states of the rules were made; None if they are not known.
    last_stop: Any = None

    @classmethod
    def of(
        cls,
        options: FitOptions,
        columns: InputColumns,
        classes: NDArray[Any] | None,
        objective: Objective,
        results: Sequence[Result],
    ) -> "FittedModel":
        """The model of some runs: one, or one for each class."""
        labels = [None] if classes is None or len(results) == 1 else classes.tolist()
        traces = [_with_label(result.trace, label) for result, label in zip(results, labels, strict=True)]
        verdicts = [result.verdict for result in results]
        verdict = verdicts[0] if len(results) == 1 else Verdict.of_classes(dict(zip(labels, verdicts, strict=True)))
        name = interruption.received()
        if name and verdict.status is not Status.INTERRUPTED:
            verdict = verdict.interrupted(f"{name} was received after training")
        coef = np.concatenate([result.model.coef for result in results])
        intercept = np.concatenate([result.model.intercept for result in results])
        return cls(
            options=options,
            columns=columns,
            coef_=coef if classes is not None else coef.reshape(-1),
            intercept_=intercept.reshape(-1),
            classes_=classes,
            multinomial_=None if classes is None else objective.predicts == "softmax",
            alpha_=results[0].objective.known_alpha,
            n_iter_=max(1, *(int(np.ceil(verdict.passes)) for verdict in verdicts)),
            verdict_=verdict,
            trace_=Trace([row for part in traces for row in part], verdict, options.task),
            results=list(results),
            last_stop=options.parameters["stop"],
        )

    @property
    def n_features_in_(self) -> int:
        """Number of columns of X."""
        return self.columns.count

    @property
    def feature_names_in_(self) -> NDArray[Any] | None:
        """Names of the columns of X, if they have any."""
        return self.columns.names

    @property
    def encoder_(self) -> Any:
        """The encoder of tables; None for arrays."""
        return self.columns.encoder

    @property
    def feature_names(self) -> Sequence[str] | None:
        """Names of the features of ``coef_``, if they have any."""
        return self.columns.feature_names

    @property
    def is_classifier(self) -> bool:
        """Whether it predicts classes."""
        return self.classes_ is not None

    @property
    def n_features(self) -> int:
        """Number of features of ``coef_``."""
        return int(self.coef_.shape[-1])

    def objective(self) -> Objective:
        """The objective of the fit without its penalty, with a loss whose parameters were found from the rows."""
        loss = self.results[0].objective.loss if self.results else self.options.loss
        intercept = self.options.fit_intercept
        if self.classes_ is None:
            return Objective(loss, 0.0, fit_intercept=intercept, predicts="target")
        several = self.classes_.size > 2
        predicts: Predicts = "two_classes" if not several else "softmax" if self.multinomial_ else "one_vs_rest"
        n_outputs = self.classes_.size if several else 1
        return Objective(loss, 0.0, fit_intercept=intercept, predicts=predicts, n_outputs=n_outputs)

    def get_feature_names_out(self) -> NDArray[Any]:
        """Names of the features of ``coef_``: columns, or their encoded features; x0, x1, … if they have none."""
        names = self.feature_names
        return np.array([f"x{j}" for j in range(self.n_features)] if names is None else list(names), dtype=object)

    def scores(self, X: Any, checks: InputChecks = FILE_CHECKS) -> NDArray[Any]:
        """Scores of the classes, or predictions of a regression: one for each row, or a column for each class."""
        rows = rows_to_predict(self.columns, checks, X)
        intercept = self.intercept_ if self.is_classifier else self.intercept_[0]
        scores = linear_scores(rows, self.coef_, intercept, self.feature_names)
        return scores.ravel() if self.is_classifier and scores.shape[1] == 1 else scores

    def predict(self, X: Any, checks: InputChecks = FILE_CHECKS) -> NDArray[Any]:
        """The most likely label of each row, or its predicted number."""
        scores = self.scores(X, checks)
        return scores if self.classes_ is None else self.classes_[most_likely(scores)]

    def predict_proba(self, X: Any, checks: InputChecks = FILE_CHECKS) -> NDArray[Any]:
        """Probabilities of the classes."""
        return probabilities(self.scores(X, checks), multinomial=bool(self.multinomial_))

    def predict_log_proba(self, X: Any, checks: InputChecks = FILE_CHECKS) -> NDArray[Any]:
        """Logarithms of the probabilities, exact where the probabilities themselves underflow."""
        return log_probabilities(self.scores(X, checks), multinomial=bool(self.multinomial_))

    def coefficients(self) -> "pd.DataFrame":
        """The coefficients, the intercept first; `LinearClassifier.coefficients` describes them."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("coefficients() needs pandas: pip install 'sgdone[pandas]'") from error
        from sgdone.inference.summary import INTERCEPT

        coef, intercept = np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_)
        unknown = np.full(coef.shape[1], np.nan)
        spread = unknown if self.feature_std_ is None else self.feature_std_
        share = unknown if self.feature_share_ is None else self.feature_share_
        names = [INTERCEPT, *self.get_feature_names_out().tolist()]
        parts = []
        for k, own in enumerate(coef):
            columns: dict[str, Any] = {
                "name": names,
                "value": np.append(intercept[k], own),
                "value_per_std": np.append(np.nan, own * spread),
                "share": np.append(1.0, share),
            }
            if len(coef) > 1 and self.classes_ is not None:
                columns["class"] = [self.classes_[k]] * len(names)
            parts.append(pd.DataFrame(columns))
        return pd.concat(parts, ignore_index=True)

    def with_new_features(self, columns: InputColumns, n_features: int) -> "FittedModel":
        """The model with the features that its encoder has learnt since: their coefficients are 0.

        So are their standard deviations and shares in the rows of the last ``fit``, which had none of them.
        """
        count = n_features - self.n_features
        if count <= 0:
            return replace(self, columns=columns)
        roles = columns.roles(n_features)
        assert roles is not None
        assert self.results is not None
        results = [replace(result, state=result.state.copy()) for result in self.results]
        for result in results:
            result.state.append_features(roles[-count:])
        coef = np.pad(self.coef_, [(0, 0)] * (self.coef_.ndim - 1) + [(0, count)])
        std, share = (
            None if known is None else np.pad(known, (0, count)) for known in (self.feature_std_, self.feature_share_)
        )
        return replace(self, columns=columns, coef_=coef, results=results, feature_std_=std, feature_share_=share)

    def for_prediction(self) -> "FittedModel":
        """The model without what predictions do not need."""
        return replace(self, results=None, trace_=None, verdict_=None)


def most_likely(scores: NDArray[Any]) -> NDArray[np.intp]:
    """The number of the most likely class of each row."""
    return (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)


def _with_label(trace: Trace, label: Any) -> Trace:
    """The trace with its class in each row."""
    return trace if label is None else Trace([replace(row, label=label) for row in trace], trace.verdict, trace.task)
