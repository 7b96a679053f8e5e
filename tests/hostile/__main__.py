"""The command."""

import argparse
import sys

from .case_kind import Case, kinds
from .running import Failure, Summary, mixed, run


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.hostile", description="Hostile input in processes of its own."
    )
    parser.add_argument("--minutes", type=float, help="how long to run")
    parser.add_argument("--cases", type=int, help="how many cases of all kinds, or of --kind")
    parser.add_argument("--kind", choices=list(kinds()), help="only cases of this kind")
    parser.add_argument("--seed", type=int, default=0, help="number of the first case of each kind")
    parser.add_argument("--only", type=Case.parse, metavar="KIND/NUMBER", help="repeat one case")
    parser.add_argument("--few-forms", action="store_true", help="few losses, methods and storages: little to compile")
    options = parser.parse_args()
    if options.only is not None:
        return _finish(run([options.only], few_forms=options.few_forms, report=_show))
    if options.minutes is None and options.cases is None:
        parser.error("give --minutes, --cases or --only")
    seconds = float("inf") if options.minutes is None else 60.0 * options.minutes
    cases = mixed(_counts(options.cases, options.kind), options.seed)
    return _finish(run(cases, few_forms=options.few_forms, seconds=seconds, report=_show))


def _counts(cases: int | None, kind: str | None) -> dict[str, int] | None:
    if kind is not None:
        return {kind: 10**12 if cases is None else cases}
    if cases is None:
        return None
    total = sum(kind.share for kind in kinds().values())
    return {name: cases * kind.share // total for name, kind in kinds().items()}


def _show(failures: list[Failure]) -> None:
    """Print the last failure: its name only if another has happened in the same place."""
    *before, last = failures
    first = next((other for other in before if other.place == last.place), None)
    print(f"{last}\n" if first is None else f"{last.case}: as {first.case}\n", flush=True)


def _finish(summary: Summary) -> int:
    print(summary)
    return 1 if summary.failures else 0


if __name__ == "__main__":
    sys.exit(main())
