"""The features of a linear model: their names, what they are part of, and their coefficients."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sgdone.estimators.coefficient_frame import coefficient_frame
from sgdone.estimators.table_input import FeatureNames
from sgdone.rows.rows import roles_of_features
from sgdone.run import Result
from sgdone.tables import TableEncoderCore
from sgdone.tables.not_fitted import used_before_fit

if TYPE_CHECKING:
    import pandas as pd


class NamedFeatures:
    """Features of a model that are columns of ``X``, or those of its encoder; not for users."""

    #: Whether tables with categories, gaps, dates and text are encoded.
    _encodes_tables: ClassVar[bool] = False
    #: Names of the columns for messages, if ``X`` has none.
    _feature_names: Sequence[str] | None = None

    #: The name of the estimator in messages and files.
    public_name: ClassVar[str]
    #: The class of ``encoder_``.
    _encoder_class: ClassVar[type[TableEncoderCore]] = TableEncoderCore

    coef_: NDArray[Any]
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    encoder_: TableEncoderCore
    _results: Sequence[Result]

    def _check_fitted(self) -> None:
        # n_features_in_ is set before anything else is checked: it does not show that a fit succeeded.
        if not hasattr(self, "coef_"):
            raise used_before_fit(self.public_name)

    def _kinds_of_columns(self) -> Mapping[str, str]:
        """Kinds of columns that the user stated."""
        return {}

    def _names_of_columns(self) -> Sequence[str] | None:
        """Names of the features of ``coef_``, if they have any."""
        encoder = getattr(self, "encoder_", None)
        if encoder is not None and not encoder.is_plain:
            return FeatureNames(encoder)
        names: Sequence[str] | None = getattr(self, "feature_names_in_", self._feature_names)
        return names

    def _names_in_encoder(self) -> Sequence[str] | None:
        """Names of the features as the encoder has them, whether or not the table was all numbers."""
        encoder = getattr(self, "encoder_", None)
        return None if encoder is None else FeatureNames(encoder)

    def _roles(self, n_features: int) -> NDArray[np.int32] | None:
        """What each feature is part of, if the rows are those of an encoder."""
        encoder = getattr(self, "encoder_", None)
        if encoder is None or encoder.n_features_out_ != n_features:
            return None
        return roles_of_features(encoder.n_dense_, encoder.texts())

    def get_feature_names_out(self) -> NDArray[Any]:
        """Names of the features of ``coef_``: columns, or their encoded features."""
        self._check_fitted()
        names = self._names_of_columns()
        n_features = self.coef_.shape[-1]
        return np.array([f"x{j}" for j in range(n_features)] if names is None else list(names), dtype=object)

    def coefficients(self) -> "pd.DataFrame":
        """The coefficients with the names of their features, as a pandas data frame; the intercept comes first.

        Returns
        -------
        pandas.DataFrame
            ``name`` as in `get_feature_names_out`; ``value``; ``value_per_std``, the value times the standard deviation
            of the feature, which compares features in different units; ``share``, of the rows of ``fit`` that have the
            feature (a level, a word, a non-zero entry of a sparse matrix; 1 for dense columns). With more than two
            classes also ``class``. After ``partial_fit`` alone ``value_per_std`` and ``share`` are not known: NaN.

        Examples
        --------
        >>> import pandas as pd
        >>> from sgdone import LinearRegressor
        >>> rents = pd.DataFrame({"city": ["Rome", "Oslo"] * 50, "rooms": [1, 2, 3, 4] * 25})
        >>> model = LinearRegressor(random_state=0).fit(rents, 500 * rents["rooms"] + 300 * (rents["city"] == "Oslo"))
        >>> model.coefficients()[["name", "value", "share"]].round(1)
                  name  value  share
        0  (intercept)  150.0    1.0
        1        rooms  500.0    1.0
        2    city=Oslo  150.0    0.5
        3    city=Rome -150.0    0.5
        """
        self._check_fitted()
        return coefficient_frame(self)

    def _append_features(self, n_features: int) -> None:
        """Give the model the features that its encoder has learnt in ``partial_fit``: their coefficients are 0.

        So are their standard deviations and shares in the rows of the last ``fit``, which had none of them.
        """
        if not hasattr(self, "_results"):
            return
        count = n_features - self.coef_.shape[-1]
        if count > 0:
            roles = self._roles(n_features)
            assert roles is not None
            # What is there stays as it is, for a call that fails later.
            self._results = [replace(result, state=result.state.copy()) for result in self._results]
            for result in self._results:
                result.state.append_features(roles[-count:])
            wider = [(0, 0)] * (self.coef_.ndim - 1) + [(0, count)]
            self.coef_ = np.pad(self.coef_, wider)
            for name in ("feature_std_", "feature_share_"):
                if hasattr(self, name):
                    setattr(self, name, np.pad(getattr(self, name), (0, count)))

    def _last_coef(self, last_names: Sequence[str] | None) -> NDArray[Any]:
        """The coefficients of the last fit; those of an encoder in the order of its features in this fit."""
        names = self._names_in_encoder()
        if last_names is None or names is None:
            return self.coef_
        places = {name: j for j, name in enumerate(last_names)}
        known = np.array([places.get(name, -1) for name in names], dtype=np.intp)
        return np.where(known >= 0, self.coef_[..., known], 0.0)
