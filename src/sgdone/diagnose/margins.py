"""The margins of a fitted model: how right it is, row by row."""

import math
from dataclasses import asdict, dataclass, fields
from numbers import Real
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgdone.diagnose.margin_location import location_of, scale_for
from sgdone.diagnose.margin_validation import check_number, margins_of, weights_of
from sgdone.margin_statistics import MarginStatistics

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class Margins:
    """The distribution of a model's margins, as `margins` finds it: ``print`` it, or `plot` it.

    Attributes
    ----------
    values : ndarray of shape (n_rows,)
        The margins: positive where the model is right.
    weights : ndarray or None
        Weights of the rows, if there were any.
    n_classes : int
        Two, or more.
    gamma : float
        γ, the level that margins are held against.
    location, scale : float
        Catoni's location (`catoni_location`) and the scale s that it was found with.
    mean, median, standard_deviation, lower_quartile, upper_quartile, skew : float
        Of the margins. The standard deviation is that of these rows, and the skew of equal margins is 0.
    wrong : float
        The share of margins that are 0 or less.
    below : float
        The share of margins less than γ.
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
        """The numbers that a trace keeps too."""
        return MarginStatistics(**{field.name: getattr(self, field.name) for field in fields(MarginStatistics)})

    def __str__(self) -> str:
        what = "the label times the score" if self.n_classes == 2 else "own score minus the best other"
        return "\n".join(
            (
                f"Margins of {self._rows} ({what}):",
                f"{self.wrong:.2%} are wrong (0 or less) and {self.below:.2%} below γ = {self.gamma:.4g}.",
                f"Half of them lie between {self.lower_quartile:.4g} and {self.upper_quartile:.4g}, "
                f"around the median {self.median:.4g}.",
                f"The mean is {self.mean:.4g}, the standard deviation {self.standard_deviation:.4g}, "
                f"Catoni's location {self.location:.4g} (s = {self.scale:.3g}).",
                f"{_leaning(self.skew)} (skew {self.skew:.2f}).",
            )
        )

    def __repr__(self) -> str:
        return f"Margins({self._rows}, mean {self.mean:.4g}, median {self.median:.4g}, {self.wrong:.2%} wrong)"

    @property
    def _rows(self) -> str:
        return f"{self.values.size:,} {'row' if self.values.size == 1 else 'rows'}"

    def plot(self) -> "Axes":
        """Draw a histogram of the margins with their statistics marked; returns the axes."""
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
    """Look at the margins of a fitted model: Holland (2018), section 1 and Figs. 3 and 4.

    With two classes the margin of a row is y·h(x), the label ±1 times the score: the row is right where it is positive,
    and the further the surer. With several it is the score of the row's own class minus the best of the others; one-vs-
    rest margins class by class are what ``monitors=["margins"]`` keeps in the trace. A margin of 0 counts as wrong.

    Parameters
    ----------
    model : object
        Fitted, with ``decision_function`` and ``classes_``: of this package, of scikit-learn, or a pipeline of them.
    X : array, sparse matrix or data frame
        Rows, as the model takes them.
    y : array of shape (n_rows,)
        Their labels.
    gamma : float, optional
        γ, the level that margins are held against. If not given it is that of the model's loss, or 1.
    scale : float, optional
        s of Catoni's location. If not given it is that of the model's loss where that is a number, else the one that
        makes the bound on the location's error least, s² = n·var/(2·log(2/δ)) with δ = 0.05: eq. (6).
    sample_weight : array of shape (n_rows,), optional
        Non-negative weights of the rows.

    Returns
    -------
    Margins
        The margins and their statistics.

    Examples
    --------
    >>> from sgdone import LinearClassifier, diagnose
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> model = LinearClassifier("margin-pursuit", solver="asgd", stop=20, random_state=0).fit(X, y)
    >>> print(diagnose.margins(model, X, y))
    Margins of 569 rows (the label times the score):
    3.51% are wrong (0 or less) and 71.18% below γ = 1.
    Half of them lie between 0.5118 and 1.046, around the median 0.7751.
    The mean is 0.768, the standard deviation 0.4193, Catoni's location 0.7681 (s = 3.68).
    They are nearly symmetric (skew -0.07).
    """
    values, n_classes = margins_of(model, X, y)
    weights = weights_of(sample_weight, values.size)
    loss = getattr(model, "loss", None)
    level = check_number("gamma", _of_loss(loss, "gamma", 1.0) if gamma is None else gamma)
    statistics = MarginStatistics.of(values, level, weights)
    given = _of_loss(loss, "scale", None) if scale is None else scale
    variance = statistics.standard_deviation**2
    s = scale_for(variance, values.size) if given is None else check_number("scale", given, positive=True)
    location = location_of(values, weights, s) if s > 0 else statistics.mean
    return Margins(values, weights, n_classes, level, s, location, **asdict(statistics))


def _of_loss(loss: Any, name: str, default: Any) -> Any:
    """A number that the loss has, if it has one."""
    value = getattr(loss, name, None)
    return value if isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value) else default


def _leaning(skew: float) -> str:
    if abs(skew) < 0.1:
        return "They are nearly symmetric"
    return "The tail of small margins is the longer one" if skew < 0 else "The tail of large margins is the longer one"
