"""How good and how fast a fit with nothing set is, beside the best of five C and what else people use.

Run as ``python benchmarks/no_knobs.py --markdown FILE --plot FILE.png`` after ``pip install '.[bench]'``. Ours sees
each set in the units it comes in. Its rivals get a scaler (``StandardScaler``, ``MaxAbsScaler`` for sparse rows):
``LogisticRegression`` with each of five C, the best of which is chosen by the test rows; ``LogisticRegressionCV``; the
exact solver ``newton-cholesky``, glum and Snap ML at C = 1; and ``SGDClassifier(loss="log_loss")``, which is fitted
without a scaler too, as is Vowpal Wabbit. For real values: ``Ridge``, ``RidgeCV``, glum, Snap ML, ``SGDRegressor`` and
Vowpal Wabbit, with half the squared error in place of the log loss.

Sets without test rows of their own are split 20 times. Ours is compared with the best of five C, or with
``LogisticRegressionCV`` if the set has fewer than 1,000 rows; standard errors are those of the paired differences, over
the splits, or over the test rows of a single split.

Seconds are those of one call of ``fit``, with the scaler's if there is one, at the faster number of threads of the
linear algebra. Compiled code is warm; a line of its own says what it costs when it is not. Peers are fitted in a
process of their own, which is ended after ``--patience`` seconds. With ``--cache FILE`` they are not fitted again if
the file has them from this machine; times that rest on it are marked.
"""

import argparse
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from rich.console import Console

import no_knobs_cold
import no_knobs_data
import no_knobs_plot
from no_knobs_cache import Cache, machine
from no_knobs_criteria import IN_WORDS
from no_knobs_measure import HOW_TIMED
from no_knobs_ours import ours
from no_knobs_outcome import FIVE, OURS, Outcome
from no_knobs_peers import PEERS, Circumstances
from no_knobs_report import EARLIER, HEADINGS, sheets
from no_knobs_worker import Fits, Worker
from sgdone.datasets import DatasetNotFound

_CONSOLE = Console(width=150)


def compare(problem: no_knobs_data.Problem, peers: list[str], around: Circumstances, cache: Cache) -> Outcome:
    """Fit ours and the peers to one set."""
    first, n_splits = problem.parts[0], len(problem.parts)
    outcome = Outcome(problem.name, first.X.shape[0], first.is_regression, problem.is_small, problem.splits)
    outcome.fits[OURS] = [[ours(part, around.seed + part.number)] for part in problem.parts]
    _show(OURS, outcome.fits[OURS])
    with Worker(problem) as worker:
        for method in peers:
            found = cache.find(problem.name, method, n_splits)
            if found is None:
                # What ours is compared with may take as long as it needs.
                patience = None if method in (FIVE, outcome.reference) else around.patience
                here = replace(around, patience=patience, n_splits=n_splits)
                results = worker.fit(method, here, outcome.fits.get(FIVE))
                cache.keep(problem.name, method, n_splits, results)
            else:
                results, outcome.kept[method] = found
            if isinstance(results, str):
                outcome.why_not[method] = results
            else:
                outcome.fits[method] = results
            _show(method, results, outcome.kept.get(method, ""))
    return outcome


def _show(method: str, found: Fits | str, made: str = "") -> None:
    when = f" (of {made})" if made else ""
    lines = [f"– {found}"] if isinstance(found, str) else [str(one) for one in found[0]]
    splits = f" [first of {len(found)} splits]" if not isinstance(found, str) and len(found) > 1 else ""
    for line in lines:
        _CONSOLE.print(f"  {HEADINGS[method]}{when}: {line}{splits}", markup=False, highlight=False)


def _names(known: list[str]) -> Callable[[str], list[str]]:
    def parse(text: str) -> list[str]:
        chosen = [name for name in text.split(",") if name]
        if unknown := [name for name in chosen if name not in known]:
            raise argparse.ArgumentTypeError(f"{', '.join(unknown)} unknown: choose from {', '.join(known)}")
        return [name for name in known if name in chosen]

    return parse


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    sets, peers = list(no_knobs_data.SETS), list(PEERS)
    parser.add_argument("--sets", type=_names(sets), default=sets, help=f"some of {','.join(sets)}")
    parser.add_argument("--peers", type=_names(peers), default=peers, help=f"some of {','.join(peers)}")
    parser.add_argument("--seed", type=int, default=0, help="of the fits; the splits are always the same")
    parser.add_argument(
        "--patience", type=float, default=600.0, help="seconds that a peer may take on a set; not the five fits"
    )
    parser.add_argument("--cache", type=Path, help="a JSON file of peers' results, read and added to")
    parser.add_argument("--splits", type=int, help="random splits of a set, instead of the usual number")
    parser.add_argument("--no-cold", action="store_true", help="leave out the first fit of a new process")
    parser.add_argument("--markdown", type=Path, help="where to put the tables")
    parser.add_argument("--plot", type=Path, help="where to put the picture")
    arguments = parser.parse_args()
    if "cv" in arguments.peers and FIVE not in arguments.peers:
        parser.error(f"--peers cv needs {FIVE}, whose times tell how many folds can be waited for")
    return arguments


def main() -> None:
    arguments = _arguments()
    if arguments.plot:
        no_knobs_plot.drawing()
    load = os.getloadavg()[0]
    cache = Cache(arguments.cache, arguments.seed, arguments.patience)
    around = Circumstances(arguments.seed, arguments.patience)
    outcomes = []
    for name in arguments.sets:
        try:
            problem = no_knobs_data.load(name, arguments.splits)
        except DatasetNotFound as absent:
            _CONSOLE.print(f"{name}: skipped, {absent}")
            continue
        _CONSOLE.print(f"[bold]{problem}")
        outcomes.append(compare(problem, arguments.peers, around, cache))
    methods = [OURS, *arguments.peers]
    notes = [] if arguments.no_cold else [no_knobs_cold.in_words(no_knobs_cold.cold_seconds())]
    notes.append(f"Machine: {machine()}; load average {load:.1f} when the run began.")
    notes += [HOW_TIMED, IN_WORDS]
    if made := sorted({when for one in outcomes for when in one.kept.values()}):
        notes.append(f"{EARLIER} Times of peers from earlier runs on the same machine, {made[0]} to {made[-1]}.")
    notes += [note for one in outcomes for note in one.notes()]
    tables = list(sheets(outcomes, methods))
    for table in tables:
        _CONSOLE.print(table.rich())
    for note in notes:
        _CONSOLE.print(note, markup=False, highlight=False)
    if arguments.markdown:
        arguments.markdown.parent.mkdir(parents=True, exist_ok=True)
        text = "\n\n".join([*(table.markdown() for table in tables), "\n".join(f"- {note}" for note in notes)])
        arguments.markdown.write_text(f"{text}\n", encoding="utf-8")
    if arguments.plot:
        no_knobs_plot.draw(outcomes, methods, arguments.plot)


if __name__ == "__main__":
    main()
