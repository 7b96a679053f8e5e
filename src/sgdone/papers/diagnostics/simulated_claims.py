"""Claims of Chee & Toulis (2018), section 4.3, about Figure 2."""

from collections.abc import Sequence

import numpy as np

from sgdone.papers.claims import AlsoTried, Claim, Sentence, pooled
from sgdone.papers.diagnostics.models import decaying
from sgdone.papers.diagnostics.simulated_problems import LOGISTIC, NORMAL, SCALED, SimulatedProblem
from sgdone.papers.diagnostics.tuning import HALF, VARIANCE_REDUCED, measured_curves
from sgdone.papers.experiment import Row
from sgdone.papers.tables import Array, where

#: Columns of the CSV file: runs and errors.
NAMES = ("draw", "squared_error")
#: Errors within this factor of each other count as comparable.
COMPARABLE = 2.0

_PLACE = "section 4.3"
_COMPARABLE = Sentence("ISGD½ attains a comparable performance to SVRG", _PLACE)
_SVRG_BETTER = Sentence("SVRG attains an overall better performance for these experiments", _PLACE)
_EVEN_BETTER = Sentence(
    "with the logistic model … ISGD½ attains an even better performance than before as there are fewer cases where the "
    "diagnostic is aggressive",
    _PLACE,
)
_CONSISTENTLY = Sentence(
    "With high SNR and low dimension parameter settings, ISGD½ achieves consistently better performance than SVRG.",
    _PLACE,
)
_DIVERGES = Sentence("large enough learning rates can easily make the procedure diverge", _PLACE)
_FALSE_ALARMS = (
    "the diagnostic halves the step too early in some runs; the paper leaves a larger burn-in to future work"
)

#: By problem and method: the passes, and the squared errors (draws × passes) at them.
Curves = dict[tuple[SimulatedProblem, str], tuple[Array, Array]]


def curves_of(rows: Sequence[Row]) -> Curves:
    """The curves measured."""
    found = measured_curves(rows, NAMES, "model", "snr", "n_features", "method")
    return {(SimulatedProblem(*key[:3]), key[3]): curve for key, curve in found.items()}


#: By problem, log₁₀ of ISGD½'s error over SVRG's on the same draw, draws × passes.
Ratios = dict[SimulatedProblem, Array]


def ratios_of(rows: Sequence[Row], model: str) -> tuple[Array, Ratios]:
    """The passes, and the ratios of the problems of a model."""
    curves = curves_of(rows)
    panels = list(dict.fromkeys(panel for panel, _ in curves if panel.model == model))
    passes = next(iter(curves.values()))[0]
    return passes, {p: np.log10(curves[p, HALF][1] / curves[p, VARIANCE_REDUCED][1]) for p in panels}


def claims_of_simulations(rows: Sequence[Row]) -> list[Claim]:
    """Each sentence once."""
    (passes, normal), (_, logistic) = ratios_of(rows, NORMAL), ratios_of(rows, LOGISTIC)
    ends = np.concatenate([ratio[:, -1] for ratio in normal.values()])
    near = np.log10(COMPARABLE)
    shown = f"; geometric means {_listed(normal)}"
    behind = [_far_behind(group) for group in (normal, logistic)]
    return [
        pooled(
            _COMPARABLE,
            f"normal model: at the end ISGD½'s error is within a factor of {COMPARABLE:g} of SVRG's on the same data",
            dict(enumerate(np.abs(ends) <= near)),
            shown,
            of="data sets",
        ),
        pooled(
            _SVRG_BETTER,
            "normal model: at the end SVRG's error is lower than ISGD½'s on the same data",
            dict(enumerate(ends > 0)),
            shown,
            of="data sets",
        ),
        Claim(
            _EVEN_BETTER,
            "logistic model: ISGD½'s error at the end over SVRG's (geometric mean) is lower than in the normal model, "
            f"and fewer runs end with more than {COMPARABLE:g} times SVRG's error",
            f"{_overall(logistic):.2f} times SVRG's error, {_overall(normal):.2f} in the normal model; "
            f"{behind[1]:.0%} of the runs, {behind[0]:.0%} in the normal model",
            _overall(logistic) < _overall(normal) and behind[1] < behind[0],
            _FALSE_ALARMS,
        ),
        _consistently_better(min(logistic.items(), key=lambda item: item[0].n_features)[1], passes),
        _divergence(rows),
    ]


def tried_on_simulations(rows: Sequence[Row]) -> list[AlsoTried]:
    """The logistic model with features scaled to the signal-to-noise ratio."""
    _, scaled = ratios_of(rows, SCALED)
    what = "logistic model with features scaled to the SNR: ISGD½'s error at the end over SVRG's (geometric mean)"
    return [AlsoTried(what, f"{_overall(scaled):.2f} overall; {_listed(scaled)}")] if scaled else []


def _consistently_better(ratios: Array, passes: Array) -> Claim:
    whole = [i for i in range(1, passes.size) if passes[i] == round(passes[i])]
    better = np.mean(ratios[:, whole] < 0, axis=1) > 0.5
    return pooled(
        _CONSISTENTLY,
        "logistic model, p = 10: after more than half of the passes ISGD½'s error is below SVRG's on the same data",
        dict(enumerate(better)),
        f", {10 ** ratios[:, -1].mean():.2f} times SVRG's at the end (geometric mean)",
        _FALSE_ALARMS,
        of="data sets",
    )


def _divergence(rows: Sequence[Row]) -> Claim:
    """Settings, of those tried, that end no nearer to θ* than they started."""
    shares = {}
    for method in (HALF, VARIANCE_REDUCED):
        tried = [row for row in where(rows, stage="tuning", method=method) if row["model"] != SCALED]
        starts = [float(np.sum(decaying(row["n_features"]) ** 2)) for row in tried]
        shares[method] = np.mean([not row["squared_error"] < start for row, start in zip(tried, starts, strict=True)])
    return Claim(
        _DIVERGES,
        "with large enough steps of its grid SVRG ends no nearer to θ* than it started",
        f"{shares[VARIANCE_REDUCED]:.1%} of SVRG's runs with all settings ({shares[HALF]:.1%} of ISGD½'s)",
        bool(shares[VARIANCE_REDUCED] > 0),
    )


def _far_behind(group: Ratios) -> float:
    return float(np.mean([ratio[:, -1] > np.log10(COMPARABLE) for ratio in group.values()]))


def _overall(group: Ratios) -> float:
    return float(10 ** np.mean([ratio[:, -1].mean() for ratio in group.values()]))


def _listed(group: Ratios) -> str:
    return ", ".join(f"{10 ** ratio[:, -1].mean():.2f} ({panel.label})" for panel, ratio in group.items())
