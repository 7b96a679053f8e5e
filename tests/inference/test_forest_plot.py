import sys

import numpy as np
import pytest

from inference.summaries import summary_of
from sgdone.inference import Refusal

matplotlib = pytest.importorskip("matplotlib")

INFINITE = Refusal("infinite", "NV separates 13 rows.", 1)


@pytest.fixture(autouse=True)
def _no_window():
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    yield
    plt.close("all")


@pytest.fixture
def summary():
    return summary_of(["(intercept)", "NV", "PI", "EH"], [9, 0, -1, -3], [1, 1, 1, 0.5], refused={1: INFINITE})


def rows(axis):
    """Names from top to bottom; rendering finds errors that drawing alone does not."""
    axis.figure.canvas.draw()
    assert axis.yaxis_inverted()
    return [text.get_text() for text in axis.get_yticklabels()]


def intervals(axis):
    return [bars.get_segments() for bars in axis.collections]


def test_the_largest_z_first_without_intercept_and_refused(summary):
    axis = summary.plot()
    assert rows(axis) == ["EH", "PI"]
    (segments,) = intervals(axis)
    np.testing.assert_allclose(segments[0][:, 0], [summary.low[3], summary.high[3]])
    assert axis.lines[0].get_xdata() == [0, 0]
    assert axis.get_xlabel() == "coefficient and 95 % interval\nrefused: NV"


def test_named_columns_in_the_order_given(summary):
    axis = summary.plot(["(intercept)", "NV", "EH", "NV"])
    assert rows(axis) == ["(intercept)", "NV", "EH"]
    assert [text.get_text() for text in axis.texts] == ["refused: +∞"]
    assert [len(segments) for segments in intervals(axis)] == [2]


def test_top(summary):
    axis = summary.plot(top=1)
    assert rows(axis) == ["EH"]
    assert "not drawn: 1 with smaller z" in axis.get_xlabel()
    with pytest.raises(ValueError, match="top=0 is not a positive number"):
        summary.plot(top=0)


def test_classes_have_colours_and_are_grouped_by_feature():
    found = summary_of(
        ["a", "b", "c"] * 2, [1, 5, 2, 6, 1, 2], np.ones(6), classes=["x"] * 3 + ["_y"] * 3, refused={1: INFINITE}
    )
    axis = found.plot(top=3)
    assert rows(axis) == ["a", "c"], "the features of the three largest, with all their classes"
    assert [len(segments) for segments in intervals(axis)] == [2, 2]
    assert [text.get_text() for text in axis.get_legend().get_texts()] == ["class x", "class _y"]
    assert len({tuple(bars.get_color()[0]) for bars in axis.collections}) == 2
    axis = found.plot(["_y: b"])
    assert [len(segments) for segments in intervals(axis)] == [0, 1]


def test_names_are_no_formulas_and_are_shortened():
    names = ["$5 to $6", "occupation=" + "x" * 99]
    shown = rows(summary_of(names, [2, 1], [1, 1]).plot())
    assert shown[0] == r"\$5 to \$6"
    assert len(shown[1]) == 40


def test_on_given_axes(summary):
    from matplotlib.figure import Figure

    axis = Figure().add_subplot()
    assert summary.plot(ax=axis) is axis


def test_nothing_to_draw(summary):
    with pytest.raises(ValueError, match=r"no coefficient 'intercept'. Did you mean '\(intercept\)'\?"):
        summary.plot(["EH", "intercept"])
    with pytest.raises(ValueError, match=r"because all are refused \(NV\). NV separates 13 rows."):
        summary.plot(["NV"])
    with pytest.raises(ValueError, match=r"columns is empty"):
        summary.plot([])
    with pytest.raises(ValueError, match=r"the summary has no coefficient but the intercept"):
        summary_of(["(intercept)"], [1], [1]).plot()


def test_without_matplotlib(summary, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"plotting a summary needs matplotlib: pip install 'sgdone\[plot\]'"):
        summary.plot()
