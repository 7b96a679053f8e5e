"""The table of `docs/reproduce.md`: experiments, how many of their claims hold, and those that do not."""

import re
from collections.abc import Iterable
from html import escape

from sgdone.papers.results import Results
from sgdone.papers.seeds import ClaimVerdict, held

#: Lines around the table in the page.
BEGIN, END = "<!-- claims: begin -->", "<!-- claims: end -->"


def markdown_table(results: Iterable[Results]) -> str:
    """One line per experiment: claims held of all, and each claim that fails with its reason.

    Examples
    --------
    >>> claim = ClaimVerdict("never below 0.95", "section 5.1", "ratio ≥ 0.95", ("0.94",), (False,), "large steps")
    >>> print(markdown_table([Results("tiny", "A title", "Nobody (1900), Fig. 0", {}, (claim,), ())]))
    | experiment | of | claims that hold | claims that fail, and why |
    |---|---|---|---|
    | `tiny` | Nobody (1900), Fig. 0 | 0 of 1 | "never below 0.95" (ratio ≥ 0.95): fails; large steps |
    """
    lines = ["| experiment | of | claims that hold | claims that fail, and why |", "|---|---|---|---|"]
    for found in results:
        failures = [
            f'"{_plain(verdict.words)}" ({_plain(verdict.reading)}): {_plain(_why(verdict))}'
            for verdict in found.verdicts
            if not verdict.holds
        ]
        cells = (f"`{found.name}`", found.paper, held(found.verdicts), "<br>".join(failures) or "none")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def with_table(page: str, results: Iterable[Results]) -> str:
    r"""The page with its table written again.

    Examples
    --------
    >>> print(with_table(f"Claims\n{BEGIN}\nold\n{END}\nend", []))
    Claims
    <!-- claims: begin -->
    | experiment | of | claims that hold | claims that fail, and why |
    |---|---|---|---|
    <!-- claims: end -->
    end
    """
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{markdown_table(results)}\n{END}{after}"


def _why(verdict: ClaimVerdict) -> str:
    """Number of seeds in which a claim holds, the share of pairs, and the reason or the numbers of the first seed."""
    return "; ".join(filter(None, (verdict.text, verdict.together, verdict.reason or verdict.measured[0])))


def _plain(text: str) -> str:
    """Text without anything that Markdown would read as markup."""
    return re.sub(r"([|*_`])", r"\\\1", escape(text, quote=False))
