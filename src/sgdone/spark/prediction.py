"""Predictions as columns: one Arrow function that computes all of them, with the model broadcast."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark import Broadcast
from pyspark.ml.functions import array_to_vector
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # as in Spark's documentation
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.pandas.functions import arrow_udf

from sgdone.fit.fitted_model import FittedModel, most_likely, probabilities
from sgdone.machine.threads import single_thread
from sgdone.spark.row_columns import FeatureColumns, rows_of_vectors, table_of

#: The column of all predictions, before they are columns of their own.
_ALL = "__sgdone_predictions__"


@final
@dataclass(frozen=True)
class PredictionColumns:
    """Names of the columns that are added; those of an empty name are left out.

    Predictions are classes or means; probabilities and scores are vectors with an entry for each class.
    """

    prediction: str
    probability: str = ""
    scores: str = ""

    def names(self) -> dict[str, str]:
        """Names of the columns by the kind of prediction, in their order."""
        found = {"scores": self.scores, "probability": self.probability, "prediction": self.prediction}
        return {what: name for what, name in found.items() if name}

    def check(self, frame: DataFrame) -> None:
        """Raise for names that are taken, or given twice."""
        names = list(self.names().values())
        if len(set(names)) < len(names):
            raise ValueError(f"two of the columns {names} have the same name: give each a name of its own")
        for name in names:
            if name in frame.columns:
                raise ValueError(f"the data frame has a column {name!r} already: drop it, or choose another name")


def with_predictions(
    frame: DataFrame, model: "Broadcast[Any]", features: FeatureColumns, columns: PredictionColumns
) -> DataFrame:
    """The data frame with columns of predictions, which are computed when they are needed."""
    columns.check(frame)
    wanted = columns.names()
    if not wanted:
        return frame
    # Strings and booleans are predicted as such, numbers as doubles, as Spark ML does.
    classes = model.value.classes_
    kind = "f" if classes is None else classes.dtype.kind
    label = T.StringType() if kind in "UO" else T.BooleanType() if kind == "b" else T.DoubleType()
    kinds = {what: label if what == "prediction" else T.ArrayType(T.DoubleType()) for what in wanted}
    struct = T.StructType([T.StructField(what, kind) for what, kind in kinds.items()])
    make: Any = arrow_udf  # its types know no structs
    predict = make(_predicting(model, features.vectors, tuple(wanted)), struct)
    found = frame.select("*", predict(features.selected()).alias(_ALL))
    fields = {what: F.col(f"{_ALL}.{what}") for what in wanted}
    vectors = {what: field if what == "prediction" else array_to_vector(field) for what, field in fields.items()}
    made = [vectors[what].alias(name) for what, name in wanted.items()]
    return found.select("*", *made).drop(_ALL)


def _predicting(
    model: "Broadcast[Any]", vectors: str | None, wanted: tuple[str, ...]
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """A function that predicts each batch of features on a worker."""

    # Spark knows by these types what kind of function it is.
    def predict(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        plain = model.value
        for batch in batches:
            rows = table_of([batch]) if vectors is None else rows_of_vectors([batch], vectors).matrix
            found = _predictions(plain, rows) if len(batch) else {}
            empty: NDArray[np.float64] = np.empty((0, 1))
            yield pa.StructArray.from_arrays([_arrow(found.get(what, empty), what) for what in wanted], wanted)

    return predict


def _predictions(model: FittedModel, rows: Any) -> dict[str, NDArray[Any]]:
    """All predictions of a model for rows."""
    with single_thread():
        scores = model.scores(rows)
    if model.classes_ is None:
        return {"prediction": np.asarray(scores, dtype=np.float64)}
    labels = model.classes_[most_likely(scores)]
    return {
        "prediction": labels if labels.dtype.kind in "UOb" else labels.astype(np.float64),
        "probability": probabilities(scores, multinomial=bool(model.multinomial_)),
        "scores": np.column_stack([-scores, scores]) if scores.ndim == 1 else scores,
    }


def _arrow(values: NDArray[Any], what: str) -> Any:
    if what == "prediction":
        return pa.array(values.reshape(-1), pa.string() if values.dtype.kind in "UO" else None)
    ends = np.arange(0, values.size + 1, values.shape[1], dtype=np.int32)
    return pa.ListArray.from_arrays(ends, pa.array(values.reshape(-1), pa.float64()))
