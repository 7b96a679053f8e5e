"""Standard errors of a model whose rows are in partitions, in rounds of sums."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, final
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from sgdone.cluster.messages import PartitionError, to_bytes
from sgdone.cluster.partition import LabelCoding, Partition
from sgdone.cluster.rounds import Rounds
from sgdone.cluster.statistics import Statistics
from sgdone.fit.fitted_model import FittedModel
from sgdone.fit.summaries import SummaryOptions, encoder_of_levels, unpenalised_problem
from sgdone.inference import Summary
from sgdone.inference.coefficients import SummarisedModel, chosen_columns
from sgdone.inference.factors import EncodedLevels, LevelFacts, LevelMap, divisions_of
from sgdone.inference.reference_coding import FeatureChoice, ReferenceCoding, coding_of
from sgdone.inference.sample import Sample
from sgdone.inference.sample_rows import SamplePreparation, SampleRows
from sgdone.inference.summarise import summarise
from sgdone.interfaces.objective import Objective
from sgdone.machine.threads import single_thread
from sgdone.rows.rows import Rows
from sgdone.sums.row_sum import SHARED, RowSum, WrappedSum, message
from sgdone.sums.second_order import SecondOrder, SecondOrderAt

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@final
@message
@dataclass(frozen=True)
class LevelSums(LevelFacts):
    """Facts about the levels of the rows of partitions; the levels of all divisions are numbered through."""

    #: Number of levels of each division, and weights of the rows of each level.
    sizes: NDArray[np.int64]
    of_levels: Array
    #: Divisions × levels: attributes of the `LevelMap` of each division by the levels of all others.
    found: NDArray[np.int32]
    mixed: Mask
    #: Divisions × levels: whether each level is open in the map by each division.
    open: Mask
    #: Levels × classes: whether rows of a level have a class.
    classes: Mask
    #: The first value of each column of numbers, and whether all rows have it.
    first: Array
    same: Mask
    #: Values in the levels of a division, by the numbers of column and division; only if each level has one value.
    numbers: dict[tuple[int, int], Array]

    @classmethod
    def of(cls, facts: EncodedLevels, n_classes: int) -> "LevelSums":
        """All facts about rows."""
        divisions = range(len(facts.weights))
        sizes = np.array([own.size for own in facts.weights], dtype=np.int64)
        places, total = _places(sizes), int(sizes.sum())
        shape = sizes.size, total
        found, mixed, open_ = np.full(shape, -1, np.int32), np.zeros(shape, bool), np.zeros(shape, bool)
        for of in divisions:
            for by in divisions:
                own = facts.map(of, by)
                found[of, places[by]], mixed[of, places[by]], open_[by, places[of]] = own.found, own.mixed, own.open
        columns = range(facts.n_dense)
        values = {(j, k): facts.values(j, k) for j in columns for k in divisions}
        return cls(
            sizes,
            np.concatenate([*facts.weights, np.empty(0)]),
            found,
            mixed,
            open_,
            np.concatenate([np.zeros((0, n_classes), bool), *(facts.has_class(k, n_classes) for k in divisions)]),
            np.array([facts.column(j)[0] for j in columns], dtype=np.float64),
            np.array([facts.is_constant(j) for j in columns], dtype=bool),
            {pair: own for pair, own in values.items() if own is not None},
        )

    def merge(self, other: "LevelSums") -> "LevelSums":
        """The facts about the rows of both."""
        found = np.where(self.found >= 0, self.found, other.found)
        apart = (self.found >= 0) & (other.found >= 0) & (self.found != other.found)
        mixed, open_ = self.mixed | other.mixed | apart, self.open | other.open
        starts, division = np.cumsum(self.sizes) - self.sizes, np.repeat(np.arange(self.sizes.size), self.sizes)
        for own in (self.found, other.found):
            of, level = np.nonzero(mixed & (own >= 0))
            open_[division[level], starts[of] + own[of, level]] = True
        found[mixed] = -1
        both = (
            (pair, _joined(own, other.numbers[pair])) for pair, own in self.numbers.items() if pair in other.numbers
        )
        return LevelSums(
            self.sizes,
            self.of_levels + other.of_levels,
            found,
            mixed,
            open_,
            self.classes | other.classes,
            self.first,
            self.same & other.same & (self.first == other.first),
            {pair: own for pair, own in both if own is not None},
        )

    @property
    def weights(self) -> list[Array]:
        """Weights of the rows of each level, for each division."""
        return [self.of_levels[place] for place in _places(self.sizes)]

    @property
    def n_dense(self) -> int:
        """Number of columns of numbers."""
        return int(self.first.size)

    def map(self, of: int, by: int) -> LevelMap:
        """The levels of division ``of`` in each level of division ``by``."""
        places = _places(self.sizes)
        found = self.found[of, places[by]].astype(np.intp)
        return LevelMap(found, self.mixed[of, places[by]], self.open[by, places[of]])

    def n_classes(self, division: int) -> NDArray[np.intp]:
        """Number of classes among the rows of each level."""
        return np.asarray(self.classes[_places(self.sizes)[division]].sum(axis=1))

    def is_constant(self, column: int) -> bool:
        """Whether a column of numbers has one value in all rows."""
        return bool(self.same[column])

    def values(self, column: int, division: int) -> Array | None:
        """The value of a column of numbers in each level; None if a level has several."""
        return self.numbers.get((column, division))


def _places(sizes: NDArray[np.int64]) -> list[slice]:
    ends = np.cumsum(sizes).tolist()
    return [slice(end - size, end) for end, size in zip(ends, sizes.tolist(), strict=True)]


def _joined(first: Array, second: Array) -> Array | None:
    """Values in levels from either side, NaN where unknown; None if they differ."""
    if np.any((first != second) & ~np.isnan(first) & ~np.isnan(second)):
        return None
    return np.where(np.isnan(first), second, first)


@final
@message
@dataclass(frozen=True)
class LevelFactsSum(RowSum):
    """Ask for facts about the levels of the rows, given the features of each division."""

    coding: LabelCoding
    features: list[NDArray[np.int64]]

    def of(self, partition: Partition) -> LevelSums | None:
        """The facts about these rows."""
        weight, classes = partition.weights(self.coding.class_weights), self.coding.classes
        if weight is not None and not np.any(weight > 0):
            return None
        numbers, count = None, 0
        if classes is not None:
            labels, count = self.coding.labels(partition.y), classes.size
            numbers = (labels > 0 if count == 2 else labels).astype(np.intp)
        return LevelSums.of(EncodedLevels(partition.X, self.features, numbers, weight), count)


message(FeatureChoice)


@final
@message
@dataclass(frozen=True)
class SummaryProblem:
    """Problem of a summary, without a penalty; the same for all partitions."""

    objective: Objective
    coding: LabelCoding
    #: Features of the summary, if they are not those of the partitions; and their names.
    choice: FeatureChoice | None
    names: list[str]
    #: Whether rows have groups.
    grouped: bool
    #: Preparation of the rows before they are added up.
    preparation: SamplePreparation = field(default_factory=SamplePreparation)
    #: Identifies the problem in later rounds.
    key: str = ""

    def prepared(self, preparation: SamplePreparation) -> "SummaryProblem":
        """The problem with another preparation, and a key by which partitions recognise it."""
        plain = replace(self, preparation=preparation, key="")
        return replace(plain, key=hashlib.sha256(to_bytes(plain)).hexdigest())

    def rows(self, partition: Partition) -> SampleRows:
        """The rows of a partition."""
        block = partition.block_of(self.coding.labels(partition.y), self.coding.class_weights)
        matrix = partition.X if self.choice is None else self.choice.rows(partition.X)
        if matrix.shape[1] != len(self.names):
            raise ValueError(f"the rows have {matrix.shape[1]} columns, the model has {len(self.names)}")
        block = replace(block, rows=Rows.of(matrix, names=self.names))
        block.rows.check_indices()
        if self.grouped and partition.groups is None:
            raise ValueError("cov='cluster' needs the groups of the rows: give each partition its groups")
        groups = partition.groups if self.grouped else None
        return SampleRows(block, groups, number=partition.number).prepared(self.preparation)


#: Cached rows of the last problem of each partition; the cache never changes a result.
_KEPT: "WeakKeyDictionary[Partition, tuple[str, SampleRows]]" = WeakKeyDictionary()


@final
@message
@dataclass(frozen=True)
class SampleSum(WrappedSum):
    """A sum over the rows of a summary."""

    problem: SummaryProblem = field(metadata=SHARED)

    def of(self, partition: Partition) -> Any:
        """The sum over these rows."""
        known = _KEPT.get(partition)
        if known is None or known[0] != self.problem.key:
            known = _KEPT[partition] = self.problem.key, self.problem.rows(partition)
        return self.request.of(known[1])


@final
class PartitionedSample:
    """The rows of all partitions. Each sum is a round; the curvature at the last model is cached."""

    local_rows = None

    def __init__(self, rounds: Rounds, problem: SummaryProblem) -> None:
        self._rounds, self._problem = rounds, problem
        self._last: tuple[SecondOrderAt, SecondOrder] | None = None

    def prepared(self, preparation: SamplePreparation) -> "PartitionedSample":
        """The rows, prepared for sums."""
        return PartitionedSample(self._rounds, self._problem.prepared(preparation))

    def sum(self, request: RowSum) -> Any:
        """The sum over the rows of all partitions."""
        if not isinstance(request, SecondOrderAt):
            return self._ask(request)
        if self._last is not None:
            full, sums = self._last
            mine, theirs = full.system, request.system
            same = mine.objective == theirs.objective and mine.scaling.is_same(theirs.scaling)
            # Sums with the curvature also answer requests without it.
            if same and request.curvature in ("full", "none") and np.array_equal(full.model, request.model):
                return sums
        found: SecondOrder = self._ask(request)
        if request.curvature == "full":
            self._last = request, found
        return found

    def _ask(self, request: RowSum) -> Any:
        try:
            found = self._rounds.sum(SampleSum(request, self._problem))
        except ValueError as error:
            raise PartitionError(str(error)) from error
        if found is None:
            raise ValueError("no partition has a row of positive weight: there is nothing to summarise")
        return found


@final
@message
@dataclass(frozen=True)
class InputForm:
    """Number of columns, and whether the rows are tables."""

    partition: int
    n_columns: int
    is_table: bool

    def merge(self, other: "InputForm") -> "InputForm":
        """The form of both; raise if they differ."""
        if (self.n_columns, self.is_table) != (other.n_columns, other.is_table):
            here, there = (
                f"{'a data frame' if own.is_table else 'an array'} of {own.n_columns} columns" for own in (self, other)
            )
            raise PartitionError(
                f"partition {self.partition} is {here}, partition {other.partition} is {there}: all need the same "
                "columns"
            )
        return self


@final
@message
@dataclass(frozen=True)
class InputFormSum(RowSum):
    """Ask for the form of the rows."""

    def of(self, partition: Partition) -> InputForm:
        """The form of these rows."""
        return InputForm(partition.number, int(partition.X.shape[1]), partition.is_table)


def encode_tables(rounds: Rounds, model: FittedModel, n_features: int) -> None:
    """Encode tables by the encoder of the model; raise for rows that are not those of the model."""
    form: InputForm = rounds.sum_of_rows(InputFormSum(), "summarise")
    encoder = model.encoder_
    if form.is_table and encoder is None:
        raise ValueError(
            "the partitions hold data frames, but the model was fitted to arrays: give the rows of the fit"
        )
    if form.is_table:
        rounds.encode(encoder)
    elif form.n_columns != n_features:
        raise ValueError(f"the partitions have {form.n_columns} columns, but the model has {n_features}")


def summarise_partitions(
    rounds: Rounds,
    model: FittedModel,
    *,
    cov: Literal["robust", "classical", "cluster"] = "robust",
    columns: Sequence[Any] | None = None,
    level: float = 0.95,
    reference: Any = None,
    weights: Literal["frequency", "sampling"] = "frequency",
) -> Summary:
    """Standard errors, p-values and intervals of a model whose rows are in partitions.

    The summary is that of ``model.summary(X, y)`` on one machine. The rows stay where they are: models are sent to the
    partitions, and sums come back. Tables are encoded by the encoder of the model; "cluster" needs the ``groups`` of
    each partition.

    Examples
    --------
    >>> from sgdone import LinearRegressor
    >>> from sgdone.cluster import LocalEngine, Partition
    >>> from sgdone.estimators import fitted_model
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 2))
    >>> y = X @ [1.0, -2.0] + rng.standard_normal(300)
    >>> model = LinearRegressor().fit(X, y)
    >>> parts = [Partition(k, X[k::4], y[k::4]) for k in range(4)]
    >>> found = summarise_partitions(Rounds(LocalEngine(parts)), fitted_model(model))
    >>> bool(np.allclose(found.std_err, model.summary(X, y).std_err))
    True
    """
    groups: list[Any] | None = [] if cov == "cluster" else None  # each partition has its own
    options = SummaryOptions(cov, groups, columns, level, reference, weights)
    objective, fitted = unpenalised_problem(model, options)
    with single_thread(), np.errstate(over="ignore", invalid="ignore"):
        encode_tables(rounds, model, len(fitted.feature_names))
        classes = model.classes_
        given, weights_of_classes = model.options.class_weight, None
        if given is not None:
            weights_of_classes = rounds.sum(Statistics("classification")).labels.class_weights(given)
        labels = LabelCoding(classes, weights_of_classes)
        coding = _coding(rounds, model, objective, labels, fitted)
        chosen = chosen_columns(columns, fitted.feature_names, coding)
        if coding is not None:
            fitted = coding.model(fitted)
        names, choice = list(fitted.feature_names), None if coding is None else coding.choice
        problem = SummaryProblem(objective, labels, choice, names, cov == "cluster")
        sample = Sample.of(objective, PartitionedSample(rounds, problem), weights)
        if classes is not None and not np.all(sample.facts.classes > 0):
            missing = classes[sample.facts.classes == 0].tolist()[0]
            raise ValueError(
                f"no partition has a row of the class {missing!r}: give the rows of the fit, with all classes"
            )
        return replace(summarise(sample, fitted, cov, chosen, float(level)), coding=coding)


def _coding(
    rounds: Rounds, model: FittedModel, objective: Objective, labels: LabelCoding, fitted: SummarisedModel
) -> ReferenceCoding | None:
    """The features of a summary of tables; None if the columns were numbers."""
    encoder = encoder_of_levels(model)
    if encoder is None:
        return None
    columns, names = encoder.column_features(), fitted.feature_names
    divisions = divisions_of(columns, names)
    features = [own.features for own in divisions]
    facts: LevelSums = rounds.sum_of_rows(LevelFactsSum(labels, features), "summarise")
    coding = coding_of(columns, names, divisions, facts, fit_intercept=objective.fit_intercept)
    return replace(coding, left_out={**encoder.left_out_, **coding.left_out})
