"""Tables of numbers, categories, dates and text as rows of features: a scikit-learn transformer."""

from typing import Any, Self, final

from sklearn.base import BaseEstimator, TransformerMixin

from sgdone.tables.table_encoding import TableEncoding


@final
class TableEncoder(TransformerMixin, TableEncoding, BaseEstimator):  # type: ignore[misc]  # scikit-learn is not typed
    """Encode the columns of any data frame as features for a linear model.

    Numbers stay as they are; missing values are replaced by the mean, with an indicator where `fit` saw some. A
    category has a feature for each level, missing values being one; a level that was not in `fit` has no effect. Text
    becomes hashed words and pairs of words. A date becomes a trend in days, and its month, weekday and hour. Labels are
    never used. What each column is follows from its type and all of its values: see :mod:`sgdone.tables.kinds`.

    Parameters
    ----------
    columns : dict, default=None
        Kinds of columns by name, where the encoder is to decide otherwise: "number", "category", "text", "date" or
        "drop".
    max_levels : int, default=100_000
        Levels of a category that are kept by name. The others share buckets by their hash. At a hundred thousand, codes
        of places, products and aircraft all have a feature of their own; of keys with more values most have few rows
        each, and a model file stays below a few megabytes a column.
    max_bytes : int, default=2**24
        Bytes of the levels of a column that are kept, so that long strings (addresses of web pages) are bounded too.
    n_buckets : int, default=2**18
        Buckets of the words of a text column, or of the levels of a category beyond the limits: a power of two. Only
        buckets that occur in training become features.

    Attributes
    ----------
    feature_names_in_ : ndarray of str
        Columns of the table in `fit`. Columns are matched by name, in any order; other columns are ignored by
        `transform`, as by scikit-learn's ColumnTransformer, and are an error in `partial_fit`.
    n_features_in_ : int
    left_out_ : dict
        Columns without features and why: empty, constant, equal to another column, or dropped on request.
    is_plain_ : bool
        Whether the table of the first call was all numbers and booleans without missing values, as an array is.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"age": [31.0, None, 54.0], "job": ["Sales", "Tech", "Sales"], "one": [1, 1, 1]})
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.get_feature_names_out()
    array(['age', 'age missing', 'job=Sales', 'job=Tech'], dtype=object)
    >>> encoder.transform(table).toarray()
    array([[31. ,  0. ,  1. ,  0. ],
           [42.5,  1. ,  0. ,  1. ],
           [54. ,  0. ,  1. ,  0. ]])
    >>> print(encoder)
    TableEncoder: 3 columns, 4 features
      age  number    missing values replaced by the mean 42.5, with an indicator
      job  category  2 levels
      one  left out  constant
    """

    @classmethod
    def of(cls, core: TableEncoding) -> Self:
        """The transformer of an encoder that has learnt; they share what was learnt."""
        made = cls()
        made.__dict__.update(core.__dict__)
        return made

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn kinds, levels, words and means from a table. Labels are ignored.

        Parameters
        ----------
        X : data frame
            Of pandas, polars or Arrow.
        y : ignored
        """
        self.fit_encode(X)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Learn from a table, and encode it."""
        return self.fit_encode(X).tocsr()

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from more rows: new levels, words and missing values add features after those there are.

        The first call settles the kinds of columns; later ones must have the same columns, each of the same kind.
        Constant columns are kept, because later rows may differ.
        """
        self.partial_fit_encode(X)
        return self

    def transform(self, X: Any) -> Any:
        """Encode a table as one CSR matrix."""
        return self.encode(X).tocsr()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inputs = tags.input_tags
        inputs.two_d_array, inputs.categorical, inputs.string, inputs.allow_nan = False, True, True, True
        return tags
