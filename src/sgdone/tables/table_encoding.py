"""Encoding of the columns of a table: numbers, categories, dates and text as features."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgdone.message_text import counted, did_you_mean, listed, row_place
from sgdone.tables.cell_values import warn_of_misprints
from sgdone.tables.column_encoder import (
    MOST_BUCKETS,
    ColumnFeatures,
    EncoderState,
    Entries,
    LevelGroup,
    NewFeatures,
    all_names,
)
from sgdone.tables.column_plan import ASKED, ColumnDescription, ColumnPlan, make_encoder, restored, stored
from sgdone.tables.encoded import Encoded, assemble
from sgdone.tables.frames import arrow_table
from sgdone.tables.kinds import UNREAD, Column, Kind, check_choices, read_as, redundant, settle
from sgdone.tables.not_fitted import used_before_fit
from sgdone.tables.number_encoder import NumberEncoder, column_sums
from sgdone.tables.warn_user import warn_user


class TableEncoding:
    """Encoding of the columns of a table, learnt from rows: what a fitted model keeps.

    `TableEncoder` is its scikit-learn interface, and describes the parameters and attributes.
    """

    feature_names_in_: NDArray[Any]
    n_features_in_: int
    left_out_: dict[str, str]
    is_plain_: bool
    n_sparse_: int
    plans_: list[ColumnPlan]

    def __init__(
        self,
        columns: Mapping[str, str] | None = None,
        *,
        max_levels: int = 100_000,
        max_bytes: int = 2**24,
        n_buckets: int = 2**18,
    ) -> None:
        self.columns = columns
        self.max_levels = max_levels
        self.max_bytes = max_bytes
        self.n_buckets = n_buckets

    # Python names this function in errors about parameters.
    __init__.__qualname__ = "TableEncoder.__init__"

    def fit_encode(self, X: Any, sample_weight: ArrayLike | None = None) -> Encoded:
        """Learn from a table, and encode it as dense and sparse rows.

        Parameters
        ----------
        X : data frame
        sample_weight : array of shape (n_rows,), default=None
            Weights of the rows in means. Rows of weight 0, as those for validation, add kinds, levels and words only.
        """
        table = arrow_table(X)
        read = self._start(table)
        left_out = redundant(read)
        if len(left_out) == len(read):
            reasons = ", ".join(f"{name!r} ({why})" for name, why in list(left_out.items())[:20])
            raise ValueError(f"no columns left to learn from: {reasons}")
        weight = _weights(sample_weight, table.num_rows)
        return self._learn(read, left_out, table.num_rows, NewFeatures(0, all_rows=True, weight=weight))

    def partial_fit_encode(self, X: Any, sample_weight: ArrayLike | None = None) -> Encoded:
        """Learn from more rows, and encode them."""
        table = arrow_table(X)
        weight = _weights(sample_weight, table.num_rows)
        if not hasattr(self, "plans_"):
            read = self._start(table)
            left_out = {name: column.reason for name, column in read.items() if column.kind is Kind.DROP}
            if len(left_out) == len(read):
                raise ValueError(f"no columns left to learn from: {listed(list(left_out))} have no values")
            return self._learn(read, left_out, table.num_rows, NewFeatures(0, weight=weight))
        extra = [name for name in table.column_names if name not in self.feature_names_in_]
        if extra:
            raise ValueError(f"the first call of partial_fit had no column {listed(extra)}: drop it, or fit again")
        read = self._read(table)
        self._warn_of_values(table)
        return self._encode(read, table.num_rows, NewFeatures(self.n_sparse_, weight=weight))

    @classmethod
    def of_numbers(
        cls, names: Sequence[str], booleans: Sequence[bool], X: NDArray[Any], sample_weight: ArrayLike | None = None
    ) -> Self:
        """An encoder of a table of numbers and booleans without missing values, which is an array already.

        It keeps all columns, and knows their means, for missing values that come later.

        Examples
        --------
        >>> import pyarrow as pa
        >>> encoder = TableEncoding.of_numbers(["x"], [False], np.array([[1.0], [3.0]]))
        >>> encoder.partial_fit_encode(pa.table({"x": [4.0, None]})).dense.ravel()
        array([4.        , 2.66666667])
        """
        made = cls()
        made.plans_ = [
            ColumnPlan(Kind.BOOLEAN if boolean else Kind.NUMBER, "boolean" if boolean else "number", "", encoder)
            for name, boolean in zip(names, booleans, strict=True)
            for encoder in [NumberEncoder(name, boolean)]
        ]
        made._set_fitted(names, left_out={}, is_plain=True, n_sparse=0)
        made.add_numbers(X, sample_weight)
        return made

    def add_numbers(self, X: NDArray[Any], sample_weight: ArrayLike | None = None) -> None:
        """Learn the means of more rows of a table that is an array already."""
        weight = _weights(sample_weight, X.shape[0])
        with np.errstate(over="ignore", invalid="ignore"):  # weights that are too large are refused before training
            count = float(X.shape[0] if weight is None else weight.sum())
            totals = column_sums(X, weight)
            for plan, total, values in zip(self.plans_, totals.tolist(), X.T, strict=True):
                assert isinstance(plan.encoder, NumberEncoder)
                if plan.encoder.imputer.indicator is None and not plan.encoder.imputer.add(total, count):
                    plan.encoder.imputer.learn(values.astype(np.float64), weight)

    def encode(self, X: Any) -> Encoded:
        """Encode a table as dense and sparse rows, learning nothing."""
        self._check_fitted()
        table = arrow_table(X)
        return self._encode(self._read(table), table.num_rows, None)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the features: ``age``, ``age missing``, ``job=Sales``, ``text:free entry``, ``date.month=7``."""
        self._check_fitted()
        return np.array(all_names([plan.encoder for plan in self.plans_]), dtype=object)

    def groups(self) -> list[LevelGroup]:
        """Features of which a row has at most one: the levels of each category and of each part of a date."""
        return [group for column in self.column_features() for group in column.groups]

    def column_features(self) -> list[ColumnFeatures]:
        """The features of each column that has any, in the order of the table.

        Examples
        --------
        >>> import pyarrow as pa
        >>> encoder = TableEncoding()
        >>> encoded = encoder.fit_encode(pa.table({"job": ["Sales", "Tech"], "age": [31.0, None]}))
        >>> [(column.name, column.features.tolist(), column.missing) for column in encoder.column_features()]
        [('job', [1, 2], None), ('age', [0, 3], 3)]
        """
        self._check_fitted()
        shift, dense, found = self.n_dense_, 0, []
        for plan in self.plans_:
            encoder = plan.encoder
            count = len(encoder.dense_names())
            sparse = np.sort(encoder.sparse_numbers()).astype(np.int64)
            groups = [
                LevelGroup(group.name, group.features + shift, group.counts, group.reference + shift)
                for group in encoder.groups()
            ]
            missing = encoder.missing_feature()
            features = np.concatenate([np.arange(dense, dense + count), sparse + shift])
            found.append(ColumnFeatures(encoder.name, features, groups, None if missing is None else missing + shift))
            dense += count
        return found

    def texts(self) -> NDArray[np.int32]:
        """For each feature, the number of the text whose word it is, counted from 0, or −1 for other features."""
        found = np.full(self.n_features_out_, -1, dtype=np.int32)
        # A text without words so far has a number too: those of others never change.
        texts = [plan.encoder for plan in self.plans_ if plan.kind is Kind.TEXT]
        for number, encoder in enumerate(texts):
            found[self.n_dense_ + encoder.word_numbers()] = number
        return found

    @property
    def is_plain(self) -> bool:
        """Whether all tables so far were numbers and booleans without missing values, and all columns are features."""
        self._check_fitted()
        return self.is_plain_ and self.n_sparse_ == 0 and not self.left_out_

    @property
    def n_dense_(self) -> int:
        """Number of dense features; they come first."""
        return sum(len(plan.encoder.dense_names()) for plan in self.plans_)

    @property
    def n_features_out_(self) -> int:
        """Number of features."""
        return self.n_dense_ + self.n_sparse_

    def describe(self) -> str:
        """Description of each column: its encoding, and why, in a line."""
        self._check_fitted()
        title = f"{counted(self.n_features_in_, 'column')}, {counted(self.n_features_out_, 'feature')}"
        columns = self.describe_columns()
        width = max(len(column.name) for column in columns)
        lines = [f"  {column.name:{width}}  {column.kind:8}  {column}".rstrip() for column in columns]
        return "\n".join([f"TableEncoder: {title}", *lines])

    def describe_columns(self) -> list[ColumnDescription]:
        """Name, kind, features and reason of each column."""
        self._check_fitted()
        found = {plan.encoder.name: plan.description() for plan in self.plans_}
        found |= {name: ColumnDescription(name, "left out", "", why) for name, why in self.left_out_.items()}
        return [found[name] for name in self.feature_names_in_.tolist()]

    def __str__(self) -> str:
        return self.describe() if hasattr(self, "plans_") else repr(self)

    def word_features(self) -> NDArray[np.int64]:
        """Numbers of the features that are buckets of words."""
        self._check_fitted()
        numbers = [plan.encoder.word_numbers() for plan in self.plans_]
        return np.concatenate([np.zeros(0, dtype=np.int64), *numbers]) + self.n_dense_

    def state(self, words: ArrayLike | None = None) -> EncoderState:
        """State as plain values, arrays and levels, for a model file.

        Parameters
        ----------
        words : array of int, default=None
            Numbers of the features whose words are kept; an empty array keeps none, None keeps all. Without its word a
            bucket of text is named by its number. Words, as levels, can be personal data.
        """
        self._check_fitted()
        fitted = {
            "names": self.feature_names_in_.tolist(),
            "left_out": dict(self.left_out_),
            "is_plain": self.is_plain_,
            "n_sparse": self.n_sparse_,
        }
        parameters = {name: getattr(self, name) for name in ("columns", "max_bytes", "max_levels", "n_buckets")}
        kept = None
        if words is not None:
            kept = np.zeros(self.n_sparse_, dtype=np.bool_)
            kept[np.asarray(words, dtype=np.int64) - self.n_dense_] = True
        return stored(parameters, fitted, self.plans_, kept)

    @classmethod
    def from_state(cls, state: EncoderState) -> Self:
        """The encoder with this state; a state that does not fit together is a ValueError."""
        parameters, fitted, plans = restored(state)
        made = cls(**parameters)
        made._check_parameters()
        made.plans_ = plans
        made._set_fitted(**fitted)
        return made

    def _set_fitted(self, names: Sequence[str], left_out: dict[str, str], is_plain: bool, n_sparse: int) -> None:
        """Set the attributes that `fit` learns besides the columns."""
        self.feature_names_in_, self.n_features_in_ = np.array(names, dtype=object), len(names)
        self.left_out_, self.is_plain_, self.n_sparse_ = left_out, is_plain, n_sparse

    def _start(self, table: Any) -> dict[str, Column]:
        """Check parameters, and read the columns of the first table."""
        self._check_parameters()
        if table.num_rows == 0:
            raise ValueError("the table has no rows")
        names = table.column_names
        asked = check_choices(self.columns, names)
        self.feature_names_in_ = np.array(names, dtype=object)
        self.n_features_in_ = len(names)
        read = {
            name: read_as(asked[name], name, column, ASKED, misprints=1) if name in asked else settle(name, column)
            for name, column in zip(names, table.columns, strict=True)
        }
        _warn_of_cells(read)
        return read

    def _check_fitted(self) -> None:
        if not hasattr(self, "plans_"):
            raise used_before_fit("TableEncoder")

    def _check_parameters(self) -> None:
        for name, least in (("max_levels", 1), ("max_bytes", 1), ("n_buckets", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
                raise ValueError(f"{name} must be a positive integer; got {value!r}")
        if self.n_buckets & (self.n_buckets - 1) or self.n_buckets > MOST_BUCKETS:
            raise ValueError(f"n_buckets must be a power of two, at most {MOST_BUCKETS:,}; got {self.n_buckets}")

    def _learn(self, read: dict[str, Column], left_out: dict[str, str], n_rows: int, new: NewFeatures) -> Encoded:
        """Make an encoder for each column that is not left out, and encode the first table."""
        limits = int(self.max_levels), int(self.max_bytes), int(self.n_buckets)
        self.plans_ = [
            ColumnPlan(column.kind, column.family, column.reason, make_encoder(name, column, *limits))
            for name, column in read.items()
            if name not in left_out
        ]
        self.left_out_ = left_out
        self._warn_of_formats()
        plain = (Kind.NUMBER, Kind.BOOLEAN)  # columns that an array could hold
        numbers = all(c.family in ("number", "boolean") and c.kind in plain for c in read.values())
        self.is_plain_ = numbers and not any(np.isnan(column.values).any() for column in read.values())
        return self._encode(read, n_rows, new)

    def _read(self, table: Any) -> dict[str, Column]:
        """Read the columns that have features from a later table."""
        names = set(table.column_names)
        missing = [name for name in self.feature_names_in_ if name not in names and name not in self.left_out_]
        if missing:
            near = did_you_mean(missing[0], names) if len(missing) == 1 else ""
            raise ValueError(f"columns of fit are missing: {listed(missing)}.{near}")
        read = {plan.encoder.name: plan.read(table.column(plan.encoder.name)) for plan in self.plans_}
        _warn_of_cells(read)
        return read

    def _encode(self, read: dict[str, Column], n_rows: int, new: NewFeatures | None) -> Encoded:
        entries: list[Entries] = []
        surprised, unseen = [], []
        for plan in self.plans_:
            name = plan.encoder.name
            entries.append(plan.encoder.encode(read[name], new))
            if entries[-1].new_missing:
                surprised.append(name)
            if entries[-1].unseen:
                unseen.append(f"column {name!r}: {entries[-1].unseen}")
        if new is not None:
            self.n_sparse_ = new.next
        if surprised:
            warn_user(
                f"missing values in columns that had none in fit: {listed(surprised)}. They are replaced by the mean.",
                topic="missing values",
            )
        if unseen:
            others = f"; and {len(unseen) - 5} other columns" if len(unseen) > 5 else ""
            warn_user(
                f"most categories were not seen in fit, and have no effect. {'; '.join(unseen[:5])}{others}. Check "
                "that blanks, upper and lower case, and codes are those of the table in fit",
                topic="unseen levels",
            )
        return assemble(entries, n_rows, self.n_sparse_)

    def _warn_of_formats(self) -> None:
        """Warn once of columns that became categories, but look like numbers or dates."""
        found = [plan for plan in self.plans_ if plan.reason.startswith(UNREAD)]
        if found:
            named = ", ".join(f"{plan.encoder.name!r}{plan.reason.removeprefix(UNREAD)}" for plan in found[:10])
            first = found[0].encoder.name
            warn_user(
                f"columns that look like numbers or dates in another format are read as categories: {named}. Convert "
                f"them, or pass columns={{{first!r}: 'category'}} if that is what they are"
            )

    def _warn_of_values(self, table: Any) -> None:
        """Warn once of columns that were empty in the first call and have values now."""
        empty = [name for name, why in self.left_out_.items() if why in ("no values", "blank")]
        found = [name for name in empty if settle(name, table.column(name)).kind is not Kind.DROP]
        if found:
            warn_user(
                f"columns were empty in the first call of partial_fit and have values now: {listed(found)}. "
                "They stay left out; fit again to use them."
            )
            self.left_out_ |= dict.fromkeys(found, "empty in the first call of partial_fit")


def _warn_of_cells(read: Mapping[str, Column]) -> None:
    """Warn of cells that are no numbers among numbers."""
    for kind in (Kind.NUMBER, Kind.CATEGORY):
        found = [
            (name, row_place(int(column.misprints.rows[0])), column.misprints)
            for name, column in read.items()
            if column.misprints is not None and column.kind is kind
        ]
        warn_of_misprints(found, kept=kind is Kind.NUMBER)


def _weights(sample_weight: ArrayLike | None, n_rows: int) -> NDArray[np.float64] | None:
    """Weights as floats, one for each row."""
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_rows,) or not np.all((weights >= 0) & (weights < np.inf)):
        raise ValueError(f"sample_weight must be {n_rows} finite numbers of 0 or more, one for each row")
    return weights
