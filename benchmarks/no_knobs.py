"""How good and how fast a fit with nothing set is, beside the best of five C and what else people use.

Run as ``python benchmarks/no_knobs.py --markdown FILE --plot FILE.png`` after ``pip install '.[bench]'``. Ours sees
each set in the units it comes in. Its rivals: a scaler (``StandardScaler``, ``MaxAbsScaler`` for sparse rows) with
``LogisticRegression``, once with each of five C, of which the best by the test rows themselves is the mark to reach,
and once with the C of ``LogisticRegressionCV``; ``SGDClassifier(loss="log_loss")`` with and without a scaler; Vowpal
Wabbit. For real values: ``Ridge``, ``RidgeCV``, ``SGDRegressor``, Vowpal Wabbit, and the root of the mean squared error
in place of the log loss. Small sets are split 20 times.

Seconds are those of one call of ``fit``, with the scaler's where there is one, on as many threads as each takes by
default (``--threads`` limits those of the linear algebra: few rows, or a busy machine, are better off with one);
compiled code is warm, and what it costs when it is not stands on a line of its own. With ``--cache FILE`` peers are not
fitted again if the file has them from this machine; times that rest on it are marked.
"""

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from threadpoolctl import threadpool_limits

import no_knobs_cold
import no_knobs_data
import no_knobs_plot
from contenders.contender import MissingError
from no_knobs_cache import Cache, Fits, machine
from no_knobs_ours import ours
from no_knobs_outcome import FIVE, OURS, Outcome
from no_knobs_peers import PEERS, Circumstances
from no_knobs_report import EARLIER, HEADINGS, sheets
from sgdone.datasets import DatasetNotFound

_CONSOLE = Console(width=150)


def compare(problem: no_knobs_data.Problem, peers: list[str], around: Circumstances, cache: Cache) -> Outcome:
    """Ours and the peers on one set."""
    first = problem.parts[0]
    outcome = Outcome(problem.name, first.X.shape[0], first.is_regression)
    outcome.fits[OURS] = [[ours(part, around.seed + part.number)] for part in problem.parts]
    _show(OURS, outcome.fits[OURS])
    for method in peers:
        found = cache.find(problem.name, method)
        if found is None:
            results = _fits(problem, method, around, outcome.fits.get(FIVE))
            cache.keep(problem.name, method, results)
        else:
            results, outcome.kept[method] = found
        if isinstance(results, str):
            outcome.why_not[method] = results
        else:
            outcome.fits[method] = results
        _show(method, results, outcome.kept.get(method, ""))
    return outcome


def _fits(problem: no_knobs_data.Problem, method: str, around: Circumstances, five: Fits | None) -> Fits | str:
    """A peer's fits of all splits, or why there are none."""
    try:
        return [
            PEERS[method].fit(part, replace(around, five=five[k] if five else ()))
            for k, part in enumerate(problem.parts)
        ]
    except MissingError as missing:
        return str(missing)


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
    parser.add_argument("--patience", type=float, default=600.0, help="seconds that a search of C may take on a set")
    parser.add_argument("--cache", type=Path, help="a JSON file of peers' results, read and added to")
    parser.add_argument("--threads", type=int, help="threads of the linear algebra at most")
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
    cache = Cache(arguments.cache, arguments.seed, arguments.patience, arguments.threads)
    around = Circumstances(arguments.seed, arguments.patience)
    outcomes = []
    for name in arguments.sets:
        try:
            problem = no_knobs_data.load(name)
        except DatasetNotFound as absent:
            _CONSOLE.print(f"{name}: skipped, {absent}")
            continue
        _CONSOLE.print(f"[bold]{problem}")
        with threadpool_limits(arguments.threads):
            outcomes.append(compare(problem, arguments.peers, around, cache))
    methods = [OURS, *arguments.peers]
    notes = [] if arguments.no_cold else [no_knobs_cold.in_words(no_knobs_cold.cold_seconds())]
    notes.append(f"Machine: {machine(arguments.threads)}; load average {cache.load:.1f} when the run began.")
    if made := sorted({when for one in outcomes for when in one.kept.values()}):
        notes.append(f"{EARLIER} Times of peers from an earlier run on the same machine ({'; '.join(made)}).")
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
