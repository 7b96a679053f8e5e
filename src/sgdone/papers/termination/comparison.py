"""The margin test beside small validation sets: what the figures of scatter plots share."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, final

import numpy as np

from sgdone.data.source import Source
from sgdone.papers.claims import Claim, every, span
from sgdone.papers.drawing import Axes, Figure, grid_lines
from sgdone.papers.experiment import Experiment, Prepared, Row
from sgdone.papers.tables import column, distinct, grouped, where
from sgdone.papers.termination.runs import ASTERISK, LONGER, LOSSES, MARGIN, Accuracy, five_tests, svs
from sgdone.stopping import StopRule

#: Rows of the small validation sets by 1/α̃: the main text's for 1/16, the supplement's for 1/10 and 1/200.
SVS_SIZES = {16: (8, 32, 128), 10: (32, 128, 512), 200: (32, 128, 512)}
#: Mean accuracies closer than this count as equal; up to this many times the iterations count as comparable.
EQUAL, COMPARABLE = 0.01, 1.5

_STYLES: dict[str, dict[str, Any]] = {
    MARGIN: {"marker": ASTERISK, "color": "blue", "markersize": 7, "label": "test (12), k iterations"},
    LONGER: {"marker": "+", "color": "green", "markersize": 8, "label": "1.5k iterations"},
}
#: SVS from the smallest validation set to the largest.
_SVS_COLOURS = ("red", "magenta", "cyan")


def panel_label(row: Row) -> str:
    """As the paper has it: (l/200) is the logistic loss with α̃ = 1/200."""
    return f"{row['data']} ({row['loss'][0]}/{row['step'][2:]})"


class Trial(NamedTuple):
    """One random run, ended by five tests in turn."""

    data: str
    loss: str
    #: 1/α̃.
    inverse_step: int
    number: int


@final
@dataclass(frozen=True)
class Reasons:
    """Why some claims do not hold on some data, where that is known."""

    accuracy: str = ""
    step: str = ""
    spread: str = ""
    many_iterations: str = ""
    few_iterations: str = ""


@dataclass(frozen=True)
class TerminationComparison(Experiment[Trial, Prepared]):
    """Accuracy against iterations of ten random runs, each ended by five tests, for both losses and three α̃."""

    trials: int = 10
    #: Why claims fail on these data, where that is known.
    reasons: ClassVar[Reasons] = Reasons()
    figure_size = (11.0, 13.5)

    @property
    @abstractmethod
    def data(self) -> Sequence[str]:
        """What the rows of panels are about: values of a parameter, or data sets."""

    @property
    @abstractmethod
    def limit(self) -> StopRule:
        """What ends a run whose test does not."""

    @abstractmethod
    def rows_and_accuracy(self, data: str, prepared: Prepared) -> tuple[Source, Accuracy]:
        """Training rows, and the fraction correct of a classifier."""

    def tasks(self) -> Sequence[Trial]:
        """Every random run of every panel."""
        return [
            Trial(data, loss, inverse_step, number)
            for data in self.data
            for loss in LOSSES
            for inverse_step in SVS_SIZES
            for number in range(self.trials)
        ]

    def measure(self, task: Trial, prepared: Prepared, seed: np.random.SeedSequence) -> list[Row]:
        """One random run."""
        source, accuracy = self.rows_and_accuracy(task.data, prepared)
        sizes = SVS_SIZES[task.inverse_step]
        ended = five_tests(source, task.loss, 1 / task.inverse_step, sizes, self.limit, accuracy, seed)
        panel = {"data": task.data, "loss": task.loss, "step": f"1/{task.inverse_step}", "trial": task.number}
        return [panel | row for row in ended]

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """The statements of the main text on α̃ = 1/16, of the supplement on 1/10 and 1/200, of both on all panels."""
        return claims_of_comparison(rows, self.reasons)

    def draw(self, rows: Sequence[Row], figure: Figure) -> str:
        """A row of panels for each data and loss, a column for each α̃."""
        kinds, steps = distinct(rows, "data", "loss"), distinct(rows, "step")
        panels = figure.subplots(len(kinds), len(steps), sharex="row", sharey="row", squeeze=False)
        for (data, loss), line in zip(kinds, panels, strict=True):
            for step, axis in zip(steps, line, strict=True):
                here = where(rows, data=data, loss=loss, step=step)
                _draw_panel(axis, here)
                axis.set_title(panel_label(here[0]), fontsize="medium")
            line[0].set_ylabel("accuracy")
        above = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.2), "fontsize": "small", "frameon": False, "ncol": 2}
        for step, top, bottom in zip(steps, panels[0], panels[-1], strict=True):
            top.legend(title=f"α̃ = {step}", **above)
            bottom.set_xlabel("iterations")
        return f"{self.trials} random runs per panel"


def _draw_panel(axis: Axes, rows: Sequence[Row]) -> None:
    """A run whose test did not fire has no marker."""
    colours = iter(_SVS_COLOURS)
    for test, runs in grouped(rows, "test").items():
        style = _STYLES.get(test) or {
            "marker": "o", "fillstyle": "none", "markersize": 6, "label": test, "color": next(colours),
        }  # fmt: skip
        axis.plot(column(runs, "iterations", fired=1), column(runs, "accuracy", fired=1), linestyle="none", **style)
    axis.set_xscale("log")
    grid_lines(axis)


@final
@dataclass(frozen=True)
class Ended:
    """The runs of a panel that one test ended; standard deviations are those of the sample."""

    accuracy: float
    accuracy_spread: float
    iterations: float
    #: Standard deviation over mean.
    iterations_spread: float

    @classmethod
    def of(cls, rows: Sequence[Row]) -> "Ended":
        """Over two or more runs."""
        accuracies, iterations = column(rows, "accuracy"), column(rows, "iterations")
        mean = float(iterations.mean())
        return cls(float(accuracies.mean()), float(accuracies.std(ddof=1)), mean, float(iterations.std(ddof=1)) / mean)


class Panel(NamedTuple):
    """One scatter plot; ``tests`` lacks those that fired in fewer than two runs."""

    data: str
    loss: str
    step: str
    label: str
    tests: dict[str, Ended]


class Pair(NamedTuple):
    """The margin test and a small validation set on the same runs."""

    label: str
    margin: Ended
    svs: Ended


def panels_of(rows: Sequence[Row]) -> list[Panel]:
    """All panels, in the order of the rows."""
    panels = []
    for (data, loss, step), own in grouped(rows, "data", "loss", "step").items():
        tests = grouped(where(own, fired=1), "test")
        ended = {test: Ended.of(runs) for test, runs in tests.items() if len(runs) > 1}
        panels.append(Panel(data, loss, step, panel_label(own[0]), ended))
    return panels


def _pairs(panels: Iterable[Panel]) -> list[Pair]:
    """The margin test beside every small validation set of every panel, where both fired."""
    return [
        Pair(f"{panel.label} {test.removeprefix('SVS, ')}", panel.tests[MARGIN], ended)
        for panel in panels
        for test, ended in panel.tests.items()
        if test.startswith("SVS") and MARGIN in panel.tests
    ]


def _medians(pairs: Iterable[Sequence[float]]) -> list[float]:
    return [float(np.median(values)) for values in zip(*pairs, strict=True)]


def claims_of_comparison(rows: Sequence[Row], reasons: Reasons) -> list[Claim]:
    """The statements of the main text on α̃ = 1/16, of the supplement on 1/10 and 1/200, and of both on all panels."""
    panels = panels_of(rows)
    main, tenth, two_hundredth = ([p for p in panels if p.step == step] for step in ("1/16", "1/10", "1/200"))
    gains = _accuracy_gains(main)
    return [
        every(
            f"α̃ = 1/16: mean accuracy of (12) is equal to (less than {EQUAL} below) or better than that of SVS",
            "main text, section 5.2: accuracy equal to or better than SVS, a consistent pattern",
            {label: gain > -EQUAL for label, gain in gains.items()},
            f", (12) less SVS {span(gains.values(), '+.3f')}",
            reasons.accuracy,
        ),
        _equally_fast(main),
        _longer(panels),
        _spread_smaller(panels, "accuracy", "accuracy_spread", reasons.spread),
        _spread_smaller(
            panels, "iterations over their mean", "iterations_spread", reasons.spread or _early_stops(rows)
        ),
        _iterations_against_largest(
            tenth, "fewer", "supplement, section 5.1: fewer iterations for a large α̃", reasons.few_iterations
        ),
        _iterations_against_largest(
            two_hundredth, "more", "supplement, section 5.1: the opposite for a small α̃", reasons.many_iterations
        ),
        _more_accurate(
            tenth,
            "supplement: more accurate than SVS (section 5.1), low accuracy but faster (section 6)",
            "the paper's two sections differ on it: with large steps (12) holds early",
        ),
        _more_accurate(
            two_hundredth,
            "supplement: more accurate than SVS (section 5.1), higher accuracy with more iterations (section 6)",
            reasons.accuracy,
        ),
        _smaller_step(tenth, two_hundredth, reasons.step),
        _less_sensitive(tenth, two_hundredth),
    ]


def _accuracy_gains(panels: Sequence[Panel]) -> dict[str, float]:
    """Mean accuracy of (12) less that of SVS."""
    return {pair.label: pair.margin.accuracy - pair.svs.accuracy for pair in _pairs(panels)}


def _equally_fast(panels: Sequence[Panel]) -> Claim:
    ratios = {
        pair.label: pair.margin.iterations / pair.svs.iterations
        for pair in _pairs(panels)
        if abs(pair.margin.accuracy - pair.svs.accuracy) <= EQUAL
    }
    return every(
        f"α̃ = 1/16: where mean accuracies are within {EQUAL}, (12) takes at most {COMPARABLE} times the iterations",
        "main text, section 5.2: where the accuracy is equal, the iteration count is comparable or better",
        {label: ratio <= COMPARABLE for label, ratio in ratios.items()},
        f", ratios {span(ratios.values(), '.2f')}",
        f"what is comparable the paper leaves open; {COMPARABLE} times is this check's reading",
    )


def _longer(panels: Sequence[Panel]) -> Claim:
    """What half of the samples again brings."""
    gains = {
        panel.label: panel.tests[LONGER].accuracy - panel.tests[MARGIN].accuracy
        for panel in panels
        if {LONGER, MARGIN} <= panel.tests.keys()
    }
    return every(
        f"going on to 1.5k iterations raises the mean accuracy by less than {EQUAL}",
        "both texts: running until 1.5k iterations does not significantly improve the solution",
        {label: gain < EQUAL for label, gain in gains.items()},
        f", gains {span(gains.values(), '+.3f')}",
        f"what is significant the paper leaves open; {EQUAL} is this check's reading",
    )


def _spread_smaller(panels: Sequence[Panel], of_what: str, spread: str, reason: str) -> Claim:
    """How far random trials differ."""
    spreads = {pair.label: (getattr(pair.margin, spread), getattr(pair.svs, spread)) for pair in _pairs(panels)}
    medians = _medians(spreads.values())
    return every(
        f"the standard deviation of the {of_what} is smaller for (12) than for SVS",
        "both texts: (12) is more consistent across random trials, apparent from all plots",
        {label: ours < theirs for label, (ours, theirs) in spreads.items()},
        f", medians {medians[0]:.3g} and {medians[1]:.3g}" if medians else "",
        reason,
    )


def _early_stops(rows: Sequence[Row]) -> str:
    """How often SVS stops as soon as it can: after two checks, of 2p samples each."""
    small = [row for row in rows if row["test"].startswith("SVS")]
    early = np.mean([row["fired"] and row["iterations"] == 4 * int(row["test"].rpartition(" ")[2]) for row in small])
    return f"SVS stops at its second check, the earliest it can, in {early:.0%} of its runs: these do not differ in k"


def _iterations_against_largest(panels: Sequence[Panel], word: str, paper: str, reason: str) -> Claim:
    """At one α̃ of the supplement, iterations beside those of the largest validation set."""
    large = svs(512)
    differences = {
        panel.label: panel.tests[MARGIN].iterations - panel.tests[large].iterations
        for panel in panels
        if {MARGIN, large} <= panel.tests.keys()
    }
    return every(
        f"α̃ = {panels[0].step}: (12) takes {word} iterations than SVS with p = 512, on average",
        paper,
        {label: (more > 0) == (word == "more") for label, more in differences.items()},
        f", differences {span(differences.values(), '+,.0f')}",
        reason,
    )


def _more_accurate(panels: Sequence[Panel], paper: str, reason: str) -> Claim:
    gains = _accuracy_gains(panels)
    return every(
        f"α̃ = {panels[0].step}: mean accuracy of (12) is higher than that of SVS",
        paper,
        {label: gain > 0 for label, gain in gains.items()},
        f", (12) less SVS {span(gains.values(), '+.3f')}",
        reason,
    )


def _smaller_step(tenth: Sequence[Panel], two_hundredth: Sequence[Panel], reason: str) -> Claim:
    gains = {
        f"{large.data} ({large.loss})": small.tests[MARGIN].accuracy - large.tests[MARGIN].accuracy
        for large, small in zip(tenth, two_hundredth, strict=True)
        if MARGIN in large.tests and MARGIN in small.tests
    }
    return every(
        "mean accuracy of (12) is higher for α̃ = 1/200 than for 1/10",
        "supplement, sections 5.2 and 6: accuracy is overall higher for 1/200",
        {label: gain > 0 for label, gain in gains.items()},
        f", gains {span(gains.values(), '+.3f')}",
        reason,
    )


def _less_sensitive(tenth: Sequence[Panel], two_hundredth: Sequence[Panel]) -> Claim:
    """How the iterations grow from α̃ = 1/10 to 1/200."""
    growth = {
        f"{large.data} ({large.loss}) {test}": [
            small.tests[which].iterations / large.tests[which].iterations for which in (test, MARGIN)
        ]
        for large, small in zip(tenth, two_hundredth, strict=True)
        for test in large.tests
        if test.startswith("SVS") and {test, MARGIN} <= small.tests.keys() & large.tests.keys()
    }
    medians = _medians(growth.values())
    return every(
        "from α̃ = 1/10 to 1/200 the iterations of SVS change by a smaller factor than those of (12)",
        "supplement, section 5: SVS is only mildly sensitive to α̃, (12) is by design",
        {label: bool(abs(np.log(ours)) > abs(np.log(theirs))) for label, (theirs, ours) in growth.items()},
        f", median factors {medians[0]:.2f} and {medians[1]:.1f}" if medians else "",
    )
