"""Columns of any kind as features: categories, missing values, dates and text.

`TableEncoding` is what a fitted model keeps, `table_encoder.TableEncoder` its scikit-learn transformer;
:mod:`sgdone.tables.kinds` says what a column is taken for.
"""

from sgdone.tables.column_encoder import ColumnFeatures, EncoderState
from sgdone.tables.encoded import Encoded
from sgdone.tables.frames import arrow_table, is_frame
from sgdone.tables.table_encoding import TableEncoding

__all__ = ["ColumnFeatures", "Encoded", "EncoderState", "TableEncoding", "arrow_table", "is_frame"]
