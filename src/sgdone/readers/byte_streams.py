"""Bytes of files, pipes and addresses, decompressed, with a count of the bytes read."""

import bz2
import difflib
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any, final

import pyarrow as pa

from sgdone.readers.locations import STANDARD_INPUT, Location, RemoteFile, shown
from sgdone.readers.table import DataError

#: Pipes whose first bytes have been looked at, until they are read.
_waiting: dict[Path, "RawStream"] = {}


@final
class RawStream(io.RawIOBase):
    """Bytes of a file, of which the first ones can be looked at before they are read."""

    def __init__(self, source: Any, *, close: bool = True) -> None:
        self._source, self._close, self._head = source, close, b""
        # Buffered streams return what has arrived in a pipe, and do not wait until the buffer is full.
        self._read_into = getattr(source, "readinto1", source.readinto)
        self.on_bytes: Callable[[int], None] | None = None

    def head(self, size: int) -> bytes:
        """The first bytes, which stay to be read; fewer at the end of the file."""
        while len(self._head) < size:
            piece = bytearray(size - len(self._head))
            found = self._read_into(piece)
            if not found:
                break
            self._head += bytes(piece[:found])
        return self._head[:size]

    def is_stale(self, place: Location) -> bool:
        """Whether this is a standard input that has been replaced by another one."""
        return place == STANDARD_INPUT and sys.stdin is not None and self._source is not sys.stdin.buffer

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read and count."""
        if self._head:
            found = min(len(buffer), len(self._head))
            buffer[:found] = self._head[:found]
            self._head = self._head[found:]
        else:
            found = self._read_into(buffer) or 0
        if self.on_bytes is not None and found:
            self.on_bytes(found)
        return found

    def close(self) -> None:
        """Close the file, unless it is standard input."""
        if not self.closed and self._close:
            self._source.close()
        super().close()


def can_be_read_again(place: Location) -> bool:
    """Whether a file can be opened several times: pipes, devices and standard input cannot."""
    if isinstance(place, RemoteFile):
        return True
    try:
        return place != STANDARD_INPUT and (place.is_file() or place.is_dir() or not place.exists())
    except OSError:  # a name that the file system does not allow: an error when it is opened
        return True


def raw_head(place: Location, size: int) -> bytes:
    """The first bytes of a file."""
    if isinstance(place, Path) and not can_be_read_again(place):
        if place not in _waiting or _waiting[place].is_stale(place):
            _waiting[place] = _new(place)
        return _waiting[place].head(size)
    with _new(place) as stream:
        return stream.head(size)


def _new(place: Location) -> RawStream:
    if isinstance(place, RemoteFile):
        system, path = place.file_system()
        return RawStream(system.open_input_stream(path, compression=None))
    if place == STANDARD_INPUT:
        if sys.stdin is None:
            raise OSError("there is no standard input")
        return RawStream(sys.stdin.buffer, close=False)
    return RawStream(place.open("rb", buffering=0))


#: Extensions of compressed files, ignored when the format is inferred.
COMPRESSED = frozenset({".gz", ".bz2", ".xz", ".zst", ".zstd"})

_BUFFER = 1 << 18
_LONGEST_MAGIC = 6


class _DamagedError(Exception):
    """Problem of a compressed file, and the member that has it."""

    def __init__(self, problem: object, member: str) -> None:
        super().__init__(str(problem))
        self.member = member


@final
class _Members(io.RawIOBase):
    """A file of bzip2 or xz: compressed members, one after the other; zeros may follow each of them.

    Python's own readers end without an error where something else follows a member.
    """

    def __init__(self, stream: IO[bytes], new_member: Callable[[], Any]) -> None:
        self._stream, self._new_member = stream, new_member
        self._member, self._number, self._first_byte = new_member(), 1, 0
        self._unread, self._n_read = b"", 0

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read and decompress."""
        piece = b""
        while not piece:
            if self._member.eof and not self._begin_member():
                return 0
            data = self._next_bytes() if self._member.needs_input else b""
            if self._member.needs_input and not data:
                raise _DamagedError("it ends before its last member does", self._described())
            try:
                piece = self._member.decompress(data, len(buffer))
            except (OSError, lzma.LZMAError) as error:
                raise _DamagedError(error, self._described()) from error
        buffer[: len(piece)] = piece
        return len(piece)

    def _begin_member(self) -> bool:
        """Whether there is another member."""
        rest = self._member.unused_data.lstrip(b"\0")
        while not rest:
            data = self._next_bytes()
            if not data:
                return False
            rest = data.lstrip(b"\0")
        self._member, self._number, self._first_byte = self._new_member(), self._number + 1, self._n_read - len(rest)
        self._unread = rest
        return True

    def _next_bytes(self) -> bytes:
        if self._unread:
            data, self._unread = self._unread, b""
            return data
        data = self._stream.read1(_BUFFER)  # type: ignore[attr-defined]  # it is buffered
        self._n_read += len(data)
        return bytes(data)

    def _described(self) -> str:
        return f", member {self._number:,} (from byte {self._first_byte + 1:,})" if self._number > 1 else ""


@final
class _Zstd(io.RawIOBase):
    """A zstd file, which Arrow decompresses. Its errors are EOFErrors, as those of a gzip file that is cut off."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = pa.CompressedInputStream(pa.PythonFile(stream, mode="r"), "zstd")

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read and decompress."""
        try:
            piece = self._stream.read(len(buffer))
        except OSError as error:
            if error.errno is not None:  # of the file, not of Arrow
                raise
            raise EOFError(str(error)) from error
        buffer[: len(piece)] = piece
        return len(piece)


_xz_member = partial(lzma.LZMADecompressor, lzma.FORMAT_XZ)
#: Decompressed streams, by the first bytes of a file: gzip, bzip2, xz, zstd.
_OPENERS: dict[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": lambda stream: io.BufferedReader(_Members(stream, bz2.BZ2Decompressor), _BUFFER),
    b"\xfd7zXZ\x00": lambda stream: io.BufferedReader(_Members(stream, _xz_member), _BUFFER),
    b"\x28\xb5\x2f\xfd": lambda stream: io.BufferedReader(_Zstd(stream), _BUFFER),
}


@contextmanager
def opened(place: Location, on_bytes: Callable[[int], None] | None = None) -> Iterator[IO[bytes]]:
    """Open a file for reading bytes, decompressing gzip, bzip2, xz and zstd. Failures raise :class:`DataError`.

    ``on_bytes`` is called with the number of bytes of the file, compressed if it is, since the last call. Pipes are
    read once, from their beginning to their end; the bytes that `head_of` has looked at are not lost.
    """
    with _explained(place):
        raw = _waiting.pop(place, None) if isinstance(place, Path) else None
        if raw is None or raw.is_stale(place):
            raw = _new(place)
        raw.on_bytes = on_bytes
        with raw:
            opener = _opener(_not_zip(raw.head(_LONGEST_MAGIC), place))
            buffered = io.BufferedReader(raw, _BUFFER)
            with nullcontext(buffered) if opener is None else opener(buffered) as stream:
                yield stream


def head_of(place: Location, size: int) -> bytes:
    """The first bytes of a file, decompressed; the file can still be read from its beginning, a pipe too."""
    if can_be_read_again(place):
        with opened(place) as stream:
            return stream.read(size)
    with _explained(place):
        head = raw_head(place, size)
        opener = _opener(_not_zip(head, place))
        return head if opener is None else _beginning(opener(io.BufferedReader(RawStream(io.BytesIO(head)))), size)


def is_compressed(place: Location) -> bool:
    """Whether :func:`opened` decompresses the file."""
    with _explained(place):
        return _opener(raw_head(place, _LONGEST_MAGIC)) is not None


def format_suffix(place: Location) -> str:
    """Extension in lower case, without that of the compression."""
    name = PurePosixPath(place.name.lower())
    return (name.with_suffix("") if name.suffix in COMPRESSED else name).suffix


@contextmanager
def _explained(place: Location) -> Iterator[None]:
    """Convert errors of files and decompressors to :class:`DataError`."""
    name = shown(place)
    try:
        if isinstance(place, Path) and place.is_dir():
            raise DataError(f"{name}: is a folder; give a regular file")
        yield
    except FileNotFoundError as error:
        raise DataError(f"{name}: no such file{similar(place)}") from error
    except (EOFError, _DamagedError, zlib.error, gzip.BadGzipFile) as error:
        name += getattr(error, "member", "")
        raise DataError(f"{name}: cannot be decompressed ({error}): the file is truncated or damaged") from error
    except OSError as error:
        raise DataError(f"{name}: cannot be read ({error.strerror or error})") from error


def _not_zip(head: bytes, place: Location) -> bytes:
    if head.startswith(b"PK\x03\x04"):
        raise DataError(
            f"{shown(place)}: is a zip archive: decompress it first (only gzip, bzip2, xz and zstd are supported)"
        )
    return head


def _opener(head: bytes) -> Callable[[Any], Any] | None:
    return next((opener for start, opener in _OPENERS.items() if head.startswith(start)), None)


def _beginning(stream: IO[bytes], size: int) -> bytes:
    """Beginning of a stream that is cut off, as far as it can be decompressed."""
    found = b""
    while len(found) < size:
        try:
            piece = stream.read1(4096)  # type: ignore[attr-defined]  # all readers of compressed files have it
        except (EOFError, _DamagedError, zlib.error, OSError):
            break
        if not piece:
            break
        found += piece
    return found[:size]


def similar(place: Location) -> str:
    """A hint about a file or folder that does not exist, to be added to an error."""
    if not isinstance(place, Path) or place == STANDARD_INPUT:
        return ""
    if not place.parent.is_dir():
        return f" (the folder {place.parent} does not exist)"
    near = difflib.get_close_matches(place.name, [other.name for other in place.parent.iterdir()], n=1)
    return f"; did you mean {near[0]}?" if near else ""
