"""Encoded rows that are kept in a folder, for later fits on the same files."""

from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.readers.row_input import RowInput
from sgdone.rows.block_cache import BlockCache, CacheError, Place, cache_folder
from sgdone.rows.blocks import ColumnNumbers
from sgdone.state_file.checkpoint import Checkpoint, check_identity, read_checkpoint, write_checkpoint
from sgdone.state_file.file_format import CheckpointError
from sgdone.tables import TableEncoderCore

#: Names of the two files in the folder of a cache.
_ROWS, _ABOUT = "rows.arrow", "rows.about"


@final
@dataclass(frozen=True)
class KeptRows:
    """A complete cache: the blocks, and what is needed to use them.

    Parameters
    ----------
    blocks : BlockCache
        The encoded rows.
    encoder : TableEncoder or None
        How the columns of tables were encoded; None for sparse files and arrays.
    numbers : ColumnNumbers
        How the columns of sparse files are numbered; empty for others.
    classes : ndarray or None
        The classes whose numbers are the labels.
    """

    blocks: BlockCache
    encoder: TableEncoderCore | None
    numbers: ColumnNumbers
    classes: NDArray[Any] | None


def folder_of(rows: RowInput) -> Path | None:
    """Where the encoded rows are kept for later fits; None for rows that are read once: others may come next time."""
    return rows.cache if rows.rereadable else None


def kept_rows(rows: RowInput, identity: dict[str, Any]) -> KeptRows | None:
    """The cache of the rows; None if there is none. One of other data or options is an error that says what changed."""
    folder = folder_of(rows)
    if folder is None or not (folder / _ABOUT).exists() or not (folder / _ROWS).exists():
        return None
    try:
        about = read_checkpoint(folder / _ABOUT)
        check_identity(folder / _ABOUT, about.identity, identity)
    except CheckpointError as error:
        raise CacheError(
            f"the cache in {folder} cannot be used. {error}; or delete the folder, or give another one"
        ) from error
    parts = about.parts
    places = [Place(*row) for row in parts["places"].tolist()]
    blocks = BlockCache.of_file(folder / _ROWS, places, parts["roles"])
    numbers = ColumnNumbers(parts["columns"], int(parts["n_features"]))
    return KeptRows(blocks, parts["encoder"], numbers, parts["classes"])


def keep_rows(
    blocks: BlockCache,
    identity: dict[str, Any],
    encoder: TableEncoderCore | None,
    numbers: ColumnNumbers,
    classes: NDArray[Any] | None,
) -> None:
    """Keep a complete cache under its name."""
    (blocks.folder / _ABOUT).unlink(missing_ok=True)  # it would belong to other rows for a moment
    blocks.keep()
    places = np.array([astuple(place) for place in blocks.places], dtype=np.int64).reshape(-1, 6)
    parts: dict[str, Any] = {"places": places, "roles": blocks.roles, "encoder": encoder, "classes": classes}
    parts |= {"columns": numbers.columns, "n_features": numbers.n_features}
    write_checkpoint(blocks.folder / _ABOUT, Checkpoint(identity, parts))


def new_cache(rows: RowInput) -> BlockCache:
    """An empty cache in the user's folder, or in the given one, where it will be kept if it can be used again."""
    return BlockCache(cache_folder(rows.cache), None if folder_of(rows) is None else _ROWS)


def identity_of_rows(model: Any, rows: RowInput) -> dict[str, Any]:
    """What the encoded rows depend on."""
    kinds = {str(name): str(kind) for name, kind in model._kinds_of_columns().items()}
    weight = getattr(model, "class_weight", None)
    own = {"columns": kinds, "class_weight": None if weight is None else repr(weight), "task": model._task}
    return {**rows.identity(), **own}
