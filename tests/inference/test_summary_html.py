import re
from html.parser import HTMLParser

from inference.summaries import summary_of
from sgdone.inference import Refusal

NAME = "income <50k & 'rising' \"<script>\""


class Page(HTMLParser):
    """The texts of each row, the paragraphs, and the elements that were opened and not closed."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.paragraphs, self.open, self.seen = [], [], [], set()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen |= {tag, *(name for name, _ in attrs)}
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
        elif tag == "p":
            self.paragraphs.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data
        elif "p" in self.open:
            self.paragraphs[-1] += data


def test_the_same_content_as_the_text():
    refusal = Refusal("infinite", "It tends to +∞ for x < 3.", 1)
    found = summary_of(
        ["(intercept)", NAME] * 2, [1, 2, 3, 4], [1, 1, 1, 1], classes=["<b>", "<b>", "c", "c"], refused={3: refusal}
    )
    page = Page(found._repr_html_())
    assert not page.open
    assert page.rows[0] == ["Model", "logistic regression", "Log-likelihood", "-512.35"]
    assert [row[0] for row in page.rows[-6:]] == [
        "class <b>", "(intercept)", NAME, "class c", "(intercept)", f"{NAME} [1]"
    ]  # fmt: skip
    assert page.rows[-4] == [NAME, "2.000", "1.000", "2.000", "0.046", "0.040", "3.960"]
    assert page.rows[-1][1:] == ["+∞", *"—————"]
    assert page.paragraphs[0] == f"[1] c: {NAME}: It tends to +∞ for x < 3."
    for line in str(found).splitlines()[-2:]:
        assert line in page.paragraphs


def test_nothing_is_loaded_and_no_colour_is_fixed():
    text = summary_of(["a"], [1], [1])._repr_html_()
    assert not {"script", "link", "img", "src", "href"} & Page(text).seen
    assert "url(" not in text
    style = text.partition("</style>")[0]
    assert set(re.findall(r"(?:color|background): ([^;}]*)", style)) == {"inherit", "none", "rgba(128, 128, 128, .15)"}
