"""Columns of any kind as features: categories, missing values, dates and text.

:class:`TableEncoder` is a scikit-learn transformer; :mod:`sgdone.tables.kinds` says what a column is taken for.
"""

from typing import TYPE_CHECKING, Any

from sgdone.tables.column_encoder import ColumnFeatures, EncoderState, LevelGroup
from sgdone.tables.encoded import Encoded
from sgdone.tables.frames import arrow_table, is_frame
from sgdone.tables.table_encoding import TableEncoding

if TYPE_CHECKING:
    from sgdone.tables.table_encoder import TableEncoder
else:

    def __getattr__(name: str) -> Any:
        # Imported when first used: the command does not wait for scikit-learn.
        if name != "TableEncoder":
            raise AttributeError(f"module 'sgdone.tables' has no attribute {name!r}")
        from sgdone.tables.table_encoder import TableEncoder

        return TableEncoder


__all__ = [
    "ColumnFeatures",
    "Encoded",
    "EncoderState",
    "LevelGroup",
    "TableEncoder",
    "TableEncoding",
    "arrow_table",
    "is_frame",
]
