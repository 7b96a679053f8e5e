"""The pages on reproduction: the table is what its generator writes, and what they name exists."""

import json
import re
from pathlib import Path

import pytest

from sgdone.papers.catalogue import all_experiments, statements
from sgdone.papers.page import html_page
from sgdone.papers.results import Results
from sgdone.papers.seeds import ClaimVerdict
from sgdone.papers.summary import markdown_table, with_table

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def recorded():
    return [Results.from_json(json.dumps(entry)) for entry in json.loads((ROOT / ".ci/claims.json").read_text("utf-8"))]


def test_the_table_is_that_of_the_recorded_results(recorded):
    page = (ROOT / "docs/reproduce.md").read_text("utf-8")
    assert with_table(page, recorded) == page, "run python .ci/reproduce.py FOLDER --record"
    assert {results.name for results in recorded} == set(all_experiments())


def test_recorded_results_are_of_the_full_form_as_it_is(recorded):
    for results in recorded:
        experiment = all_experiments()[results.name]
        assert results.run["form"] == "full"
        assert results.run["seeds"] == list(experiment.seeds("full"))
        assert (results.title, results.paper) == (experiment.title, experiment.paper)
        assert all(len(verdict.holds_in) == len(results.run["seeds"]) for verdict in results.verdicts)


def test_what_the_page_of_misprints_names_exists():
    text = (ROOT / "docs/misprints.md").read_text("utf-8")
    sources = "\n".join(path.read_text("utf-8") for path in (ROOT / "tests/papers").rglob("test_*.py"))
    tests, commands, files = (
        re.findall(pattern, text) for pattern in (r"`(test_\w+)`", r"`sgdone (\w+) ([\w-]+)`", r"`(tests/\w+/\w+\.py)`")
    )
    assert len(tests) > 30
    assert [name for name in tests if f"def {name}(" not in sources] == []
    known = {"theory": statements(), "reproduce": all_experiments()}
    assert [(command, name) for command, name in commands if name not in known[command]] == []
    assert all((ROOT / file).is_file() for file in files)


def results_of(name, paper, *holds):
    verdicts = tuple(
        ClaimVerdict(f"<w{k}> | x", "p. 1", f"r{k}", ("1", "2"), (good, good), "" if good else "a < b")
        for k, good in enumerate(holds)
    )
    return Results(name, "A & B", paper, {"form": "full", "seeds": [0, 1]}, verdicts, ())


def test_the_table_lists_what_fails_and_why():
    line = markdown_table([results_of("tiny", "Nobody (1900), Fig. 0", True, False)]).splitlines()[-1]
    assert (
        line == r'| `tiny` | Nobody (1900), Fig. 0 | 1 of 2 | "&lt;w1&gt; \| x" (r1): fails in all 2 seeds; a &lt; b |'
    )


def test_the_page_groups_experiments_by_paper_and_escapes_all_text():
    found = [
        results_of("one", "B (1900), Fig. 1", True),
        results_of("two", "A (1900), Fig. 1", False),
        results_of("three", "B (1900), Fig. 2", True),
    ]
    page = html_page(found, {"four": "<no data>"})
    assert re.findall(r"<h2>(.*?)</h2>", page) == ["A (1900)", "B (1900)"]
    assert re.findall(r'<h3 id="(\w+)">', page) == ["two", "one", "three"]
    assert "&lt;w0&gt;" in page
    assert "Why: a &lt; b" in page
    assert "four did not run: &lt;no data&gt;" in page
    assert not re.search(r"<script|<w0>|<no data>| on\w+=", page)
    assert 'name="viewport"' in page
    assert page.count("with the other seeds") == 3
