"""A summary as the table that statisticians know, and as HTML for notebooks."""

from collections.abc import Iterator
from html import escape
from itertools import zip_longest
from textwrap import wrap

from rich.cells import cell_len

from sgdone.inference.summary import Summary
from sgdone.inference.summary_table import (
    TITLE,
    CoefficientGroup,
    CoefficientLine,
    ColumnTestTable,
    Facts,
    SummaryTable,
    table_of,
)
from sgdone.message_text import shorten

#: Width of the table in characters: at least, and at most unless the numbers are very long.
_NARROWEST, _WIDEST = 78, 90
#: Least width of the names, of a column of numbers, and of the widest column that is aligned by decimal points.
_LEAST_NAMES, _LEAST_NUMBERS, _MOST_ALIGNED = 16, 6, 11
#: Spaces between columns.
_GAP = "  "


def summary_text(summary: Summary) -> str:
    """The summary as a table of fixed width: a title, a head, a line per coefficient and test, footnotes, remarks."""
    table = table_of(summary)
    rows = [row for group in table.groups for row in group.rows]
    columns = [_aligned(header, [row.cells[j] for row in rows]) for j, header in enumerate(table.header)]
    numbers = len(_GAP) * len(columns) + sum(len(column[0]) for column in columns)
    texts = [*(_marked(row, _WIDEST) for row in rows), *(group.heading for group in table.groups)]
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
    for number, group in enumerate(table.groups):
        if number:
            yield "-" * width
        yield _padded(shorten(group.heading, names), names) + _GAP + header
        yield "-" * width
        for row in group.rows:
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
    """Two columns of labels and values; a value too long for the left column has separate lines."""
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


def _marked(row: CoefficientLine, width: int) -> str:
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


#: Colours are inherited, and lines and shades are translucent, so that light and dark themes are both readable.
_STYLE = """
.sgdone-summary {max-width: 60em; line-height: 1.4}
.sgdone-summary table {border-collapse: collapse; margin: 0 0 .8em; background: none; color: inherit}
.sgdone-summary caption {font-weight: bold; text-align: left; padding: .3em 0; color: inherit}
.sgdone-summary :is(th, td) {padding: .15em .7em; border: 0; background: none; color: inherit; text-align: right}
.sgdone-summary :is(th[scope=row], .sgdone-text) {text-align: left; overflow-wrap: anywhere}
.sgdone-summary th[scope=row] {font-weight: normal}
.sgdone-summary tr.sgdone-header > * {border-bottom: 1px solid rgba(128, 128, 128, .6); font-weight: bold}
.sgdone-summary td {font-variant-numeric: tabular-nums; white-space: nowrap}
.sgdone-summary td.sgdone-text {white-space: normal}
.sgdone-summary tr:hover > * {background: rgba(128, 128, 128, .15)}
.sgdone-summary p {margin: .3em 0}
"""


def summary_html(summary: Summary) -> str:
    """The summary as HTML tables in one ``div`` that loads nothing, with every name and sentence escaped."""
    parts = _parts(table_of(summary))
    return "\n".join([f"<style>{_STYLE}</style>", '<div class="sgdone-summary">', *parts, "</div>"])


def _parts(table: SummaryTable) -> Iterator[str]:
    yield f"<table><caption>{escape(TITLE)}</caption><tbody>"
    for setting, result in zip_longest(table.settings, table.results, fillvalue=("", "")):
        yield f"<tr>{_html_fact(setting, 'sgdone-text')}{_html_fact(result, 'sgdone-number')}</tr>"
    yield "</tbody></table><table>"
    for group in table.groups:
        yield from _group(group, table.header)
    yield "</table>"
    if table.left_out:
        yield f"<p>{escape(table.left_out)}</p>"
    if table.tests is not None:
        yield from _html_tests(table.tests)
    for number, (refused, reason) in enumerate(table.footnotes, 1):
        yield f"<p>[{number}] <b>{escape(refused)}</b>: {escape(reason)}</p>"
    for remark in table.remarks:
        yield f"<p>{escape(remark)}</p>"


def _html_fact(fact: tuple[str, str], kind: str) -> str:
    label, value = fact
    return f'<th scope="row">{escape(label.strip())}</th><td class="{kind}">{escape(value)}</td>'


def _group(group: CoefficientGroup, header: tuple[str, ...]) -> Iterator[str]:
    columns = "".join(f'<th scope="col">{escape(name)}</th>' for name in header)
    yield f'<tbody><tr class="sgdone-header"><th class="sgdone-text">{escape(group.heading)}</th>{columns}</tr>'
    for row in group.rows:
        cells = "".join(f"<td>{escape(cell)}</td>" for cell in row.cells)
        yield f'<tr><th scope="row">{_name(row)}</th>{cells}</tr>'
    yield "</tbody>"


def _html_tests(tests: ColumnTestTable) -> Iterator[str]:
    first, reference, *numbers = tests.header
    columns = "".join(f'<th scope="col">{escape(name)}</th>' for name in numbers)
    yield '<table><tbody><tr class="sgdone-header">'
    yield f'<th class="sgdone-text">{escape(first)}</th><th class="sgdone-text">{escape(reference)}</th>{columns}</tr>'
    for name, level, *cells in tests.rows:
        texts = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        yield f'<tr><th scope="row">{escape(name)}</th><td class="sgdone-text">{escape(level)}</td>{texts}</tr>'
    yield "</tbody></table>"
    if tests.left_out:
        yield f"<p>{escape(tests.left_out)}</p>"


def _name(row: CoefficientLine) -> str:
    return escape(row.name) + (f" <sup>[{row.footnote}]</sup>" if row.footnote else "")
