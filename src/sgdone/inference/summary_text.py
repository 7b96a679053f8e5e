"""A summary as the table that statisticians know."""

from collections.abc import Iterator
from textwrap import wrap

from rich.cells import cell_len

from sgdone.inference.coefficient_names import shorten
from sgdone.inference.summary import Summary
from sgdone.inference.summary_table import TITLE, ColumnTestTable, Facts, Row, SummaryTable, table_of

#: Width of the table in characters: at least, and at most unless the numbers are very long.
_NARROWEST, _WIDEST = 78, 90
#: Least width of the names, of a column of numbers, and of the widest column that is aligned by decimal points.
_LEAST_NAMES, _LEAST_NUMBERS, _MOST_ALIGNED = 16, 6, 11
#: Spaces between columns.
_GAP = "  "


def summary_text(summary: Summary) -> str:
    """The summary as a table of fixed width.

    Parameters
    ----------
    summary : Summary
        The summary to print.

    Returns
    -------
    str
        Several lines: a title, a head of two columns, a line per coefficient and per test of a column, footnotes and
        remarks.
    """
    table = table_of(summary)
    rows = [row for block in table.blocks for row in block.rows]
    columns = [_aligned(header, [row.cells[j] for row in rows]) for j, header in enumerate(table.header)]
    numbers = len(_GAP) * len(columns) + sum(len(column[0]) for column in columns)
    texts = [*(_marked(row, _WIDEST) for row in rows), *(block.heading for block in table.blocks)]
    longest = max(map(cell_len, texts))
    names = max(_LEAST_NAMES, _NARROWEST - numbers, min(longest, _WIDEST - numbers))
    lines = [_GAP.join(cells) for cells in zip(*columns, strict=True)]
    return "\n".join(line.rstrip() for line in _lines(table, names, names + numbers, lines))


def _lines(table: SummaryTable, names: int, width: int, numbers: list[str]) -> Iterator[str]:
    """All lines; ``numbers`` has the header and the cells of the coefficients."""
    yield TITLE.center(width)
    yield "=" * width
    yield from _head(table.settings, table.results, width)
    yield "=" * width
    header, *rest = numbers
    cells = iter(rest)
    for number, block in enumerate(table.blocks):
        if number:
            yield "-" * width
        yield _padded(shorten(block.heading, names), names) + _GAP + header
        yield "-" * width
        for row in block.rows:
            yield _padded(_marked(row, names), names) + _GAP + next(cells)
    yield "=" * width
    if table.left_out:
        yield from wrap(table.left_out, width)
    if table.tests is not None:
        if table.left_out:
            yield "-" * width
        yield from _tests(table.tests, width)
        yield "=" * width
        if table.tests.left_out:
            yield from wrap(table.tests.left_out, width)
    for number, (refused, reason) in enumerate(table.footnotes, 1):
        mark = f"[{number}] "
        yield from wrap(f"{mark}{refused}: {reason}", width, subsequent_indent=" " * len(mark))
    if table.footnotes and table.remarks:
        yield ""
    for remark in table.remarks:
        yield from wrap(remark, width)


def _tests(tests: ColumnTestTable, width: int) -> Iterator[str]:
    """A line for each column: its name and reference at the left, numbers at the right."""
    numbers = list(zip(*(row[2:] for row in tests.rows), strict=True))
    columns = [_aligned(header, list(cells)) for header, cells in zip(tests.header[2:], numbers, strict=True)]
    room = width - len(_GAP) * (len(columns) + 1) - sum(len(column[0]) for column in columns)
    longest = max(cell_len(row[0]) for row in tests.rows)
    names = min(max(longest, len(tests.header[0])), room - room // 2)
    for number, row in enumerate((tests.header, *tests.rows)):
        texts = [_padded(shorten(text, own), own) for text, own in zip(row, (names, room - names), strict=False)]
        yield _GAP.join([*texts, *(column[number] for column in columns)])
        if not number:
            yield "-" * width


def _head(left: Facts, right: Facts, width: int) -> Iterator[str]:
    """Two columns of labels and values; a value too long for the left column has lines of its own."""
    right_width = max((len(f"{label}: {value}") for label, value in right), default=0)
    left_width = width - right_width - 3 if right else width
    long = [fact for fact in left if cell_len(": ".join(fact)) > left_width]
    for label, value in long:
        yield from wrap(f"{label}: {value}", width, subsequent_indent=" " * (len(label) + 2))
    short = [fact for fact in left if fact not in long]
    for k in range(max(len(short), len(right))):
        here = _fact(short[k], left_width) if k < len(short) else " " * left_width
        yield here + (" " * 3 + _fact(right[k], right_width) if k < len(right) else "")


def _fact(fact: tuple[str, str], width: int) -> str:
    """A label at the left and its value at the right."""
    label, value = fact
    return f"{label}:" + " " * (width - cell_len(label) - 1 - cell_len(value)) + value


def _marked(row: Row, width: int) -> str:
    """The name, shortened, and the number of the footnote."""
    mark = f" [{row.footnote}]" if row.footnote else ""
    return shorten(row.name, width - len(mark)) + mark


def _padded(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))


def _aligned(header: str, numbers: list[str]) -> list[str]:
    """Cells of one width, their decimal points below each other if that is not too wide."""
    after = [len(text) - len(text.partition(".")[0]) for text in numbers]
    aligned = [text + " " * (max(after) - own) for text, own in zip(numbers, after, strict=True)]
    if max(map(len, aligned)) > _MOST_ALIGNED:
        aligned = numbers
    width = max(_LEAST_NUMBERS, len(header), *map(len, aligned))
    return [text.rjust(width) for text in (header, *aligned)]
