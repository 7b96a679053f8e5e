"""Atomic file writes: a file is written completely or not at all."""

import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

#: Bytes of a name to which something can be added: file systems allow 255.
_LONGEST_NAME = 240


@contextmanager
def write_atomically(path: str | os.PathLike[str], *, fixed_name: bool = False) -> Iterator[Path]:
    r"""Yield a temporary file in the same folder, renamed to ``path`` if the block succeeds.

    If the block raises or is interrupted, the temporary file is removed and an existing file at ``path`` is
    unchanged. A replaced file keeps its permissions. A symbolic link is followed, not replaced. A ``path`` that
    is not a regular file, such as ``/dev/stdout``, is written directly.

    Parameters
    ----------
    path : path
        Final name of the file. Its folder must exist.
    fixed_name : bool, default=False
        Whether the temporary file is always called ``.NAME.partial``, for a file that is written again and again: a
        process that is killed leaves at most one such file, which the next write replaces. Two processes must then not
        write the same file at the same time. By default the name is a random one with the same suffix.

    Yields
    ------
    Path
        An empty file to write to.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with write_atomically(folder / "predictions.csv") as temporary:
    ...     _ = temporary.write_text("label\n1\n")
    >>> [file.name for file in folder.iterdir()]
    ['predictions.csv']
    """
    given = Path(path)
    if given.is_dir():
        raise IsADirectoryError(f"{given}: is a folder; give the name of a file in it")
    if given.exists() and not given.is_file():
        with _named(given):
            yield given
        return
    target = given.resolve()
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{given}: the folder {target.parent} does not exist; create it first")
    random_name = f".{target.stem[:100]}.{secrets.token_hex(6)}{target.suffix}"
    temporary = _partial(target) if fixed_name else target.with_name(random_name)
    try:
        with _named(given):
            if fixed_name:
                temporary.unlink(missing_ok=True)
            temporary.open("xb").close()
            if target.exists():
                shutil.copymode(target, temporary)
            yield temporary
            with temporary.open("rb+") as stream:
                os.fsync(stream.fileno())  # a power failure must not leave an empty file
            temporary.replace(target)
            _flush_folder(target.parent)
    finally:
        temporary.unlink(missing_ok=True)


def remove_partial(path: str | os.PathLike[str]) -> None:
    """Remove what a killed process left of a write to ``path`` with a fixed name, if there is anything.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> (folder / ".state.partial").touch()
    >>> remove_partial(folder / "state")
    >>> list(folder.iterdir())
    []
    """
    _partial(Path(path).resolve()).unlink(missing_ok=True)


def _partial(target: Path) -> Path:
    """The fixed name of a temporary file, made of a hash where the name is very long."""
    name = target.name
    if len(os.fsencode(name)) > _LONGEST_NAME:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()
    return target.with_name(f".{name}.partial")


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Name the file in an error that names none, such as a full disk."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def _flush_folder(folder: Path) -> None:
    """Flush a rename to disk, where folders can be flushed: after a power failure the old file would be there again."""
    with suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
