"""One HTML page of all experiments: figures, and each claim with the paper's words, our numbers and the verdict."""

from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby

from sgdone.papers.claims import AlsoTried
from sgdone.papers.results import Results
from sgdone.papers.seeds import ClaimVerdict, held

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 0 auto; padding: 0 1rem 3rem; color: #1c1c1c;
  overflow-wrap: break-word; }
h1 { font-size: 1.7rem; } h2 { margin-top: 3rem; border-bottom: 2px solid #ddd; } h3 { margin-top: 2.2rem; }
img { width: 100%; height: auto; } code { font-size: 0.9em; }
table { border-collapse: collapse; width: 100%; } td, th { text-align: left; padding: 0.15rem 0.6rem 0.15rem 0; }
article { border-left: 4px solid #2e7d32; padding: 0.1rem 0 0.1rem 0.8rem; margin: 1rem 0; }
article.fails { border-color: #c62828; }
blockquote { margin: 0; font-style: italic; } article p { margin: 0.25rem 0; }
.verdict { font-weight: 600; color: #2e7d32; } .fails .verdict { color: #c62828; }
.place, summary, .also { color: #555; font-size: 0.9rem; }
"""


def html_page(results: Sequence[Results], absent: Mapping[str, str]) -> str:
    """The page ``index.html``: no scripts, all text escaped, pictures by their place relative to it.

    Parameters
    ----------
    results : sequence of Results
        The experiments that ran.
    absent : mapping
        Experiments that did not run, and why.

    Examples
    --------
    >>> found = Results("tiny", "A < B", "Nobody (1900), Fig. 0", {"form": "quick", "seeds": [0]}, (), ())
    >>> page = html_page([found], {})
    >>> "A &lt; B" in page, "tiny/tiny.png" in page, "<script" in page
    (True, True, False)
    """
    # Stable: experiments of a paper stay in their order.
    ordered = sorted(results, key=lambda found: found.authors)
    parts = [_head(), _overview(ordered, absent)]
    for authors, own in groupby(ordered, key=lambda found: found.authors):
        parts.append(f"<h2>{escape(authors)}</h2>")
        parts += [_section(found) for found in own]
    return "\n".join([*parts, "</body>", "</html>", ""])


def _head() -> str:
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>The papers, reproduced</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>The papers, reproduced</h1>
<p>Each sentence of a paper is counted once, under a reading that was fixed before the run. A claim holds if it holds in
more than half of the seeds. Other readings and tests of our own are listed as "also tried" and are not counted.</p>"""


def _overview(results: Sequence[Results], absent: Mapping[str, str]) -> str:
    lines = [
        f'<tr><td><a href="#{escape(found.name)}">{escape(found.name)}</a></td><td>{held(found.verdicts)}</td></tr>'
        for found in results
    ]
    missing = "".join(f"<p>{escape(name)} did not run: {escape(why)}</p>" for name, why in absent.items())
    heads = "<tr><th>experiment</th><th>claims that hold</th></tr>"
    return f"<table>\n{heads}\n" + "\n".join(lines) + f"\n</table>\n{missing}"


def _section(found: Results) -> str:
    name, seeds = escape(found.name), found.run["seeds"]
    run = f"{found.run['form']} form, " + ("one seed" if len(seeds) == 1 else f"{len(seeds)} seeds")
    parts = [
        f'<h3 id="{name}">{escape(found.title)}</h3>',
        f'<p class="place">{escape(found.paper)}; {held(found.verdicts)} claims hold; {run}; '
        f'<code>sgdone reproduce {name}</code>, <a href="{name}/{name}.csv">numbers</a></p>',
        f'<a href="{name}/{name}.png"><img src="{name}/{name}.png" alt="{escape(found.title)}" loading="lazy"></a>',
        *(_claim(verdict) for verdict in found.verdicts),
    ]
    if found.also_tried:
        parts.append(_also_tried(found.also_tried))
    return "\n".join(parts)


def _claim(verdict: ClaimVerdict) -> str:
    reason = f"<p>Why: {escape(verdict.reason)}</p>" if verdict.reason and not verdict.holds else ""
    others = ""
    if len(set(verdict.measured)) > 1:
        lines = "".join(f"<li>{escape(measured)}</li>" for measured in verdict.measured[1:])
        others = f"<details><summary>with the other seeds</summary><ul>{lines}</ul></details>"
    together = f"; {escape(verdict.together)}" if verdict.together else ""
    return f"""<article class="{"holds" if verdict.holds else "fails"}">
<blockquote>{escape(verdict.words)}</blockquote>
<p class="place">{escape(verdict.place)}; read as: {escape(verdict.reading)}</p>
<p><span class="verdict">{escape(verdict.text)}</span>: {escape(verdict.measured[0])}{together}</p>{reason}{others}
</article>"""


def _also_tried(tried: Sequence[AlsoTried]) -> str:
    lines = "\n".join(f"<li>{escape(each.what)}: {escape(each.measured)}</li>" for each in tried)
    return f'<div class="also"><p>Also tried, not counted:</p>\n<ul>\n{lines}\n</ul></div>'
