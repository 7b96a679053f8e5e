"""Checkpoints of a fit on rows that are read in parts, and encoded rows that are kept for later fits."""

import os
from contextlib import suppress
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.fit.options import FitOptions
from sgdone.losses import CustomLoss
from sgdone.losses.loss import real_or_nan
from sgdone.machine.atomic import remove_partial
from sgdone.readers.row_input import RowInput
from sgdone.rows.block_cache import BlockCache, CacheError, PiecePlace, cache_folder
from sgdone.rows.blocks import ColumnNumbers
from sgdone.run.checkpoints import Checkpoints, Snapshot
from sgdone.state_file.checkpoint import Checkpoint, check_identity, read_checkpoint, write_checkpoint
from sgdone.state_file.file_format import CheckpointError
from sgdone.tables import TableEncoding
from sgdone.tables.warn_user import warn_user

#: Parameters that do not change a result.
_WITHOUT_EFFECT = frozenset({"n_jobs", "verbose"})
_SNAPSHOT = tuple(field.name for field in fields(Snapshot))


@final
@dataclass(frozen=True)
class FitCheckpoints:
    """File of the checkpoints of a fit, seconds between two of them, and whether the fit goes on from the last one."""

    path: Path
    #: Seconds between two checkpoints.
    every: float = 60.0
    #: Whether to go on from the checkpoint that is there, if there is one.
    resume: bool = False

    @classmethod
    def of(cls, checkpoint: str | os.PathLike[str] | None, every: Any, resume: bool) -> "FitCheckpoints | None":
        """Checkpoints that the arguments of ``fit`` ask for; None if there is no file."""
        if checkpoint is None:
            if resume:
                raise ValueError("resume=True needs the name of the checkpoint: give checkpoint=")
            return None
        if not 0 <= real_or_nan(every) < float("inf"):
            raise ValueError(f"every must be a number of seconds, 0 or more; got {every!r}")
        path = Path(checkpoint)
        if path.is_dir():
            raise IsADirectoryError(f"{path}: is a folder; give the name of a file in it")
        if not path.absolute().parent.is_dir():
            raise FileNotFoundError(f"{path}: the folder {path.absolute().parent} does not exist; create it first")
        return cls(path, float(every), resume)

    def read(self, identity: dict[str, Any], loss: Any) -> dict[str, Any] | None:
        """The parts of the checkpoint to go on from; None to start from the beginning."""
        with suppress(OSError):  # of a folder that cannot be written to
            remove_partial(self.path)
        if not self.resume or not self.path.exists():
            return None
        found = read_checkpoint(self.path, loss=loss)
        check_identity(self.path, found.identity, identity)
        return found.parts

    def of_run(
        self, identity: dict[str, Any], seed: int, classes: NDArray[Any] | None, stored: dict[str, Any] | None
    ) -> Checkpoints:
        """Checkpoints of a run, which the driver writes; ``stored`` are the parts of the one to go on from."""
        file = CheckpointFile(self.path, identity)

        def write(snapshot: Snapshot) -> bool:
            parts = {name: getattr(snapshot, name) for name in _SNAPSHOT}
            return file.write(parts | {"seed": seed, "classes": classes})

        last = None if stored is None else Snapshot(**{name: stored[name] for name in _SNAPSHOT})
        return Checkpoints(write, self.every, last)


@final
class CheckpointFile:
    """The file that a fit writes again and again; a fit does not fail because it cannot be written."""

    def __init__(self, path: Path, identity: dict[str, Any]) -> None:
        self._path, self._identity = path, identity
        self._has_warned = False

    def write(self, parts: dict[str, Any]) -> bool:
        """Write a checkpoint; returns whether that was possible. The first time that it is not, there is a warning."""
        try:
            write_checkpoint(self._path, Checkpoint(self._identity, parts))
        except OSError as error:
            if not self._has_warned:
                reason = error.strerror or str(error)
                warn_user(f"{self._path}: {reason}. The fit goes on, and tries again at the next checkpoint")
            self._has_warned = True
            return False
        return True


def identity_of(options: FitOptions, rows: RowInput | None = None) -> dict[str, Any]:
    """Data and options of a fit, which must be the same to go on."""
    given = sorted(options.parameters.items())
    parameters = {name: _text(value) for name, value in given if name not in _WITHOUT_EFFECT}
    return {"estimator": options.estimator, **parameters, **({} if rows is None else rows.identity())}


def _text(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return type(value).__name__ if isinstance(value, np.random.RandomState) else repr(value)


def custom_loss(options: FitOptions) -> CustomLoss | None:
    """The user's own loss, which a file cannot hold."""
    return options.loss if isinstance(options.loss, CustomLoss) else None


#: Names of the two files in the folder of a cache.
_ROWS, _ABOUT = "rows.arrow", "rows.about"


@final
@dataclass(frozen=True)
class CompleteCache:
    """A complete cache: blocks of encoded rows, and how their columns were encoded or numbered."""

    blocks: BlockCache
    #: None for sparse files and arrays.
    encoder: TableEncoding | None
    #: Empty unless the rows are those of sparse files.
    numbers: ColumnNumbers
    #: The classes whose numbers are the labels; None in regression.
    classes: NDArray[Any] | None


def folder_of(rows: RowInput) -> Path | None:
    """Folder of encoded rows that are kept for later fits; None for rows that are read once: others may come next."""
    return rows.cache if rows.rereadable else None


def kept_rows(rows: RowInput, identity: dict[str, Any]) -> CompleteCache | None:
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
    places = [PiecePlace(*row) for row in parts["places"].tolist()]
    blocks = BlockCache.of_file(folder / _ROWS, places, parts["roles"])
    numbers = ColumnNumbers(parts["columns"], int(parts["n_features"]))
    return CompleteCache(blocks, parts["encoder"], numbers, parts["classes"])


def keep_rows(
    blocks: BlockCache,
    identity: dict[str, Any],
    encoder: TableEncoding | None,
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


def identity_of_rows(options: FitOptions, rows: RowInput) -> dict[str, Any]:
    """Data and options that the encoded rows depend on."""
    kinds = {str(name): str(kind) for name, kind in options.kinds_of_columns.items()}
    weight = options.class_weight
    own = {"columns": kinds, "class_weight": None if weight is None else repr(weight), "task": options.task}
    return {**rows.identity(), **own}
