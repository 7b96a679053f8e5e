"""Reader for CSV and similar files."""

from sgdone.readers.formats.csv.reader import READER as READER
