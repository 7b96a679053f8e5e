"""Atomic file writes: a file is written completely or not at all."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def write_atomically(path: str | os.PathLike[str]) -> Iterator[Path]:
    r"""Yield a temporary file in the same folder, renamed to ``path`` if the block succeeds.

    If the block raises or is interrupted, the temporary file is removed and an existing file at ``path`` is
    unchanged. A replaced file keeps its permissions. A symbolic link is followed, not replaced. A ``path`` that
    is not a regular file, such as ``/dev/stdout``, is written directly.

    Parameters
    ----------
    path : path
        Final name of the file. Its folder must exist.

    Yields
    ------
    Path
        An empty file to write to, with the same suffix.

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
    temporary = target.with_name(f".{target.stem[:100]}.{secrets.token_hex(6)}{target.suffix}")
    try:
        with _named(given):
            temporary.open("xb").close()
            if target.exists():
                shutil.copymode(target, temporary)
            yield temporary
            _flush(temporary)
            temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Name the file in an error that names none, such as a full disk."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def _flush(path: Path) -> None:
    """Flush the content to disk before the rename: a power failure must not leave an empty file."""
    with path.open("rb+") as stream:
        os.fsync(stream.fileno())
