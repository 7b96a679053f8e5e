"""Text and plots of a separation."""

import matplotlib as mpl
import numpy as np
import pytest

from sgdone.diagnose import separation

mpl.use("Agg")

X = np.array([[0, 1], [0, 2], [0, 3], [0, 4], [1, 2], [1, 3]])
Y = np.array([0, 1, 0, 1, 1, 1])


def test_plot_shows_margins_and_coefficients(tmp_path):
    axes = separation(X, Y, feature_names=["treated", "age"]).plot()
    margins, coefficients = axes
    assert margins.get_title() == "quasi-complete separation"
    assert [text.get_text() for text in coefficients.get_yticklabels()] == ["treated", "age", "intercept"]
    assert "tends to +∞" in [text.get_text() for text in coefficients.get_legend().get_texts()]
    assert sum(bar.get_height() for bar in margins.patches) == 6
    axes[0].figure.savefig(tmp_path / "separation.png")
    mpl.pyplot.close("all")


def test_there_is_nothing_to_draw_where_an_optimum_exists():
    with pytest.raises(ValueError, match="'none': there is no separating direction to plot"):
        separation([[1.0], [2.0], [3.0]], [0, 1, 0]).plot()


def test_text_of_each_kind(rng):
    assert str(separation([[1.0], [2.0], [3.0]], [0, 1, 0])) == (
        "No separation: the logistic loss has a finite optimum on these 3 rows. The certificate is exact."
    )
    assert str(separation([[-1.0], [2.0]], [0, 1], fit_intercept=False, feature_names=["dose"])) == (
        "Complete separation: one direction classifies all 2 rows without error, so there is no finite optimum. "
        "dose tends to +∞. The loss tends to 0. The certificate is exact."
    )
    assert str(separation([[-1.0], [1.0]], [1, 1])).startswith(
        "Complete separation: one direction classifies all 2 rows without error, so there is no finite optimum. "
        "The intercept tends to +∞; x0 may tend to +∞ or −∞."
    )


def test_many_features_are_named_by_their_part_in_the_direction(rng):
    Z = rng.standard_normal((40, 300))
    said = str(separation(Z, np.arange(40) % 2))
    assert "The largest coefficients of the direction: x" in said
