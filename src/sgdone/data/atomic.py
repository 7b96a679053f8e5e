"""A file is written whole or not at all."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def write_atomically(path: str | os.PathLike[str]) -> Iterator[Path]:
    r"""Give a temporary file in the same folder, which takes the name ``path`` if the block succeeds.

    Whatever stops the block, an interrupt included, the temporary file is removed and a file already
    called ``path`` stays as it was. A replaced file keeps its permissions, a symbolic link its place.
    A ``path`` that is no regular file, like ``/dev/stdout``, is written directly.

    Parameters
    ----------
    path : path
        The name the file shall have; its folder must exist.

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
        yield given
        return
    target = given.resolve()
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{given}: there is no folder {target.parent}; create it first")
    temporary = target.with_name(f".{target.stem[:100]}.{secrets.token_hex(6)}{target.suffix}")
    try:
        temporary.open("xb").close()
        if target.exists():
            shutil.copymode(target, temporary)
        yield temporary
        _flush(temporary)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _flush(path: Path) -> None:
    """Have the bytes on disk before the name, lest a power cut leave an empty file under it."""
    with path.open("rb+") as stream:
        os.fsync(stream.fileno())
