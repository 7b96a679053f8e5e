"""Columns of any kind as features: categories, gaps, dates and text.

:class:`TableEncoder` is a scikit-learn transformer; :mod:`sgdone.tables.kinds` says what a column is taken for.
"""

from sgdone.tables.column_encoder import ColumnFeatures, LevelGroup
from sgdone.tables.encoded import Encoded
from sgdone.tables.encoder_state import EncoderState
from sgdone.tables.frames import arrow_table, is_frame
from sgdone.tables.table_encoder import TableEncoder

__all__ = ["ColumnFeatures", "Encoded", "EncoderState", "LevelGroup", "TableEncoder", "arrow_table", "is_frame"]
