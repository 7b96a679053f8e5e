"""Types of the labels of a CSV file, which are read as text."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv


def typed_labels(labels: Any) -> Any:
    """Convert labels to the type that Arrow infers for them, or leave them as text.

    Whole numbers stay text if numbers would not be the same labels: with leading zeros (``007``), or with more digits
    than integers and floats can tell apart. Dates and times stay text too: as labels they are names of classes.
    """
    if labels.null_count == len(labels):
        return labels
    encoded = pa.concat_arrays(labels.cast(pa.large_binary()).chunks).dictionary_encode()
    try:
        distinct = encoded.dictionary.cast(pa.large_string())
    except pa.ArrowInvalid:  # not UTF-8
        return labels
    inferred = _inferred(distinct)
    if pa.types.is_temporal(inferred.type) or _are_codes(distinct, inferred.type):
        inferred = distinct
    return pa.chunked_array([inferred.take(encoded.indices)])


def labels_as(labels: Any, kind: Any) -> Any | None:
    """Labels as the type that was found for others; None if one does not fit.

    Examples
    --------
    >>> labels = pa.chunked_array([pa.array(["1", "+2", None], pa.large_string())])
    >>> labels_as(labels, pa.float64()).to_pylist(), labels_as(labels, pa.bool_())
    ([1.0, 2.0, None], None)
    """
    if labels.null_count == len(labels):
        return pa.chunked_array([pa.nulls(len(labels), kind)])
    encoded = pa.concat_arrays(labels.chunks).dictionary_encode()
    try:
        return pa.chunked_array([_inferred(encoded.dictionary, kind).take(encoded.indices)])
    except pa.ArrowInvalid:
        return None


def _are_codes(distinct: Any, inferred: Any) -> bool:
    """Whether labels are whole numbers, some of which differ from the numbers that they are read as."""
    texts = pc.utf8_trim_whitespace(distinct)
    if not pc.all(pc.match_substring_regex(texts, "^[+-]?[0-9]+$")).as_py():
        return False
    if pc.any(pc.match_substring_regex(texts, "^[+-]?0[0-9]")).as_py():
        return True
    # Integers of 64 bits and floats of up to 15 digits are exact; infinity has more than 308 digits.
    long = texts.filter(pc.greater(pc.utf8_length(texts), 15)).to_pylist() if pa.types.is_floating(inferred) else []
    return any(len(text) > 308 or int(text) != int(float(text)) for text in long)


def _inferred(distinct: Any, kind: Any = None) -> Any:
    """The values of a type, by default the one that Arrow infers from CSV."""
    sink = pa.BufferOutputStream()
    quoted = arrow_csv.WriteOptions(include_header=False, quoting_style="all_valid")
    arrow_csv.write_csv(pa.table({"label": distinct}), sink, quoted)
    table = arrow_csv.read_csv(
        sink.getvalue(),
        read_options=arrow_csv.ReadOptions(column_names=["label"], block_size=max(1 << 20, sink.getvalue().size)),
        parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            quoted_strings_can_be_null=False, column_types={} if kind is None else {"label": kind}
        ),
    )
    return pa.concat_arrays(table["label"].chunks)
