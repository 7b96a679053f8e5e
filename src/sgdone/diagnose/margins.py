"""The margins of a fitted classifier."""

import math
from dataclasses import asdict, dataclass, fields
from numbers import Real
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgdone import losses
from sgdone.diagnose.catoni import optimal_scale, weighted_location
from sgdone.diagnose.margin_validation import check_number, margins_of
from sgdone.diagnose.separability.validation import check_weights
from sgdone.interfaces.margin_statistics import MarginStatistics
from sgdone.interfaces.registry import names
from sgdone.losses.loss import Loss

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class Margins:
    """The distribution of the margins of a model, returned by `margins`. ``print`` it, or `plot` it.

    Attributes
    ----------
    values : ndarray of shape (n_rows,)
        The margins: positive for correctly classified rows.
    weights : ndarray or None
        Sample weights, if given.
    n_classes : int
        Number of classes.
    gamma : float
        γ, the reference level of ``below``.
    location, scale : float
        Catoni's location (`catoni_location`) and its scale s.
    mean, median, standard_deviation, lower_quartile, upper_quartile, skew : float
        Statistics of the margins. The standard deviation divides by n. The skewness of equal margins is 0.
    wrong : float
        Fraction of margins that are 0 or less.
    below : float
        Fraction of margins less than γ.
    """

    values: Array
    weights: Array | None
    n_classes: int
    gamma: float
    scale: float
    location: float
    mean: float
    median: float
    standard_deviation: float
    lower_quartile: float
    upper_quartile: float
    skew: float
    wrong: float
    below: float

    @property
    def statistics(self) -> MarginStatistics:
        """The statistics that a trace also records."""
        return MarginStatistics(**{field.name: getattr(self, field.name) for field in fields(MarginStatistics)})

    def __str__(self) -> str:
        what = "label times score" if self.n_classes == 2 else "score of the true class minus the best other score"
        return "\n".join(
            (
                f"Margins of {self._rows} ({what}):",
                f"{self.wrong:.2%} are misclassified (margin ≤ 0), {self.below:.2%} are below γ = {self.gamma:.4g}.",
                f"Median {self.median:.4g}, quartiles {self.lower_quartile:.4g} and {self.upper_quartile:.4g}.",
                f"Mean {self.mean:.4g}, standard deviation {self.standard_deviation:.4g}, "
                f"Catoni's location {self.location:.4g} (s = {self.scale:.3g}).",
                f"{_skewness(self.skew)} (skewness {self.skew:.2f}).",
            )
        )

    def __repr__(self) -> str:
        return f"Margins({self._rows}, mean {self.mean:.4g}, median {self.median:.4g}, {self.wrong:.2%} misclassified)"

    @property
    def _rows(self) -> str:
        return f"{self.values.size:,} {'row' if self.values.size == 1 else 'rows'}"

    def plot(self) -> "Axes":
        """Draw a histogram of the margins with their statistics; returns the axes."""
        from sgdone.diagnose.margin_plot import draw

        axes: Axes = draw(self)
        return axes


def margins(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    gamma: float | None = None,
    scale: float | None = None,
    sample_weight: ArrayLike | None = None,
) -> Margins:
    """Compute the margins of a fitted classifier: Holland (2018), section 1 and Figs. 3 and 4.

    With two classes the margin of a row is y·h(x), the label ±1 times the score. A row is correctly classified if its
    margin is positive; a margin of 0 counts as misclassified. With more classes it is the score of the true class minus
    the largest score of the other classes. (``monitors=["margins"]`` records one-vs-rest margins of each class.)

    Parameters
    ----------
    model : object
        Fitted classifier or pipeline with ``decision_function`` and ``classes_``, of this package or of scikit-learn.
    X : array, sparse matrix or data frame
        Samples.
    y : array of shape (n_rows,)
        Labels.
    gamma : float, optional
        γ, the reference level. By default the γ of the model's loss, or 1.
    scale : float, optional
        s of Catoni's location. By default the scale of the model's loss if it is a number, else the s that minimises
        the bound on the error of the location, s² = n·var/(2·log(2/δ)) with δ = 0.05: eq. (6).
    sample_weight : array of shape (n_rows,), optional
        Non-negative sample weights.

    Returns
    -------
    Margins
        The margins and their statistics.

    Examples
    --------
    >>> from sgdone import SGDClassifier, diagnose
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> model = SGDClassifier("margin-pursuit", solver="asgd", stop=20, random_state=0).fit(X, y)
    >>> print(diagnose.margins(model, X, y))
    Margins of 569 rows (label times score):
    3.51% are misclassified (margin ≤ 0), 71.18% are below γ = 1.
    Median 0.7751, quartiles 0.5118 and 1.046.
    Mean 0.768, standard deviation 0.4193, Catoni's location 0.7689 (s = 1).
    The distribution is nearly symmetric (skewness -0.07).
    """
    values, n_classes = margins_of(model, X, y)
    weights = None if sample_weight is None else check_weights(sample_weight, values.size)
    loss = _as_loss(getattr(model, "loss", None))
    level = check_number("gamma", _of_loss(loss, "gamma", 1.0) if gamma is None else gamma)
    statistics = MarginStatistics.of(values, level, weights)
    given = _of_loss(loss, "scale", None) if scale is None else scale
    variance = statistics.standard_deviation**2
    s = optimal_scale(variance, values.size) if given is None else check_number("scale", given, positive=True)
    location = weighted_location(values, weights, s) if s > 0 else statistics.mean
    return Margins(values, weights, n_classes, level, s, location, **asdict(statistics))


def _as_loss(loss: Any) -> Any:
    """The loss that a name stands for; any other value as it is."""
    made = names(Loss, losses).get(loss.lower().replace("-", "_")) if isinstance(loss, str) else None
    return loss if made is None else made()


def _of_loss(loss: Any, name: str, default: Any) -> Any:
    """Attribute of the loss if it is a finite number, else the default."""
    value = getattr(loss, name, None)
    return value if isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value) else default


def _skewness(skew: float) -> str:
    if abs(skew) < 0.1:
        return "The distribution is nearly symmetric"
    return f"The tail of {'small' if skew < 0 else 'large'} margins is longer"
