"""A fit that fails leaves the estimator as it was."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

Fit = TypeVar("Fit", bound=Callable[..., Any])


def unchanged_if_it_fails(fit: Fit) -> Fit:
    """Restore the attributes if ``fit`` raises: the model of an earlier fit can still be used.

    Ctrl-C after training leaves the new model. scikit-learn sets ``n_features_in_`` and ``feature_names_in_`` before
    labels and parameters are checked.
    """

    @wraps(fit)
    def restoring(self: Any, *arguments: Any, **options: Any) -> Any:
        before = _fitted(self)
        try:
            return fit(self, *arguments, **options)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and vars(self).get("_results") is not before.get("_results"):
                self.verdict_ = self.trace_.verdict = self.verdict_.interrupted("Ctrl-C was pressed after training")
                return self
            for name in _fitted(self):
                delattr(self, name)
            vars(self).update(before)
            raise

    return restoring  # type: ignore[return-value]  # the same signature


def _fitted(estimator: Any) -> dict[str, Any]:
    """What ``fit`` sets; callbacks of scikit-learn keep other attributes, which are theirs."""
    own = {"_results", "_ruled_by", "_n_outputs"}
    return {name: value for name, value in vars(estimator).items() if name.endswith("_") or name in own}
