"""Results of fits that knew only the columns that have entries."""

from dataclasses import replace

import numpy as np

from sgdone.data.column_numbers import ColumnNumbers
from sgdone.interfaces.progress import Model
from sgdone.run import Result


def with_all_columns(result: Result, numbers: ColumnNumbers) -> Result:
    """The result for all columns of the rows; the coefficients of those that never appeared are 0."""
    columns, width = numbers.columns, numbers.n_features
    if not width:  # the rows are dense, or encoded
        return result
    coef = np.zeros((len(result.model.coef), width), dtype=result.model.coef.dtype)
    coef[:, columns] = result.model.coef[:, : columns.size]
    model, state = Model(coef, result.model.intercept), result.state.at_columns(columns, width)
    return replace(result, model=model, state=state)
