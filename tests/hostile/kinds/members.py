"""Compressed files of several members, with damage in any of them: an error, or all rows; never some of them."""

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path
from random import Random

import pyarrow as pa

from sgdone.readers.input_files import input_files
from sgdone.readers.reading import read, read_parts
from sgdone.readers.table import DataError, ReadOptions

from ..byte_changes import changed
from ..case_kind import Kind, Note
from ..judging import answer, only

_COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": lambda data: pa.compress(data, codec="zstd", asbytes=True),
}
_LINES = {"csv": "{row}.5,{label}\n", "svm": "{label} 1:{row}.5\n", "vw": "{label} | a:{row}.5\n"}
#: How members begin: a change there must not end the file.
_HEADER = 12


def _run(_: None, random: Random, folder: Path, note: Note) -> None:
    compression, form = random.choice(list(_COMPRESSIONS)), random.choice(list(_LINES))
    pack = _COMPRESSIONS[compression]
    sizes = [random.choice([1, 3, 50, 3000]) for _ in range(random.choice([2, 2, 3, 5]))]
    header = "a,label\n" if form == "csv" else ""
    texts = [
        "".join(_LINES[form].format(row=random.randrange(1000), label=random.randrange(2)) for _ in range(size))
        for size in sizes
    ]
    members = [pack(text.encode()) for text in [header + texts[0], *texts[1:]]]
    damaged = random.randrange(len(members))
    how = random.choice(["intact", "header", "header", "anything", "cut", "zeros between", "rubbish behind"])
    note(f"{form}.{compression}: {how}, member {damaged + 1} of {len(members)}, {sizes} rows")
    if how == "header":
        member = bytearray(members[damaged])
        member[random.randrange(min(_HEADER, len(member)))] ^= 1 << random.randrange(8)
        members[damaged] = bytes(member)
    elif how == "anything":
        members[damaged] = changed(members[damaged], random)
    elif how == "cut":
        members[-1] = members[-1][: random.randrange(1, len(members[-1]))]
    elif how == "zeros between" and compression != "zst":
        members.insert(random.randrange(1, len(members) + 1), bytes(random.choice([1, 4, 8, 512, 2**19])))
    elif how == "rubbish behind":
        members.append(random.randbytes(random.choice([1, 8, 1000])).lstrip(b"\0") or b"x")
    path = folder / f"members.{form}.{compression}"
    path.write_bytes(b"".join(members))
    if random.random() < 0.5:
        note("whole")
        n_rows = answer(lambda: read(path).X.shape[0], only(DataError, path))
    else:
        note("in parts")
        options = ReadOptions(path, skip_unlabelled=True)
        tables = answer(lambda: list(read_parts(input_files(path), options)), only(DataError, path))
        n_rows = sum(table.X.shape[0] for table in tables)
    # A change of a whole member may remove it, or repeat it, as if the file had been written like that.
    if how != "anything":
        assert n_rows == sum(sizes), f"{n_rows} rows instead of {sum(sizes)}"


KIND = Kind("members", 1, _run)
