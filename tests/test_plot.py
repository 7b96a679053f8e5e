import builtins

import numpy as np
import pytest

from sgdone.interfaces.stop_rule import Status
from sgdone.run.result import Trace, TraceRow, Verdict
from sgdone.run.trace_plot import plot_trace

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def _no_window():
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    yield
    plt.close("all")


def rows(losses, label=None, blocks_a_pass=2, step_size=0.1):
    return [
        TraceRow(100 * k, k / blocks_a_pass, loss, loss / 2, step_size / k, 0.1 * k, label)
        for k, loss in enumerate(losses, 1)
    ]


def ended(step, status=Status.CONVERGED, rule="ProgressiveLoss", **options):
    return Verdict(status, rule, step, 1.0, "why", **options)


def drawn(axes):
    """Render the figure, which finds errors that plotting alone does not."""
    axes[0].figure.canvas.draw()
    return axes


def ends_of_passes(axis):
    dashed = [line for line in axis.lines if line.get_linestyle() == "--"]
    upright = [line for line in axis.lines if len(set(line.get_xdata())) == 1 and len(line.get_xdata()) == 2]
    return [line.get_xdata()[0] for line in upright if line not in dashed], [line.get_xdata()[0] for line in dashed]


def test_three_panels_and_the_stop():
    trace = Trace(rows([0.9, 0.5, 0.4, 0.3]), ended(400))
    axes = drawn(plot_trace(trace))
    assert [axis.get_ylabel() for axis in axes] == ["progressive loss", "error (%)", "step size"]
    assert axes[-1].get_xlabel() == "samples"
    curve = axes[0].lines[0]
    assert list(curve.get_xdata()) == [100, 200, 300, 400]
    assert curve.get_ydata().tolist() == [0.9, 0.5, 0.4, 0.3]
    for axis in axes:
        assert ends_of_passes(axis) == ([200], [400])
    assert axes[0].texts[0].get_text() == "converged (ProgressiveLoss)"
    assert axes[0].get_legend() is None
    ticks = [text.get_text() for text in axes[1].get_yticklabels()]
    assert "10" in ticks, "a share of 0.1 reads 10"


def test_axes_are_logarithmic_where_values_span_decades():
    axes = drawn(plot_trace(Trace(rows(0.9 ** np.arange(150)), ended(15000))))
    assert [axis.get_xscale() for axis in axes] == ["log"] * 3
    assert [axis.get_yscale() for axis in axes] == ["log", "linear", "log"]
    axes = drawn(plot_trace(Trace(rows([0.5, 0.4]), ended(200))))
    assert [axis.get_yscale() for axis in axes] == ["linear"] * 3
    assert axes[0].get_xscale() == "linear"
    axes = drawn(plot_trace(Trace(rows([1.0, 0.1, 0.0]), ended(300))))
    assert axes[0].get_yscale() == "linear", "there is a zero"


def test_a_single_block():
    axes = drawn(plot_trace(Trace(rows([0.5]), ended(100))))
    assert axes[0].lines[0].get_marker() == "o"
    assert ends_of_passes(axes[0]) == ([], [100])


def test_a_regression():
    axes = drawn(plot_trace(Trace(rows([900.0, 40.0, 3.0]), ended(300), "regression")))
    assert axes[1].get_ylabel() == "error (RMSE)"
    assert axes[1].get_yscale() == "log"


@pytest.mark.parametrize("last", [1e30, 1e300, np.inf, np.nan])
def test_a_diverged_fit(last):
    trace = Trace(rows([0.5, 1e5, 1e20, last]), ended(400, Status.DIVERGED, ""), "regression")
    axes = drawn(plot_trace(trace))
    assert axes[0].texts[0].get_text() == "diverged"
    assert axes[0].get_ylim()[1] < 1e20, "it leaves the picture and does not fill it"


def test_classes_that_no_rule_ended():
    verdict = Verdict.of_classes({k: ended(200, Status.INTERRUPTED, "") for k in range(3)})
    axes = drawn(plot_trace(Trace(rows([0.5, 0.4]), verdict)))
    assert axes[0].texts[0].get_text() == "interrupted (3 of 3 classes)"


@pytest.mark.parametrize("classes", [2, 3, 10, 11])
def test_several_classes(classes):
    one, other = ended(200), ended(300, Status.BUDGET_SPENT, "MaxPasses")
    verdict = Verdict.of_classes({k: other if k else one for k in range(classes)})
    trace = Trace([row for k in range(classes) for row in rows([0.5, 0.4, 0.3][: 2 + bool(k)], label=k)], verdict)
    axes = drawn(plot_trace(trace))
    curves = [line for line in axes[0].lines if line.get_marker() == "o"]
    assert len({line.get_color() for line in curves}) == classes
    assert axes[0].texts[0].get_text() == f"budget spent (MaxPasses, {classes - 1} of {classes} classes)"
    legend = axes[0].get_legend()
    assert (legend is None) == (classes > 10)
    if legend is not None:
        assert [text.get_text() for text in legend.get_texts()] == [str(k) for k in range(classes)]


def test_a_trace_without_a_verdict_and_passes_too_many_to_mark():
    axes = drawn(plot_trace(Trace(rows([0.5] * 80, blocks_a_pass=1))))
    assert ends_of_passes(axes[0]) == ([], [])
    assert not axes[0].texts


def test_part_of_a_stream_has_no_passes_to_mark():
    trace = Trace([TraceRow(100 * k, 1.0, 0.5, 0.5, 0.1, 0.1) for k in range(1, 4)], ended(300))
    assert ends_of_passes(drawn(plot_trace(trace))[0]) == ([], [300])


def test_nothing_to_draw():
    with pytest.raises(ValueError, match="the trace is empty, because the fit stopped before its first update"):
        plot_trace(Trace())


def test_without_matplotlib(monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"needs matplotlib: pip install 'sgdone\[plot\]'"):
        plot_trace(Trace(rows([0.5])))


def test_of_a_fitted_model():
    from sgdone import LinearClassifier, LinearRegressor

    X = np.random.default_rng(0).standard_normal((90, 3))
    for model, y, name in (
        (LinearClassifier(stop=2), np.digitize(X[:, 0], [-0.5, 0.5]), "error (%)"),
        (LinearRegressor(stop=2), X[:, 0], "error (RMSE)"),
    ):
        axes = drawn(model.fit(X, y).trace_.plot())
        assert axes[1].get_ylabel() == name
