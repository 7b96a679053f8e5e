"""Rows that are read in parts, from files or iterators: fits, further training, predictions, and rows for summaries."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from sgdone.fit.checkpoints import (
    CompleteCache,
    FitCheckpoints,
    custom_loss,
    folder_of,
    identity_of,
    identity_of_rows,
    keep_rows,
    kept_rows,
    new_cache,
)
from sgdone.fit.columns import FeatureNames, InputChecks, InputColumns
from sgdone.fit.fit import FitProblem, TrainedModels, TrainingRows
from sgdone.fit.followers import ProgressHook
from sgdone.fit.labels import ClassNumbers, NewClassError, labels_of, refuse_balanced, targets
from sgdone.fit.loaded_rows import LoadedRows, with_all_columns
from sgdone.fit.optimum_check import with_known_separation
from sgdone.fit.options import FitOptions
from sgdone.interfaces.stop_rule import StopRule
from sgdone.machine import interruption
from sgdone.machine.memory import memory_errors_explained
from sgdone.machine.threads import in_background
from sgdone.matrices.csr import with_unique_entries
from sgdone.readers.formats.svmlight import occurring
from sgdone.readers.row_input import IN_MEMORY, BatchInput, RowInput, all_rows, read_head
from sgdone.readers.table import Table, errors_located, tables_of_rows
from sgdone.rows.block_cache import BlockCache, cache_folder, check_space
from sgdone.rows.block_source import BlockSource, blocks_in_buffer
from sgdone.rows.blocks import BLOCK_ROWS, BlockMaker, ColumnNumbers, EncodedRows, block_rows_for, bytes_of_row
from sgdone.run import Result
from sgdone.stopping import MaxPasses
from sgdone.sums.units import Units
from sgdone.tables import TableEncoding
from sgdone.tables.warn_user import warn_once_per_topic

#: Share of the memory that the buffer of permuted rows may take.
_BUFFER_SHARE = 1 / 16
#: Bytes of a row beside its features: label, weight and hash.
_ROW_BYTES = 24
#: Tables that are read ahead.
AHEAD = 2
#: Files are large if they are this many times the size of the rows that are kept in memory: text may be longer than the
#: numbers that it stands for, but not by that much.
_LARGE = 4
#: Share of the memory that the first rows of large files take.
_FEW = 1 / 32


def row_input(X: Any) -> RowInput:
    """The rows, as something to read from."""
    return X if isinstance(X, RowInput) else BatchInput(X)


def explained_memory_errors(rows: RowInput) -> AbstractContextManager[None]:
    """Let a MemoryError say what to reduce."""
    advice = (
        f"reduce max_memory, which is {rows.max_memory:,} bytes; coefficients and levels of categories come on top of "
        "it, so use fewer columns if these are many"
    )
    return memory_errors_explained("reading the rows in parts", advice)


@final
@dataclass
class OpenedInput:
    """Rows whose first part has been read."""

    rows: RowInput
    head: list[Table]
    rest: Iterator[Table]
    complete: bool

    @classmethod
    def of(cls, rows: RowInput, *, quickly: bool = False) -> "OpenedInput":
        """Read the first part: as many rows as are kept in memory or, ``quickly``, few of files that are large."""
        tables = rows.tables()
        large = (rows.total_bytes or 0) > _LARGE * IN_MEMORY * rows.max_memory
        head, complete = read_head(tables, rows.max_memory, _FEW if quickly and large else None)
        all_rows(head[:1])
        return cls(rows, head, tables, complete)

    def tables(self) -> Iterator[Table]:
        """All rows, once more if they have been read."""
        if not self.head:
            yield from self.rows.tables()
            return
        head, rest = self.head[::-1], self.rest
        self.head, self.rest = [], iter(())
        while head:  # so that they are not kept
            yield head.pop()
        yield from rest

    def labels(self) -> NDArray[Any]:
        """The distinct labels of all rows; reads them once if they can be read again."""
        found = self._first_labels()
        if found.size != 2:  # of many classes, some may be rare
            self.head += read_head(self.rest, self.rows.max_memory)[0]
            found = self._first_labels()
        return found if found.size > 1 else self.all_labels()

    def _first_labels(self) -> NDArray[Any]:
        found = [np.unique(labels_of(table, 0)) for table in self.head]
        return np.unique(np.concatenate(found))

    def all_labels(self) -> NDArray[Any]:
        """The distinct labels of all rows, which are read for that."""
        if not self.rows.rereadable:
            raise ValueError(
                "the first rows have one class only, and the rows can be read once: shuffle them, or write them to "
                "files"
            )
        return np.unique(np.concatenate([np.unique(labels_of(table, 0)) for table in self.rows.tables()]))


@final
@dataclass(frozen=True)
class StreamedRows(TrainingRows):
    """Rows that are read in parts; if all of them fit into the memory allowed, they are fitted in memory."""

    #: Where they are read from.
    rows: RowInput
    #: Where a fit that reads them block by block writes checkpoints, and whether it goes on from the last one.
    checkpoints: FitCheckpoints | None
    #: Checks of rows in memory.
    checks: InputChecks
    #: The labels of all rows, if the first ones lack some.
    classes: NDArray[Any] | None = None

    @contextmanager
    def problem(self, options: FitOptions, hook: ProgressHook | None = None) -> Iterator[FitProblem]:
        """The problem to train: a signal ends the reading of the first rows, and later the training."""
        check_options_of_stream(options)
        ended_by_sigterm = nullcontext() if self.checkpoints is None else interruption.sigterm_raises()
        with ended_by_sigterm, explained_memory_errors(self.rows), self._opened(options) as problem:
            yield problem

    def with_all_classes(self, error: NewClassError) -> "StreamedRows":
        """The rows, whose labels have been read to the last one."""
        if not self.rows.rereadable:
            raise NewClassError(f"{error}. Rows that are read once must show all classes at first") from None
        with explained_memory_errors(self.rows):
            return replace(self, classes=OpenedInput.of(self.rows).all_labels())

    def _opened(self, options: FitOptions) -> AbstractContextManager[FitProblem]:
        """Rows that an earlier fit has kept, or rows in memory, or blocks of rows that are read now."""
        identity = identity_of(options, self.rows)
        stored = None
        if self.checkpoints is not None and self.classes is None:
            stored = self.checkpoints.read(identity, custom_loss(options))
        fit = _BlockFit(self.rows, options, identity, self.checkpoints, stored)
        kept = kept_rows(self.rows, identity_of_rows(options, self.rows)) if options.encodes_tables else None
        if kept is not None and self.classes is None:
            return fit.on_kept(kept)
        opened = OpenedInput.of(self.rows, quickly=options.encodes_tables and self.classes is None)
        if opened.complete:
            return self._in_memory(options, all_rows(opened.head))
        if not options.encodes_tables:
            name = options.estimator
            raise ValueError(
                f"{name} trains on rows in memory, and these do not fit into max_memory="
                f"{self.rows.max_memory:,} bytes: use {name.replace('SGD', 'Linear')}, or partial_fit"
            )
        if not options.is_classifier:
            return fit.on_new(opened, None)
        classes = self.classes if self.classes is not None else opened.labels() if stored is None else stored["classes"]
        return fit.on_new(opened, classes)

    @contextmanager
    def _in_memory(self, options: FitOptions, table: Table) -> Iterator[FitProblem]:
        """All rows at once; columns of sparse files that never appear are left out of training if they are most."""
        with errors_located(table.place):
            labels, X = labels_of(table, 0), table.X
            columns = occurring(X) if sparse.issparse(X) and options.encodes_tables else None
            numbers = ColumnNumbers() if columns is None or not columns.size else ColumnNumbers(columns, X.shape[1])
            X = numbers.of(with_unique_entries(X)) if numbers.n_features else X
            rows = LoadedRows.for_fit(X, labels, table.weights, options, self.checks)
            with rows.problem(options) as problem:
                yield replace(problem, finish=partial(_of_all_columns, problem, numbers))


def _of_all_columns(problem: FitProblem, numbers: ColumnNumbers, results: list[Result]) -> TrainedModels:
    """Results of rows without the columns that never appear, as those of all columns."""
    found = problem.finish(results)
    if not numbers.n_features:
        return found

    def widened(values: NDArray[np.float64] | None) -> NDArray[np.float64]:
        assert values is not None
        wide = np.zeros(numbers.n_features)
        wide[numbers.columns] = values
        return wide

    problem.columns.count = numbers.n_features
    wide_results = [with_all_columns(result, numbers) for result in found.results]
    return TrainedModels(wide_results, widened(found.feature_std), widened(found.feature_share))


def check_options_of_stream(options: FitOptions) -> None:
    """Raise for options that a fit to rows read in parts cannot have."""
    if options.warm_start:
        raise ValueError("warm_start=True needs rows in memory: to continue from a model use partial_fit")
    refuse_balanced(options.class_weight)


def refuse_given(given: Sequence[tuple[str, Any]]) -> None:
    """Raise for arguments that only rows in memory have."""
    for name, value in given:
        if value is not None:
            raise ValueError(f"{name} must be None when X is a source: the source contains it")


@final
@dataclass(frozen=True)
class _BlockFit:
    """A fit block by block; ``stored`` are the parts of a checkpoint to go on from."""

    rows: RowInput
    options: FitOptions
    identity: dict[str, Any]
    checkpoints: FitCheckpoints | None
    stored: dict[str, Any] | None

    def on_kept(self, kept: CompleteCache) -> AbstractContextManager[FitProblem]:
        """Fit on rows that an earlier fit has kept."""
        source = self._source(kept.blocks.in_order, kept.blocks, kept.encoder, kept.numbers)
        return self._problem(source, kept.classes, kept.encoder, kept.numbers)

    def on_new(self, opened: OpenedInput, classes: NDArray[Any] | None) -> AbstractContextManager[FitProblem]:
        """Fit on rows whose first part has been read."""
        options, rows = self.options, self.rows
        if classes is not None and classes.size < 2:
            raise ValueError(f"the rows have one class only ({classes.tolist()[0]!r}): a classifier needs two or more")
        target = targets if classes is None else ClassNumbers(classes, options.class_weight)
        is_table = isinstance(opened.head[0].X, pa.Table)
        encoder = TableEncoding(options.kinds_of_columns or None)
        block_rows, together = block_rows_for(opened.head, rows.max_memory), 1
        if not is_table and options.shuffle:
            block_bytes = block_rows * bytes_of_row(opened.head, rows.max_memory)
            together = blocks_in_buffer(block_bytes, _BUFFER_SHARE * rows.max_memory)
        maker = BlockMaker(encoder, target, block_rows, together)
        cache = None
        if rows.cache is not None or (rows.rereadable and options.stop.max_passes != 1):
            _check_space(cache_folder(rows.cache), opened)
            cache = new_cache(rows)

        def complete() -> None:
            if cache is not None and folder_of(rows) is not None:
                keep_rows(cache, identity_of_rows(options, rows), encoder if is_table else None, maker.numbers, classes)

        own, numbers = encoder if is_table else None, maker.numbers
        source = self._source(lambda: maker.blocks(opened.tables()), cache, own, numbers, complete)
        return self._problem(source, classes, own, numbers)

    def _source(
        self,
        first_pass: Callable[[], Iterator[EncodedRows]],
        cache: BlockCache | None,
        encoder: TableEncoding | None,
        numbers: ColumnNumbers,
        on_complete: Callable[[], None] | None = None,
    ) -> BlockSource:
        return BlockSource(
            first_pass,
            cache,
            on_complete=on_complete,
            seed=self.options.seed if self.stored is None else int(self.stored["seed"]),
            shuffle=self.options.shuffle,
            endless=isinstance(self.rows, BatchInput) and cache is None,
            buffer_bytes=int(_BUFFER_SHARE * self.rows.max_memory),
            feature_names=numbers if encoder is None else FeatureNames(encoder),
        )

    @contextmanager
    def _problem(
        self,
        source: BlockSource,
        classes: NDArray[Any] | None,
        encoder: TableEncoding | None,
        numbers: ColumnNumbers,
    ) -> Iterator[FitProblem]:
        """The problem to train on the blocks of a source."""
        options, kept = self.options, self.checkpoints
        columns = InputColumns.of(options)

        def finish(results: list[Result]) -> TrainedModels:
            if encoder is None:
                columns.count = numbers.n_features or source.n_features
            else:
                source.close()  # nothing more is read ahead
                columns.take_from(encoder)
                results = [_with_levels_read_ahead(result, columns) for result in results]
            results = [with_all_columns(result, numbers) for result in results]
            if options.is_classifier and options.parameters["check_optimum"] is not False:
                results = [with_known_separation(result, source.n_rows or 0) for result in results]
            return TrainedModels(results, *features_measured(results[0].state.units))

        try:
            yield FitProblem(
                sources=[lambda: source],
                objective=options.objective(1, None if classes is None else classes.size),
                method=options.method,
                exact_phase=options.exact_phase(in_memory=False),
                stop=_rule(options, source),
                columns=columns,
                classes=classes,
                finish=finish,
                checkpoints=None if kept is None else kept.of_run(self.identity, source.seed, classes, self.stored),
            )
        finally:
            source.close()


def _with_levels_read_ahead(result: Result, columns: InputColumns) -> Result:
    """The result with the features of rows that were encoded, but not trained on: their coefficients are 0."""
    assert columns.encoder is not None
    width = columns.encoder.n_features_out_
    count, roles = width - result.model.coef.shape[1], columns.roles(width)
    if count <= 0 or roles is None:
        return result
    result.state.append_features(roles[-count:])
    return replace(result, model=result.model._replace(coef=np.pad(result.model.coef, [(0, 0), (0, count)])))


def _rule(options: FitOptions, source: BlockSource) -> StopRule:
    """The rule of the fit; rows that can be read once have one pass."""
    rule = options.stop
    return rule if source.can_be_read_again or rule.max_passes == 1 else rule | MaxPasses(1)


def _check_space(folder: Path, opened: OpenedInput) -> None:
    """Raise if the rows, as far as the first part tells, do not fit on the disk."""
    total, read = opened.rows.total_bytes, opened.rows.bytes_read
    if total is None or not read:
        return
    head = sum(12 * table.X.nnz if hasattr(table.X, "nnz") else table.X.nbytes for table in opened.head)
    head += _ROW_BYTES * sum(table.X.shape[0] for table in opened.head)
    check_space(folder, int(head * total / read))


def features_measured(units: Units) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Standard deviations of the features and the shares of rows that have them, as the units were estimated."""
    own = slice(units.n_dense, None)
    shares, spreads = np.ones(units.n_features), units.spreads.copy()
    shares[own] = units.firsts[own] / max(1, units.rows)
    # Levels and missing values are 0 or 1; of other entries the mean is not known, and the root mean square stands.
    ones = np.isclose(spreads[own] ** 2, shares[own])
    spreads[own] = np.where(ones, np.sqrt(np.maximum(shares[own] * (1.0 - shares[own]), 0.0)), spreads[own])
    return spreads, shares


def train_in_parts(X: Any, train: Callable[[Table, NDArray[Any], NDArray[Any] | None], None], classes: bool) -> None:
    """Train on rows in their order, block by block: ``train`` gets a table, its labels and, on request, all classes."""
    rows = row_input(X)
    with explained_memory_errors(rows):
        opened = OpenedInput.of(rows)
        known = opened.labels() if classes else None
        number = 0
        with closing(in_background(opened.tables(), AHEAD)) as tables:
            for table in tables_of_rows(tables, BLOCK_ROWS):
                with errors_located(table.place):
                    train(table, labels_of(table, number), known)
                number += table.X.shape[0]


def predicted_in_parts(X: Any, predict: Callable[[Any], Any]) -> Iterator[Any]:
    """Yield the predictions of the rows, a part at a time; labels need not be there."""
    rows = row_input(X)
    with (
        explained_memory_errors(rows),
        closing(in_background(rows.tables(labelled=False), AHEAD)) as tables,  # a generator
    ):
        topics = set[str]()
        for table in tables:
            with errors_located(table.place), warn_once_per_topic(topics):
                predictions = predict(table.X)
            yield predictions
