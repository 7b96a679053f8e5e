"""Files that are read in parts."""

import pyarrow as pa

from sgdone.readers.input_files import input_files
from sgdone.readers.reading import read_parts
from sgdone.readers.table import ReadOptions


def parts(given, form=None, **options):
    files = input_files(given)
    return list(read_parts(files, ReadOptions(files[0].path, format=form, **options)))


def column(tables, name="a"):
    return pa.concat_tables([table.X for table in tables]).column(name)
