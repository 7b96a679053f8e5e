"""A file of encoded pieces of blocks, for passes after the first: Arrow's format for streams, read piece by piece."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sgdone.machine.memory import size_text
from sgdone.matrices.csr import csr_of
from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.rows.blocks import PIECES, EncodedRows, in_groups, joined
from sgdone.tables.warn_user import warn_user

#: Free space that is left alone.
_SPARE_BYTES = 1 << 28
#: File systems in memory: a cache there would defeat its purpose.
_MEMORY_SYSTEMS = frozenset({"tmpfs", "ramfs", "devtmpfs"})
_ALIGNMENT = 64


class CacheError(OSError):
    """Raised if a cache cannot be written or read; the message says what to do."""


def cache_folder(given: str | os.PathLike[str] | None) -> Path:
    """The folder for a cache: the given one, or the user's cache folder; never on a file system in memory.

    If the user's cache folder cannot be written to, it is the folder for temporary files, with a warning.
    """
    folder = _users_folder() if given is None else Path(given)
    fault = _fault_of(folder)
    if fault and given is None:
        usual, folder = folder, Path(tempfile.gettempdir())  # which can be written to
        warn_user(
            f"the cache folder {usual} cannot be written to ({fault}): {folder} is used instead. Set XDG_CACHE_HOME, "
            "or give a folder with cache="
        )
    elif fault:
        raise CacheError(f"the cache folder {folder} cannot be written to ({fault}): give another one with cache=")
    kind = _file_system(folder)
    if kind in _MEMORY_SYSTEMS:
        raise CacheError(f"{folder} is on a file system in memory ({kind}): give a folder on a disk with cache=")
    return folder


def _users_folder() -> Path:
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # there is no home
        return Path(tempfile.gettempdir())
    return base / "sgdone"


def _fault_of(folder: Path) -> str:
    """Why files cannot be written to a folder, which is made if there is none; empty if they can."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        return error.strerror or str(error)
    return ""


def check_space(folder: Path, n_bytes: int) -> None:
    """Raise if a cache of about this size does not fit on the disk."""
    free = shutil.disk_usage(folder).free
    if n_bytes + _SPARE_BYTES > free:
        raise CacheError(
            f"the cache of the rows needs about {size_text(n_bytes)} in {folder}, where {size_text(free)} are free: "
            "give another folder with cache=, or read the rows once only (stop=MaxPasses(1))"
        )


@final
@dataclass(frozen=True)
class PiecePlace:
    """Location of a piece in the file, and its shape."""

    offset: int
    length: int
    n_rows: int
    n_features: int
    n_dense: int
    first: int


@final
class BlockCache:
    """Pieces of blocks that were written once and can be read in any order.

    The file has no name until it is complete, so that nothing is left of a run that is killed; it never has one if it
    is not to be kept: then it has no ``name``.
    """

    def __init__(self, folder: Path, name: str | None = None) -> None:
        self.folder, self._name = folder, name
        self._file, self._partial = _new_file(folder, name)
        #: Where the pieces are, and roles of the columns of the last block.
        self.places: list[PiecePlace] = []
        self.roles: NDArray[np.int32] | None = None
        self._end = 0
        #: Whether all blocks are there: what is read from a complete cache is not written again.
        self.is_complete = False

    @classmethod
    def of_file(cls, path: Path, places: Sequence[PiecePlace], roles: NDArray[np.int32] | None) -> "BlockCache":
        """The blocks of a file that was kept."""
        made = cls.__new__(cls)
        made.folder, made._name, made._partial = path.parent, path.name, None
        made._file = path.open("rb", buffering=0)
        made.places, made.roles, made.is_complete = list(places), roles, True
        made._end = places[-1].offset + places[-1].length if places else 0
        if os.fstat(made._file.fileno()).st_size < made._end:
            made._file.close()
            raise CacheError(f"{path} is cut short: delete the folder {path.parent} and start again")
        return made

    def keep(self) -> Path:
        """Give the file its name, once it is complete."""
        assert self._name is not None
        target = self.folder / self._name
        try:
            os.fsync(self._file.fileno())
            partial = self._partial
            if partial is None:
                partial = self.folder / f".{self._name}.partial"
                partial.unlink(missing_ok=True)
                _link(self._file.fileno(), partial)
            partial.replace(target)
            self._partial = None
        except OSError as error:
            raise CacheError(f"the cache {target} cannot be written ({error.strerror}): free some space") from error
        return target

    def __len__(self) -> int:
        return len(self.places)

    def write(self, block: EncodedRows) -> None:
        """Append a piece."""
        message, n_dense = _message(block)
        try:
            written = 0
            while written < message.size:
                written += os.pwrite(self._file.fileno(), memoryview(message)[written:], self._end + written)
        except OSError as error:
            raise CacheError(
                f"the cache in {self.folder} cannot be written ({error.strerror}): free some space, or give another "
                "folder with cache="
            ) from error
        place = PiecePlace(self._end, message.size, block.n_rows, block.n_features, n_dense, int(block.numbers[0]))
        self.places.append(place)
        self.roles = block.roles  # columns are only ever appended
        self._end += -(-message.size // _ALIGNMENT) * _ALIGNMENT

    def read(self, number: int) -> EncodedRows:
        """A piece, by its number; the arrays are its own."""
        place = self.places[number]
        buffer = np.empty(place.length, dtype=np.uint8)
        view, done = memoryview(buffer.data), 0
        while done < place.length:
            count = os.preadv(self._file.fileno(), [view[done:]], place.offset + done)
            if not count:
                raise CacheError(f"the cache in {self.folder} is cut short: it was changed by another program")
            done += count
        roles = None if self.roles is None else self.roles[: place.n_features]
        return _block(buffer, place, roles)

    def in_order(self) -> Iterator[EncodedRows]:
        """All blocks, put together from their pieces, in the order of the rows."""
        return map(joined, in_groups(map(self.read, range(len(self))), PIECES))

    def close(self) -> None:
        """Close the file; it is gone unless it was given its name."""
        self._file.close()
        if self._partial is not None:
            self._partial.unlink(missing_ok=True)


def _message(block: EncodedRows) -> tuple[pa.Buffer, int]:
    """A record batch with one record per row: features, label, weight and hash."""
    dense, entries = _parts(block.X)
    columns: dict[str, Any] = {}
    n_dense = 0 if dense is None else dense.shape[1]
    if dense is not None and n_dense:
        columns["dense"] = pa.FixedSizeListArray.from_arrays(pa.array(dense.reshape(-1)), n_dense)
    if entries is not None:
        offsets = pa.array(entries.indptr, pa.int32())
        columns["indices"] = pa.ListArray.from_arrays(offsets, pa.array(entries.indices, pa.int32()))
        columns["values"] = pa.ListArray.from_arrays(offsets, pa.array(entries.data))
    columns["label"] = pa.array(block.labels)
    if block.weights is not None:
        columns["weight"] = pa.array(block.weights)
    columns["hash"] = pa.array(block.hashes)
    batch = pa.record_batch(list(columns.values()), names=list(columns))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue(), n_dense


def _block(buffer: NDArray[np.uint8], place: PiecePlace, roles: NDArray[np.int32] | None) -> EncodedRows:
    with pa.ipc.open_stream(pa.py_buffer(buffer)) as reader:
        batch = reader.read_next_batch()
    names, X = batch.schema.names, None
    if "dense" in names:
        X = batch.column("dense").flatten().to_numpy().reshape(place.n_rows, place.n_dense)
    if "indices" in names:
        lists = batch.column("indices")
        values, shape = batch.column("values").values.to_numpy(), (place.n_rows, place.n_features - place.n_dense)
        entries = csr_of(values, lists.values.to_numpy(), lists.offsets.to_numpy(), shape)
        X = entries if X is None else MixedMatrix(X, entries)
    return EncodedRows(
        X,
        batch.column("label").to_numpy(),
        batch.column("weight").to_numpy() if "weight" in names else None,
        batch.column("hash").to_numpy(),
        np.arange(place.first, place.first + place.n_rows),
        roles,
    )


def _parts(X: Any) -> tuple[NDArray[Any] | None, Any]:
    if isinstance(X, MixedMatrix):
        return X.dense, X.sparse
    return (X, None) if isinstance(X, np.ndarray) else (None, X)


def unnamed_file(folder: Path) -> Any:
    """A new file that vanishes with its last descriptor."""
    return _new_file(folder, None)[0]


def _new_file(folder: Path, name: str | None) -> tuple[Any, Path | None]:
    """A file that vanishes with its last descriptor, also if the process is killed, or one that has a partial name."""
    try:
        if hasattr(os, "O_TMPFILE"):
            with contextlib.suppress(OSError):
                return os.fdopen(os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o600), "rb+", buffering=0), None
        if name is None:
            return tempfile.TemporaryFile(dir=folder, buffering=0), None
        partial = folder / f".{name}.partial"
        return partial.open("wb+", buffering=0), partial
    except OSError as error:
        raise CacheError(
            f"the cache cannot be written in {folder} ({error.strerror}): give another folder with cache="
        ) from error


def _link(file: int, path: Path) -> None:
    """Give an unnamed file a name."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        # With a folder, Python follows the link to the file itself.
        os.link(f"/proc/self/fd/{file}", path.name, dst_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)


def _file_system(folder: Path) -> str:
    """The kind of the file system of a folder; empty if it is not known."""
    try:
        lines = Path("/proc/self/mountinfo").read_text().splitlines()
    except OSError:
        return ""
    best, kind = "", ""
    target = str(folder.resolve())
    for line in lines:
        before, _, after = line.partition(" - ")
        mount = before.split()[4].encode().decode("unicode_escape")
        inside = target == mount or target.startswith(mount.rstrip("/") + "/")
        if inside and len(mount) >= len(best):
            best, kind = mount, after.split()[0]
    return kind
