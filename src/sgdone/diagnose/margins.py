"""The margins of a fitted classifier."""

import math
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgdone import losses
from sgdone.diagnose.catoni import optimal_scale, weighted_location
from sgdone.diagnose.separability.design import check_weights
from sgdone.interfaces.margin_statistics import MarginStatistics
from sgdone.interfaces.method import names
from sgdone.losses.loss import Loss, real_or_nan
from sgdone.message_text import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]


def _margins_of(model: Any, X: Any, y: Any) -> tuple[Array, int]:
    """Return the margin of every row, and the number of classes."""
    if not callable(getattr(model, "decision_function", None)):
        raise TypeError(
            f"{type(model).__name__} has no decision_function, which margins need: give a fitted classifier with one, "
            "for example a linear model"
        )
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y has the shape {labels.shape}: give a one-dimensional array of labels")
    if labels.size == 0:
        raise ValueError("y is empty: give at least one row")
    scores = np.asarray(model.decision_function(X), dtype=np.float64)
    if not hasattr(model, "classes_"):
        raise TypeError(f"{type(model).__name__} has no classes_: give a fitted classifier")
    classes = np.asarray(model.classes_)
    numbers = _numbers_of(labels, classes)
    shape = (labels.size,) if classes.size == 2 else (labels.size, classes.size)
    if scores.shape != shape:
        raise ValueError(
            f"decision_function returned the shape {scores.shape} for {labels.size} labels of {classes.size} classes, "
            f"expected {shape}: do X and y have the same rows?"
        )
    wrong = np.flatnonzero(~np.isfinite(scores if scores.ndim == 1 else scores.sum(axis=1)))
    if wrong.size:
        raise ValueError(
            f"the score of row {wrong[0]} is not finite ({wrong.size} of {labels.size} scores): check X and the "
            "coefficients of the model"
        )
    if scores.ndim == 1:
        return np.where(numbers == 1, scores, -scores), 2
    rows = np.arange(labels.size)
    own = scores[rows, numbers]
    others = scores.copy()
    others[rows, numbers] = -np.inf
    return own - others.max(axis=1), classes.size


def _numbers_of(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Index of each label in the classes of the model."""
    by_label = {label: k for k, label in enumerate(classes.tolist())}
    numbers = np.array([by_label.get(label, -1) for label in labels.tolist()], dtype=np.intp)
    unknown = np.flatnonzero(numbers < 0)
    if unknown.size:
        raise ValueError(
            f"the label of row {unknown[0]} is {labels.tolist()[unknown[0]]!r}, which is not one of the model's "
            f"classes {classes.tolist()}"
        )
    return numbers


def _check_number(name: str, value: Any, *, positive: bool = False) -> float:
    """Return a finite number; raise if it is not finite, or not positive although ``positive`` is set."""
    number = real_or_nan(value)
    if not math.isfinite(number) or (positive and number <= 0):
        kind = "positive finite" if positive else "finite"
        raise ValueError(f"{name}={value!r} is not a {kind} number: give one in units of the margins")
    return number


#: Margins further than 5 interquartile ranges from the quartiles are drawn at the edges.
_REACH = 5.0
_MOST_BINS = 60


def draw(margins: "Margins") -> "Axes":
    """Draw a histogram of the margins, with mean, median, location, quartiles and γ marked.

    Misclassified rows (margin ≤ 0) are red, margins below γ pale blue.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plotting margins needs matplotlib: pip install 'sgdone[plot]'") from error
    _, axis = plt.subplots(figsize=(8.0, 4.5), layout="constrained")
    low, high = _range(margins)
    values = np.clip(margins.values, low, high)
    outside = float(np.average(margins.values != values, weights=margins.weights))
    weights = np.ones(values.size) if margins.weights is None else margins.weights
    edges = _edges(values, low, high, margins.gamma)
    # A margin of 0 is misclassified: move it to the bar on the left of 0.
    placed = np.where(values <= 0, np.minimum(values, -1e-9 * (high - low)), values)
    shares = np.histogram(placed, edges, weights=weights / weights.sum())[0]
    middles = 0.5 * (edges[1:] + edges[:-1])
    colours = np.where(middles <= 0, "tab:red", np.where(middles < margins.gamma, "#a8c8e8", "tab:blue"))
    axis.bar(edges[:-1], 100 * shares, np.diff(edges), align="edge", color=colours, edgecolor="white", linewidth=0.3)
    axis.axvspan(margins.lower_quartile, margins.upper_quartile, color="0.92", zorder=0, label="middle half")
    marks: tuple[tuple[float, dict[str, Any], str], ...] = (
        (margins.mean, {"color": "black", "linestyle": "-"}, "mean"),
        (margins.location, {"color": "tab:orange", "linestyle": "--"}, "Catoni's location"),
        (margins.median, {"color": "magenta", "linestyle": ":"}, "median"),
        (margins.gamma, {"color": "0.45", "linestyle": "-."}, "level γ"),
    )
    for place, style, name in marks:
        if low <= place <= high:
            axis.axvline(place, linewidth=1.6, label=f"{name} {place:.3g}", **style)
    axis.plot([], [], " ", label=f"st. dev. {margins.standard_deviation:.3g}, skew {margins.skew:.2f}")
    axis.set_xlim(edges[0], edges[-1])
    axis.set_xlabel("margin" + (f"  ({outside:.2%} beyond the edges are drawn at them)" if outside else ""))
    axis.set_ylabel("share of rows (%)")
    axis.set_title(
        f"{margins.values.size:,} margins: {margins.wrong:.2%} wrong (red), {margins.below:.2%} below γ (red and pale)",
        fontsize="medium",
    )
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return axis


def _range(margins: "Margins") -> tuple[float, float]:
    """Range of the axis: 0, γ and all margins except outliers."""
    lower, upper = margins.lower_quartile, margins.upper_quartile
    reach = _REACH * (upper - lower)
    inner = margins.values[(margins.values >= lower - reach) & (margins.values <= upper + reach)]
    low, high = min(0.0, float(inner.min())), max(0.0, margins.gamma, float(inner.max()))
    room = 0.03 * (high - low) or 1.0
    return low - room, high + room


def _edges(values: np.ndarray[Any, np.dtype[np.float64]], low: float, high: float, gamma: float) -> Any:
    """Edges of bins of equal width. 0 and γ are edges, so that each bin has one colour."""
    count = int(np.clip(np.ceil(2.0 * values.size ** (1 / 3)), 10, _MOST_BINS))
    width = (high - low) / count
    if 2 * _MOST_BINS * gamma >= high - low:
        width = gamma / max(1, round(gamma / width))
    first, last = np.floor(low / width), np.ceil(high / width)
    return np.arange(first, last + 1) * width


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
        rows = counted(self.values.size, "row")
        what = "label times score" if self.n_classes == 2 else "score of the true class minus the best other score"
        return "\n".join(
            (
                f"Margins of {rows} ({what}):",
                f"{self.wrong:.2%} are misclassified (margin ≤ 0), {self.below:.2%} are below γ = {self.gamma:.4g}.",
                f"Median {self.median:.4g}, quartiles {self.lower_quartile:.4g} and {self.upper_quartile:.4g}.",
                f"Mean {self.mean:.4g}, standard deviation {self.standard_deviation:.4g}, "
                f"Catoni's location {self.location:.4g} (s = {self.scale:.3g}).",
                f"{_skewness(self.skew)} (skewness {self.skew:.2f}).",
            )
        )

    def __repr__(self) -> str:
        rows = counted(self.values.size, "row")
        return f"Margins({rows}, mean {self.mean:.4g}, median {self.median:.4g}, {self.wrong:.2%} misclassified)"

    def plot(self) -> "Axes":
        """Draw a histogram of the margins with their statistics; returns the axes."""
        return draw(self)


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
    values, n_classes = _margins_of(model, X, y)
    weights = None if sample_weight is None else check_weights(sample_weight, values.size)
    loss = _as_loss(getattr(model, "loss", None))
    level = _check_number("gamma", _of_loss(loss, "gamma", 1.0) if gamma is None else gamma)
    statistics = MarginStatistics.of(values, level, weights)
    given = _of_loss(loss, "scale", None) if scale is None else scale
    variance = statistics.standard_deviation**2
    s = optimal_scale(variance, values.size) if given is None else _check_number("scale", given, positive=True)
    location = weighted_location(values, weights, s) if s > 0 else statistics.mean
    return Margins(values, weights, n_classes, level, s, location, **asdict(statistics))


def _as_loss(loss: Any) -> Any:
    """The loss of a name; any other value unchanged."""
    made = names(Loss, losses).get(loss.lower().replace("-", "_")) if isinstance(loss, str) else None
    return loss if made is None else made()


def _of_loss(loss: Any, name: str, default: Any) -> Any:
    """Attribute of the loss if it is a finite number, else the default."""
    value = getattr(loss, name, None)
    return value if math.isfinite(real_or_nan(value)) else default


def _skewness(skew: float) -> str:
    if abs(skew) < 0.1:
        return "The distribution is nearly symmetric"
    return f"The tail of {'small' if skew < 0 else 'large'} margins is longer"
