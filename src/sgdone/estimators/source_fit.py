"""Fits, further training and predictions on rows that are read in parts."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from sgdone.fit.checkpoints import (
    FitCheckpoints,
    KeptRows,
    custom_loss,
    folder_of,
    identity_of,
    identity_of_rows,
    keep_rows,
    kept_rows,
    new_cache,
    snapshot_of,
)
from sgdone.fit.fitted_model import give_all_columns, with_all_columns
from sgdone.fit.labels import ClassNumbers, NewClassError, labels_of, refuse_balanced, targets
from sgdone.fit.open_rows import FeatureNames, OpenedInput, explained_memory_errors, row_input
from sgdone.fit.options import as_bool
from sgdone.fit.training import Start
from sgdone.interfaces.stop_rule import StopRule
from sgdone.machine import interruption
from sgdone.machine.threads import in_background
from sgdone.matrices.csr import with_unique_entries
from sgdone.readers.occurring_columns import occurring
from sgdone.readers.row_input import BatchInput, RowInput, all_rows
from sgdone.readers.table import Table, errors_located, tables_of_rows
from sgdone.rows.block_cache import BlockCache, cache_folder, check_space
from sgdone.rows.block_source import BlockSource, blocks_in_buffer
from sgdone.rows.blocks import BLOCK_ROWS, BlockMaker, ColumnNumbers, block_rows_for, bytes_of_row
from sgdone.stopping import MaxPasses
from sgdone.sums.units import Units
from sgdone.tables import TableEncoderCore
from sgdone.tables.warn_user import one_warning_a_topic

#: Share of the memory that the buffer of permuted rows may take.
_BUFFER_SHARE = 1 / 16
#: Bytes of a row beside its features: label, weight and hash.
_ROW_BYTES = 24


def fit_rows(model: Any, X: Any, given: Sequence[tuple[str, Any]], checkpoints: FitCheckpoints | None) -> Any:
    """Fit on rows that are read in parts; ``given`` are arguments of ``fit`` that only rows in memory take."""
    _check_arguments(model, given)
    rows = row_input(X)
    ended_by_sigterm = nullcontext() if checkpoints is None else interruption.sigterm_raises()
    with ended_by_sigterm, explained_memory_errors(rows):
        return _fitted(model, rows, checkpoints)


def _fitted(model: Any, rows: RowInput, checkpoints: FitCheckpoints | None) -> Any:
    identity = identity_of(model, rows)
    stored = None if checkpoints is None else checkpoints.read(identity, custom_loss(model))
    fit = _BlockFit(model, rows, identity, checkpoints)
    kept = kept_rows(rows, identity_of_rows(model, rows)) if model._encodes_tables else None
    if kept is not None:
        return fit.on_kept(kept, stored)
    opened = OpenedInput.of(rows, quickly=model._encodes_tables)
    if opened.complete:
        table = all_rows(opened.head)
        with errors_located(table.place):
            return _fit_in_memory(model, table)
    if not model._encodes_tables:
        raise ValueError(
            f"{model.public_name} trains on rows in memory, and these do not fit into max_memory="
            f"{rows.max_memory:,} bytes: use {model.public_name.replace('SGD', 'Linear')}, or partial_fit"
        )
    if model._task == "regression":
        return fit.on_new(opened, None, stored)
    classes = opened.labels() if stored is None else stored["classes"]
    try:
        return fit.on_new(opened, classes, stored)
    except NewClassError as error:
        if not rows.rereadable:
            raise NewClassError(f"{error}. Rows that are read once must show all classes at first") from None
        return fit.on_new(OpenedInput.of(rows), opened.all_labels(), None)


def _fit_in_memory(model: Any, table: Table) -> Any:
    """Fit all rows at once; columns of sparse files that never appear are left out of training if they are most."""
    labels, X = labels_of(table, 0), table.X
    columns = occurring(X) if sparse.issparse(X) and model._encodes_tables else None
    if columns is None or not columns.size:
        return model.fit(X, labels, sample_weight=table.weights)
    numbers = ColumnNumbers(columns, X.shape[1])
    model.fit(numbers.of(with_unique_entries(X)), labels, sample_weight=table.weights)
    return give_all_columns(model, numbers)


@final
@dataclass(frozen=True)
class _BlockFit:
    """A fit block by block."""

    model: Any
    rows: RowInput
    identity: dict[str, Any]
    checkpoints: FitCheckpoints | None

    def on_kept(self, kept: KeptRows, stored: dict[str, Any] | None) -> Any:
        """Fit on rows that an earlier fit has kept."""
        encoder = None if kept.encoder is None else self.model._encoder_class.from_state(kept.encoder.state())
        cache = _ReadOnly(kept.blocks)
        source = self._source(kept.blocks.in_order, cache, encoder, kept.numbers, self._seed(stored))
        return self._fit(source, kept.classes, encoder, kept.numbers, stored)

    def on_new(self, opened: OpenedInput, classes: NDArray[Any] | None, stored: dict[str, Any] | None) -> Any:
        """Fit on rows whose first part has been read; ``stored`` is a checkpoint to go on from."""
        model, rows = self.model, self.rows
        if classes is not None and classes.size < 2:
            raise ValueError(f"the rows have one class only ({classes.tolist()[0]!r}): a classifier needs two or more")
        target = targets if classes is None else ClassNumbers(classes, model.class_weight)
        is_table = isinstance(opened.head[0].X, pa.Table)
        encoder = model._encoder_class(model._kinds_of_columns() or None)
        block_rows, together = block_rows_for(opened.head, rows.max_memory), 1
        if not is_table and as_bool("shuffle", model.shuffle):
            block_bytes = block_rows * bytes_of_row(opened.head, rows.max_memory)
            together = blocks_in_buffer(block_bytes, _BUFFER_SHARE * rows.max_memory)
        maker = BlockMaker(encoder, target, block_rows, together)
        cache = None
        if rows.cache is not None or (rows.rereadable and model._rule().max_passes != 1):
            _check_space(cache_folder(rows.cache), opened)
            cache = new_cache(rows)

        def complete() -> None:
            if cache is not None and folder_of(rows) is not None:
                keep_rows(cache, identity_of_rows(model, rows), encoder if is_table else None, maker.numbers, classes)

        own, numbers = encoder if is_table else None, maker.numbers
        source = self._source(lambda: maker.blocks(opened.tables()), cache, own, numbers, self._seed(stored), complete)
        return self._fit(source, classes, own, numbers, stored)

    def _seed(self, stored: dict[str, Any] | None) -> int:
        return int(self.model._seed() if stored is None else stored["seed"])

    def _source(
        self,
        first_pass: Any,
        cache: Any,
        encoder: TableEncoderCore | None,
        numbers: ColumnNumbers,
        seed: int,
        on_complete: Any = None,
    ) -> BlockSource:
        return BlockSource(
            first_pass,
            cache,
            on_complete=on_complete,
            seed=seed,
            shuffle=as_bool("shuffle", self.model.shuffle),
            endless=isinstance(self.rows, BatchInput) and cache is None,
            buffer_bytes=int(_BUFFER_SHARE * self.rows.max_memory),
            feature_names=numbers if encoder is None else FeatureNames(encoder),
        )

    @interruption.remembered()
    def _fit(
        self,
        source: BlockSource,
        classes: NDArray[Any] | None,
        encoder: TableEncoderCore | None,
        numbers: ColumnNumbers,
        stored: dict[str, Any] | None,
    ) -> Any:
        """Train, and make the model a fitted one."""
        model, options = self.model, dict[str, Any]()
        model._n_outputs = 1 if classes is None or classes.size == 2 else classes.size
        if self.checkpoints is not None:
            options["checkpoints"] = self.checkpoints.writer(self.identity, source.seed, classes)
        if stored is not None:
            options["snapshot"] = snapshot_of(stored)
        objective = model._objective(1, None if classes is None else classes.size)
        try:
            phases, rule = model._phases(in_memory=False), _rule(model, source)
            (found,) = model._run([lambda: source], objective, phases, rule, [Start()], [""], **options)
        finally:
            source.close()
        results = [with_all_columns(found, numbers)]
        for name in ("encoder_", "feature_names_in_"):
            model.__dict__.pop(name, None)
        n_features = model.n_features_in_ = numbers.n_features or source.n_features
        if encoder is not None:
            model.encoder_, model.n_features_in_ = encoder, encoder.n_features_in_
            model.feature_names_in_ = encoder.feature_names_in_
        attributes = model._fitted_attributes(results, [None], n_features)
        if classes is not None:
            attributes |= {"classes_": classes, "multinomial_": objective.predicts == "softmax"}
        model._keep(attributes | features_measured(results[0].state.units), partial_fit=False)
        return model


def _rule(model: Any, source: BlockSource) -> StopRule:
    """The rule of the model; rows that can be read once have one pass."""
    rule: StopRule = model._rule()
    return rule if source.can_be_read_again or rule.max_passes == 1 else rule | MaxPasses(1)


@final
class _ReadOnly:
    """Blocks of a complete cache: what is read from it is not written again."""

    def __init__(self, blocks: BlockCache) -> None:
        self._blocks = blocks
        self.read, self.close = blocks.read, blocks.close

    def __len__(self) -> int:
        return len(self._blocks)

    def write(self, block: Any) -> None:
        """Nothing: it is there."""


def _check_space(folder: Path, opened: OpenedInput) -> None:
    """Raise if the rows, as far as the first part tells, do not fit on the disk."""
    total, read = opened.rows.total_bytes, opened.rows.bytes_read
    if total is None or not read:
        return
    head = sum(table.X.nbytes if isinstance(table.X, pa.Table) else 12 * table.X.nnz for table in opened.head)
    head += _ROW_BYTES * sum(table.X.shape[0] for table in opened.head)
    check_space(folder, int(head * total / read))


def features_measured(units: Units) -> dict[str, Any]:
    """Standard deviations of the features and the shares of rows that have them, as the units were estimated."""
    own = slice(units.n_dense, None)
    shares, spreads = np.ones(units.n_features), units.spreads.copy()
    shares[own] = units.firsts[own] / max(1, units.rows)
    # Levels and gaps are 0 or 1; of other entries the mean is not known, and the root mean square stands.
    ones = np.isclose(spreads[own] ** 2, shares[own])
    spreads[own] = np.where(ones, np.sqrt(np.maximum(shares[own] * (1.0 - shares[own]), 0.0)), spreads[own])
    return {"feature_std_": spreads, "feature_share_": shares}


def _check_arguments(model: Any, given: Sequence[tuple[str, Any]]) -> None:
    """Raise for arguments that a fit on rows read in parts does not take."""
    for name, value in given:
        if value is not None:
            raise ValueError(f"{name} is not taken with rows that are read in parts: they have their own")
    if as_bool("warm_start", model.warm_start):
        raise ValueError("warm_start=True needs rows in memory: to continue from a model use partial_fit")
    refuse_balanced(getattr(model, "class_weight", None))


#: Tables that are read ahead.
_AHEAD = 2


def partial_fit_rows(model: Any, X: Any, y: Any, sample_weight: Any, **options: Any) -> Any:
    """Train on the rows in their order, a block at a time; labels and weights are those of the rows."""
    for name, value in (("y", y), ("sample_weight", sample_weight)):
        if value is not None:
            raise ValueError(f"{name} is not taken with rows that are read in parts: they have their own")
    rows = row_input(X)
    with explained_memory_errors(rows):
        return _trained(model, OpenedInput.of(rows), options)


def _trained(model: Any, opened: OpenedInput, options: dict[str, Any]) -> Any:
    first = not hasattr(model, "_results")
    if first and "classes" in options and options["classes"] is None:
        options["classes"] = opened.labels()
    tables = in_background(opened.tables(), _AHEAD)
    number = 0
    with closing(tables):
        for table in tables_of_rows(tables, BLOCK_ROWS):
            with errors_located(table.place):
                model.partial_fit(table.X, labels_of(table, number), sample_weight=table.weights, **options)
            number += table.X.shape[0]
    return model


def predicted_in_parts(X: Any, predict: Callable[[Any], Any]) -> Iterator[Any]:
    """Yield the predictions of the rows, a part at a time; labels need not be there."""
    rows = row_input(X)
    with (
        explained_memory_errors(rows),
        closing(in_background(rows.tables(labelled=False), _AHEAD)) as tables,  # a generator
    ):
        topics = set[str]()
        for table in tables:
            with errors_located(table.place), one_warning_a_topic(topics):
                predictions = predict(table.X)
            yield predictions
