"""Run every experiment; fail if one does not run or a claim recorded as holding no longer holds.

``python .ci/reproduce.py FOLDER`` runs ``sgdone reproduce all``, quick and full, into ``FOLDER/quick`` and
``FOLDER/full``; finished experiments are not repeated. ``claims.json`` beside this file records the results of the full
form. ``--record`` writes it again and the table of ``docs/reproduce.md`` with it; ``--quick`` leaves out the full form.
An experiment whose data set is not available is skipped, like the tests that need one.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from sgdone.papers.results import Results
from sgdone.papers.summary import with_table

RECORD = Path(__file__).with_name("claims.json")
PAGE = Path(__file__).parents[1] / "docs" / "reproduce.md"


def reproduce_all(folder: Path, form: str) -> list[Results]:
    """Run the command line of the environment that this script runs in, and read what it wrote."""
    command = [sys.executable, "-c", "from sgdone.cli import main; main()", "reproduce", "all", "--out", str(folder)]
    subprocess.run([*command, *(["--quick"] if form == "quick" else [])], check=True)
    return [Results.from_json(path.read_text("utf-8")) for path in sorted(folder.glob("*/claims.json"))]


def recorded() -> list[Results]:
    """The results that are recorded."""
    entries = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else []
    return [Results.from_json(json.dumps(entry)) for entry in entries]


def record(found: list[Results]) -> None:
    """Write the results and the table of the page; what did not run stays as it was."""
    known = {results.name: results for results in recorded()} | {results.name: results for results in found}
    ordered = [known[name] for name in sorted(known)]
    text = ",\n".join(results.to_json().rstrip() for results in ordered)
    RECORD.write_text(f"[\n{text}\n]\n", "utf-8")
    PAGE.write_text(with_table(PAGE.read_text("utf-8"), ordered), "utf-8")


def lost(found: list[Results]) -> list[str]:
    """Claims that are recorded as holding, and hold no longer."""
    now = {(results.name, v.reading): v.holds for results in found for v in results.verdicts}
    return [
        f"{results.name}: recorded as holding, holds no longer: {verdict.reading}"
        for results in recorded()
        for verdict in results.verdicts
        if verdict.holds and results.name in {name for name, _ in now} and not now.get((results.name, verdict.reading))
    ]


def main() -> int:
    """Run, compare, report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    reproduce_all(options.folder / "quick", "quick")
    if options.quick:
        return 0
    found = reproduce_all(options.folder / "full", "full")
    if options.record:
        record(found)
        return 0
    failures = lost(found)
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
