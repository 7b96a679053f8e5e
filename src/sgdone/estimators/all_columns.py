"""Results of fits that knew only the columns that have entries."""

from dataclasses import replace
from typing import Any

import numpy as np

from sgdone.interfaces.objective import Model
from sgdone.rows.blocks import ColumnNumbers
from sgdone.run import Result


def give_all_columns(model: Any, numbers: ColumnNumbers) -> Any:
    """A model that was fitted on the columns that have entries, as one of all columns."""
    for name in ("coef_", "feature_std_", "feature_share_"):
        found = getattr(model, name)
        values = np.zeros((*found.shape[:-1], numbers.n_features), dtype=found.dtype)
        values[..., numbers.columns] = found
        setattr(model, name, values)
    model._results = [with_all_columns(result, numbers) for result in model._results]
    model.n_features_in_ = numbers.n_features
    return model


def with_all_columns(result: Result, numbers: ColumnNumbers) -> Result:
    """The result for all columns of the rows; the coefficients of those that never appeared are 0."""
    columns, width = numbers.columns, numbers.n_features
    if not width:  # the rows are dense, or encoded
        return result
    coef = np.zeros((len(result.model.coef), width), dtype=result.model.coef.dtype)
    coef[:, columns] = result.model.coef[:, : columns.size]
    model, state = Model(coef, result.model.intercept), result.state.at_columns(columns, width)
    return replace(result, model=model, state=state)
