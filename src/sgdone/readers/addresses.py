"""Addresses of files, and which of them can be opened."""

import os
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sgdone.readers.locations import Location, RemoteFile
from sgdone.readers.table import DataError

#: Schemes of addresses that pyarrow opens.
REMOTE_SCHEMES = ("abfs", "abfss", "gcs", "gs", "hdfs", "s3", "viewfs")
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]+)://")

#: What users give: a path, a pattern or an address.
Given = str | os.PathLike[str] | RemoteFile


def location(path: Given) -> Location:
    """The place that a path or an address names.

    Examples
    --------
    >>> location("file:///data/a%20b.csv").as_posix(), str(location("s3://clicks/day-1.csv"))
    ('/data/a b.csv', 's3://clicks/day-1.csv')
    >>> location("https://example.org/t.csv")
    Traceback (most recent call last):
        ...
    sgdone.readers.table.DataError: https://example.org/t.csv: addresses with https: cannot be read: download the file \
first. Supported are files and folders, - for standard input, and file:, abfs:, abfss:, gcs:, gs:, hdfs:, s3:, viewfs:
    """
    if isinstance(path, RemoteFile):
        return path
    text = os.fspath(path)
    found = _SCHEME.match(text)
    if found is None:
        return Path(text)
    scheme = found[1].lower()
    if scheme == "file":
        return Path(unquote(urlsplit(text).path))
    if scheme in REMOTE_SCHEMES:
        return RemoteFile(text)
    known = ", ".join(f"{name}:" for name in ("file", *REMOTE_SCHEMES))
    raise DataError(
        f"{text}: addresses with {scheme}: cannot be read: download the file first. Supported are files and folders, "
        f"- for standard input, and {known}"
    )
