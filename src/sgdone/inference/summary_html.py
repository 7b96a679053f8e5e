"""A summary as HTML, for notebooks."""

from collections.abc import Iterator
from html import escape
from itertools import zip_longest

from sgdone.inference.summary import Summary
from sgdone.inference.summary_table import TITLE, Block, ColumnTestTable, Row, SummaryTable, table_of

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
    """The summary as HTML tables, with every name and sentence escaped.

    Parameters
    ----------
    summary : Summary
        The summary to show.

    Returns
    -------
    str
        One ``div`` element that loads nothing.
    """
    table = table_of(summary)
    return "\n".join([f"<style>{_STYLE}</style>", '<div class="sgdone-summary">', *_parts(table), "</div>"])


def _parts(table: SummaryTable) -> Iterator[str]:
    yield f"<table><caption>{escape(TITLE)}</caption><tbody>"
    for setting, result in zip_longest(table.settings, table.results, fillvalue=("", "")):
        yield f"<tr>{_fact(setting, 'sgdone-text')}{_fact(result, 'sgdone-number')}</tr>"
    yield "</tbody></table><table>"
    for block in table.blocks:
        yield from _block(block, table.header)
    yield "</table>"
    if table.left_out:
        yield f"<p>{escape(table.left_out)}</p>"
    if table.tests is not None:
        yield from _tests(table.tests)
    for number, (refused, reason) in enumerate(table.footnotes, 1):
        yield f"<p>[{number}] <b>{escape(refused)}</b>: {escape(reason)}</p>"
    for remark in table.remarks:
        yield f"<p>{escape(remark)}</p>"


def _fact(fact: tuple[str, str], kind: str) -> str:
    label, value = fact
    return f'<th scope="row">{escape(label.strip())}</th><td class="{kind}">{escape(value)}</td>'


def _block(block: Block, header: tuple[str, ...]) -> Iterator[str]:
    columns = "".join(f'<th scope="col">{escape(name)}</th>' for name in header)
    yield f'<tbody><tr class="sgdone-header"><th class="sgdone-text">{escape(block.heading)}</th>{columns}</tr>'
    for row in block.rows:
        cells = "".join(f"<td>{escape(cell)}</td>" for cell in row.cells)
        yield f'<tr><th scope="row">{_name(row)}</th>{cells}</tr>'
    yield "</tbody>"


def _tests(tests: ColumnTestTable) -> Iterator[str]:
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


def _name(row: Row) -> str:
    return escape(row.name) + (f" <sup>[{row.footnote}]</sup>" if row.footnote else "")
