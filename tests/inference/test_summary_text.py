"""A summary as text and as HTML."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from inference.summaries import summary_of
from sgdone.inference import Refusal

INFINITE = Refusal("infinite", "It tends to +∞, because it separates 13 rows. Use a penalty.", 1)
COLLINEAR = Refusal("collinear", "These columns are linear combinations of others. Drop them.")

TABLE = """\
                Coefficients of the optimum without a penalty
==============================================================================
Model:                    logistic regression   Log-likelihood:        -512.35
Outcome:                       yes against no     with intercept only: -800.25
Covariance:          robust, factor n/(n − k)   LR test, χ²(3):         575.81
Rows:                                   1,200   LR test, p-value:       <0.001
Coefficients:                               4   McFadden's R²:          0.3598
Level:                                   95 %   AIC:                  1,032.69
                                                BIC:                  1,053.05
==============================================================================
                             coef  std err       z   P>|z|    [0.025    0.975]
------------------------------------------------------------------------------
(intercept)               4.305    1.637     2.629   0.009   1.095     7.514
NV [1]                   +∞        —         —       —       —         —
PI                       -0.04218  0.04430  -0.952   0.341  -0.12901   0.04464
EH                       -2.9026   0.8456   -3.433  <0.001  -4.5599   -1.2453
==============================================================================
[1] NV: It tends to +∞, because it separates 13 rows. Use a penalty.

The coefficients of the model differ by at most 0.3 standard errors.
Six rows have weight 0.
Standard errors are exact to ±5 %: they were estimated with random numbers.
Fit of the model: Converged after 23 updates (23 passes)."""


def test_the_whole_table():
    found = summary_of(
        ["(intercept)", "NV", "PI", "EH"], [4.30452, 0, -0.0421834, -2.9026], [1.6373, 1, 0.0443, 0.8456],
        refused={1: INFINITE}, notes=("Six rows have weight 0.",), error=0.05,
    )  # fmt: skip
    assert str(found) == TABLE


def test_numbers_of_a_row_have_the_decimals_of_its_standard_error():
    lines = str(summary_of(["a", "b", "c"], [2013.25, 1e-6, 3e9], [0.0123, 2e-7, 1e8])).splitlines()
    assert [line.split()[1:3] for line in lines if line[:2] in ("a ", "b ", "c ")] == [
        ["2013.25000", "0.01230"],
        ["1.000e-06", "2.000e-07"],
        ["3.000e+09", "1.000e+08"],
    ]


def test_quantiles_of_t_and_another_level():
    text = str(summary_of(["a"], [2.0], [1.0], df=17, level=0.99))
    header = next(line for line in text.splitlines() if "coef" in line)
    assert header.split() == ["coef", "std", "err", "t", "P>|t|", "[0.005", "0.995]"]
    assert "99 %" in text


def test_a_block_per_class():
    found = summary_of(
        ["(intercept)", "petal"] * 2, [1, 2, 3, 4], [1, 1, 1, 1], classes=["b", "b", "c", "c"], refused={3: COLLINEAR}
    )
    lines = str(found).splitlines()
    starts = [k for k, line in enumerate(lines) if line.startswith("class ")]
    assert [lines[k].split()[:3] for k in starts] == [["class", "b", "coef"], ["class", "c", "coef"]]
    assert [lines[starts[1] + k].split()[0] for k in (2, 3)] == ["(intercept)", "petal"]
    assert "[1] c: petal: These columns" in str(found)


@pytest.mark.parametrize(("sign", "shown"), [(1, "+∞"), (-1, "−∞"), (0, "—")])
def test_the_sign_of_an_infinite_coefficient(sign, shown):
    text = str(summary_of(["a", "b"], [1, 1], [1, 1], refused={1: Refusal("infinite", "Why.", sign)}))
    assert next(line for line in text.splitlines() if line.startswith("b [1]")).split()[2:] == [shown, *"—————"]


def test_each_reason_once_with_the_names_it_refuses():
    refused = dict.fromkeys(range(1, 18), COLLINEAR) | {18: INFINITE}
    text = str(summary_of([f"x{k}" for k in range(20)], np.ones(20), np.ones(20), refused=refused))
    assert "[1] x1, x2, x3, x4, x5 and 12 more: These columns are linear" in text
    assert text.count("These columns") == 1
    assert "\n[2] x18: It tends" in text
    everything = summary_of(["a", "b"], [1, 1], [1, 1], refused={0: COLLINEAR, 1: COLLINEAR})
    assert "[1] all coefficients: These columns" in str(everything)


def test_many_coefficients():
    z = np.random.default_rng(0).permutation(np.arange(1.0, 100.0))
    features = ["(intercept)", *(f"x{value:g}" for value in z)]
    text = str(summary_of(features, [0.001, *z], np.ones(100)))
    shown = [line.split()[0] for line in text.splitlines() if line.startswith(("x", "(intercept)"))]
    assert shown == ["(intercept)", *(f"x{value}" for value in range(99, 59, -1))]
    assert "59 others are left out: to_frame() has all of them." in text.replace("\n", " ")
    assert "left out" not in str(summary_of([f"x{k}" for k in range(60)], np.ones(60), np.ones(60)))


def test_many_reasons():
    refused = {k: Refusal("few_nonzeros", f"It has {k} non-zeros.") for k in range(50, 100)}
    text = str(summary_of([f"x{k}" for k in range(100)], np.ones(100), np.ones(100), refused=refused))
    assert text.count("non-zeros.") == 10
    assert "refused for 40 further reasons" in text


def test_names_that_are_long_wide_or_not_printable():
    names = ["education=" + "some college, " * 9 + "no degree", "長い名前" * 20, "two\nlines", "b"]
    text = str(summary_of(names, [1, 2, 3, 4], [1, 1, 1, 1]))
    assert "two\\nlines " in text
    rows = [line for line in text.splitlines() if line.startswith(("educ", "長", "two", "b "))]
    assert rows[0].startswith("education=")
    assert "…" in rows[0]
    assert "no degree " in rows[0]
    from rich.cells import cell_len

    assert len({cell_len(row) for row in rows}) == 1
    assert max(map(cell_len, text.splitlines())) <= 90


def test_what_is_missing_is_left_out():
    head = dict.fromkeys(("likelihood_ratio", "likelihood_ratio_df", "likelihood_ratio_p", "aic", "bic"))
    found = summary_of(
        ["a"], [1], [1], outcome="", log_likelihood=None, null_log_likelihood=np.nan, r2=0.5, verdict="", difference="",
        **head,
    )  # fmt: skip
    text = str(found)
    for absent in ("None", "nan", "Outcome", "LR test", "AIC", "Log-likelihood", "McFadden", "Fit of the model"):
        assert absent not in text
    assert "R²:" in text


def test_a_long_value_of_the_head_has_a_line_of_its_own():
    cov = "cluster-robust with 37 groups and the factor G/(G − 1)·(n − 1)/(n − k) = 1.031 of small samples"
    assert f"Covariance: {cov}" in " ".join(str(summary_of(["a"], [1], [1], cov=cov)).split())


# ---- as HTML ----


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
