"""Files as the rows of a fit."""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, final

from sgdone.readers.addresses import Given
from sgdone.readers.compressed_files import can_be_read_again
from sgdone.readers.files import read_parts
from sgdone.readers.input_files import InputFile, input_files, total_bytes
from sgdone.readers.row_input import MAX_MEMORY, RowInput, checked_memory
from sgdone.readers.table import DataError, ReadOptions, Table

#: Options that decide what is read.
_OPTIONS = (
    "label",
    "weight",
    "features",
    "drop",
    "as_strings",
    "separator",
    "header",
    "n_features",
    "zero_based",
    "bits",
)


def files(
    paths: Given | Iterable[Given],
    label: str | None = None,
    weight: str | None = None,
    columns: Sequence[str] | None = None,
    *,
    drop: Sequence[str] = (),
    as_strings: Collection[str] = (),
    separator: str | None = None,
    header: bool = True,
    n_features: int | None = None,
    zero_based: bool = False,
    bits: int | None = None,
    format: str | None = None,
    cache: str | os.PathLike[str] | None = None,
    max_memory: int = MAX_MEMORY,
) -> "FileInput":
    r"""Files of any size as the rows of a fit: ``LinearClassifier().fit(sgdone.files("clicks/*.parquet", "click"))``.

    The rows of all files are one table. If they fit into a quarter of ``max_memory``, they are read into memory, and
    the fit is that of a data frame. Otherwise they are read block by block, and kept on disk for further passes.

    Parameters
    ----------
    paths : str, path or list of these
        Files, patterns such as ``"clicks/*.parquet"``, folders, addresses such as ``"s3://clicks/2026"``, and ``"-"``
        for standard input, which is read once. CSV, Parquet, Arrow, JSON lines, svmlight and Vowpal Wabbit's text
        format, plain or compressed with gzip, bzip2, xz or zstd; all of one format.
    label : str, optional
        Name of the label column, or a condition such as ``"delay > 15"``. By default the column named label, target, y
        or class. svmlight and Vowpal Wabbit's lines begin with the label.
    weight : str, optional
        Name of the column with the weights of the rows.
    columns : sequence of str, optional
        The feature columns; all others by default.
    drop : sequence of str, optional
        Columns to leave out.
    as_strings : collection of str, optional
        Columns of CSV files that stay strings, whatever their cells are.
    separator, header, n_features, zero_based, bits, format
        How files are written, as in `sgdone.readers.files.read`.
    cache : path, optional
        Folder in which encoded rows are kept. By default they are in the user's cache folder during the fit.
    max_memory : int, default=1_000_000_000
        Bytes that buffers may take. The coefficients, and the levels of categories, come on top.

    Returns
    -------
    FileInput
        For ``fit``, ``partial_fit`` and ``predict``.

    Examples
    --------
    >>> import tempfile
    >>> from sgdone import LinearRegressor, files
    >>> folder = Path(tempfile.mkdtemp())
    >>> for day in (1, 2):
    ...     rows = "".join(f"{x},{3 * x + 1}\n" for x in range(day, 30))
    ...     _ = (folder / f"day-{day}.csv").write_text("x,y\n" + rows)
    >>> model = LinearRegressor().fit(files(folder / "*.csv", label="y"))
    >>> model.coef_.round(3), model.intercept_.round(3)
    (array([3.]), array([1.]))
    """
    if isinstance(columns, str):
        raise TypeError(f"columns={columns!r} is a string: give a list of names")
    found = input_files(paths)
    options = ReadOptions(
        path=found[0].path,
        label=label,
        weight=weight,
        features=columns,
        drop=drop,
        as_strings=as_strings,
        separator=separator,
        header=header,
        n_features=n_features,
        zero_based=zero_based,
        bits=bits,
        skip_unlabelled=True,
    )
    return FileInput(found, options, format, checked_memory(max_memory), None if cache is None else Path(cache))


@final
class FileInput(RowInput):
    """Files whose rows are one table; made by `sgdone.files`."""

    def __init__(
        self, found: Sequence[InputFile], options: ReadOptions, format: str | None, max_memory: int, cache: Path | None
    ) -> None:
        self.found, self.options, self._format = list(found), options, format
        self.max_memory, self.cache = max_memory, cache
        self.rereadable = all(can_be_read_again(file.path) for file in found)
        self._bytes_read = 0

    @property
    def total_bytes(self) -> int | None:
        """Size of the files, if known."""
        return total_bytes(self.found)

    @property
    def bytes_read(self) -> int:
        """Bytes read since the last call of `tables`."""
        return self._bytes_read

    def tables(self, *, labelled: bool = True) -> Iterator[Table]:
        """The rows, a few megabytes at a time; a file that has changed since the first time is an error."""
        self._check_unchanged()
        self._bytes_read = 0
        options = replace(self.options, require_label=labelled, skip_unlabelled=labelled, on_bytes=self._count)
        for table in read_parts(self.found, options, self._format):
            if table.X.shape[0]:
                yield table
        self._check_unchanged()

    def identity(self) -> dict[str, Any]:
        """Names, sizes and times of the files, and the options that say how to read them."""
        described = [{"name": str(file.path), "bytes": file.size, "modified": file.modified} for file in self.found]
        options = {name: _plain(getattr(self.options, name)) for name in _OPTIONS}
        return {"files": described, **options, "format": self._format, "max_memory": self.max_memory}

    def __repr__(self) -> str:
        names = ", ".join(str(file.path) for file in self.found[:3])
        more = f" and {len(self.found) - 3:,} more" if len(self.found) > 3 else ""
        return f"<files {names}{more}>"

    def _count(self, n_bytes: int) -> None:
        self._bytes_read += n_bytes

    def _check_unchanged(self) -> None:
        """Raise for a file that was changed since it was found: passes over different rows have no meaning."""
        for file in self.found:
            if file.size is None or not isinstance(file.path, Path):
                continue
            try:
                now = file.path.stat()
            except OSError as error:
                raise DataError(f"{file.path}: has gone since reading began ({error.strerror}): start again") from error
            if (now.st_size, now.st_mtime_ns) != (file.size, file.modified):
                raise DataError(
                    f"{file.path}: has changed since reading began (it had {file.size:,} bytes and has "
                    f"{now.st_size:,} now): start again when it is complete"
                )


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, (list, tuple, set, frozenset)) else value
