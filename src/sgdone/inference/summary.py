"""The summary of a model: coefficients of the unpenalised optimum, how sure they are, and which are refused."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgdone.inference.covariance import Covariance
from sgdone.inference.prediction import Predictor
from sgdone.inference.refusals import Refusal
from sgdone.inference.wald import WaldTest, restrictions, wald_test
from sgdone.message_text import did_you_mean

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from sgdone.inference.reference_coding import ReferenceCoding
    from sgdone.inference.wald import ColumnTest

Array = NDArray[np.float64]

#: Name of the intercept.
INTERCEPT = "(intercept)"


@final
@dataclass(frozen=True)
class Head:
    """Header of a summary.

    Attributes
    ----------
    model : str
        The kind of model: "logistic regression", "multinomial logistic regression", "least squares", ...
    outcome : str
        Outcome that a positive coefficient makes more likely; empty for a regression.
    cov : str
        How the covariance was estimated, with its small-sample factor.
    rows : float
        Number of rows; the sum of the weights if they are frequencies.
    coefficients : int
        Number of coefficients that were estimated, intercepts included.
    verdict : str
        Why the fit of the model stopped.
    difference : str
        Difference of the coefficients from those of the model.
    log_likelihood, null_log_likelihood : float or None
        At the optimum, and of the model with an intercept only; None if the loss has no likelihood or the weights are
        not frequencies.
    likelihood_ratio, likelihood_ratio_df, likelihood_ratio_p : float or None
        The test of all coefficients but the intercepts.
    r2 : float or None
        McFadden's R², or the R² of least squares.
    aic, bic : float or None
        Information criteria.
    notes : tuple of str
        Further remarks, a sentence each.
    """

    model: str
    outcome: str
    cov: str
    rows: float
    coefficients: int
    verdict: str = ""
    difference: str = ""
    log_likelihood: float | None = None
    null_log_likelihood: float | None = None
    likelihood_ratio: float | None = None
    likelihood_ratio_df: int | None = None
    likelihood_ratio_p: float | None = None
    r2: float | None = None
    aic: float | None = None
    bic: float | None = None
    notes: tuple[str, ...] = ()


@final
@dataclass(frozen=True, eq=False)
class Summary:
    """Coefficients of the optimum without a penalty, with standard errors, in the units of the data.

    Attributes
    ----------
    features : list of str
        The feature of each coefficient; "(intercept)" for an intercept.
    classes : list or None
        The class of each coefficient, if there are coefficients for several classes.
    coef, std_err, z, p, low, high : ndarray
        One number per coefficient: its value, standard error, their ratio, the two-sided p-value, and the interval.
        NaN where refused; a coefficient without a finite optimum is infinite if its sign is known.
    level : float
        Level of the intervals.
    df : float
        Degrees of freedom of the t quantiles; infinite for those of the normal distribution.
    refused : dict
        The refusal of each coefficient that has no standard error, by its position.
    monte_carlo_error : float
        Relative error of the standard errors that comes from random numbers; 0 if none were used.
    head : Head
        Likelihood, rows and what was estimated.
    """

    features: Sequence[str]
    classes: Sequence[Any] | None
    coef: Array
    std_err: Array
    z: Array
    p: Array
    low: Array
    high: Array
    level: float
    df: float
    refused: Mapping[int, Refusal]
    head: Head
    covariance: Covariance | None = field(repr=False)
    predictor: Predictor | None = field(default=None, repr=False)
    monte_carlo_error: float = 0.0
    coding: "ReferenceCoding | None" = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.features)

    @property
    def names(self) -> list[str]:
        """Names of the coefficients: the feature, with its class in front if there are several."""
        if self.classes is None:
            return list(self.features)
        return [f"{label}: {feature}" for label, feature in zip(self.classes, self.features, strict=True)]

    @property
    def references(self) -> dict[str, str]:
        """The level that the others are compared with, by category or part of a date."""
        if self.coding is None:
            return {}
        return {own.name: own.reference for own in self.coding.contrasts if own.reference is not None}

    @property
    def left_out(self) -> dict[str, str]:
        """Features and columns that have no coefficient because others determine them or no row has them, and why."""
        return {} if self.coding is None else dict(self.coding.left_out)

    @cached_property
    def column_tests(self) -> "dict[str, ColumnTest]":
        """Wald's test of all levels of each category and part of a date, by name.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from sgdone import LinearRegressor
        >>> rng = np.random.default_rng(0)
        >>> job = rng.choice(["Craft", "Sales", "Tech"], 500, p=[0.3, 0.5, 0.2])
        >>> pay = np.where(job == "Tech", 2.0, 1.0) + rng.standard_normal(500)
        >>> table = pa.table({"job": job})
        >>> summary = LinearRegressor().fit(table, pay).summary(table, pay)
        >>> test = summary.column_tests["job"]
        >>> test.reference, test.levels, test.df, test.p < 0.001
        ('Sales', 3, 2, True)
        """
        from sgdone.inference.wald import column_tests

        return column_tests(self)

    def positions(self, name: str) -> list[int]:
        """Positions of the coefficients of a column, of a part of a date, of a feature, or of one coefficient.

        Parameters
        ----------
        name : str
            A column of the table stands for all of its features.

        Returns
        -------
        list of int
        """
        columns = {} if self.coding is None else self.coding.columns
        if self.coding is not None and name in columns:
            wanted = {self.coding.names[j] for j in columns[name].tolist()}
            found = [k for k, feature in enumerate(self.features) if feature in wanted]
            if found:
                return found
        found = [k for k, feature in enumerate(self.features) if feature == name]
        found = found or [k for k, own in enumerate(self.names) if own == name]
        if found:
            return found
        if name in self.left_out:
            raise ValueError(f"{name!r} is left out of the summary: {self.left_out[name]}")
        known = dict.fromkeys([*columns, *self.features, *self.names])
        raise ValueError(f"the summary has no coefficient {name!r}.{did_you_mean(str(name), known)}")

    def __str__(self) -> str:
        from sgdone.inference.summary_text import summary_text

        return summary_text(self)

    def _repr_html_(self) -> str:
        from sgdone.inference.summary_text import summary_html

        return summary_html(self)

    def to_frame(self) -> "pd.DataFrame":
        """The table as a pandas data frame.

        Returns
        -------
        DataFrame
            Columns ``coef``, ``std_err``, ``z``, ``p``, ``low``, ``high``; indexed by feature, or by class and feature
            if there are several classes. For a table with categories also ``reference``: the level that a level
            is compared with, empty for other features.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_frame() needs pandas: pip install 'sgdone[pandas]'") from error
        index: Any = pd.Index(list(self.features), name="feature")
        if self.classes is not None:
            index = pd.MultiIndex.from_arrays([list(self.classes), list(self.features)], names=["class", "feature"])
        columns = {name: getattr(self, name) for name in ("coef", "std_err", "z", "p", "low", "high")}
        frame = pd.DataFrame(columns, index=index)
        if self.coding is not None and self.references:
            names = self.coding.names
            references = {names[j]: own.reference or "" for own in self.coding.contrasts for j in own.features.tolist()}
            frame["reference"] = [references.get(feature, "") for feature in self.features]
        return frame

    def column_tests_frame(self) -> "pd.DataFrame":
        """The tests of the columns as a pandas data frame.

        Returns
        -------
        DataFrame
            Columns ``reference``, ``levels``, ``levels_tested``, ``df``, ``statistic``, ``p`` and ``reason``; indexed
            by column. ``statistic`` is that of F if the quantiles are those of t, and otherwise that of χ².
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("column_tests_frame() needs pandas: pip install 'sgdone[pandas]'") from error
        tests = self.column_tests.values()
        index = pd.Index([test.column for test in tests], name="column")
        names = ("reference", "levels", "levels_tested", "df", "statistic", "p", "reason")
        return pd.DataFrame({name: [getattr(test, name) for test in tests] for name in names}, index=index)

    def wald(self, R: Any, value: ArrayLike = 0.0) -> WaldTest:
        """Test linear combinations of the coefficients, jointly.

        Parameters
        ----------
        R : array, mapping, str or list of str
            The combinations, one per row, with one number per coefficient of the summary; or the name of a feature or
            of a column of the table, or a list of them, whose coefficients are tested; or one combination as a mapping
            from names to numbers.
        value : float or array
            The values of the combinations to test.

        Returns
        -------
        WaldTest
            Estimates, standard errors, the statistic, its degrees of freedom and the p-value.
        """
        return wald_test(self, restrictions(self, R), value)

    def plot(self, columns: Sequence[str] | None = None, *, top: int = 20, ax: "Axes | None" = None) -> "Axes":
        """Draw coefficients with their intervals.

        Parameters
        ----------
        columns : sequence of str, optional
            Features or columns to draw; by default the ``top`` coefficients with the largest z.
        top : int
            Number of coefficients to draw if ``columns`` is not given.
        ax : Axes, optional
            Where to draw.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from sgdone.inference.forest_plot import draw

        return draw(self, columns, top, ax)
