"""The bytes of a file as they are stored, counted as they are read; of pipes, which can be read once, too."""

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, final

from sgdone.readers.locations import STANDARD_INPUT, Location, RemoteFile

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


def raw_stream(place: Location, on_bytes: Callable[[int], None] | None = None) -> RawStream:
    """Open a file. The bytes of a pipe that :func:`raw_head` has looked at are not lost."""
    stream = _waiting.pop(place, None) if isinstance(place, Path) else None
    if stream is None or stream.is_stale(place):
        stream = _new(place)
    stream.on_bytes = on_bytes
    return stream


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
