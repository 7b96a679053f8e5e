"""Run every experiment, quick and full; fail if one does not run or a claim recorded as holding no longer holds.

``python .ci/reproduce.py FOLDER`` writes to ``FOLDER/quick`` and ``FOLDER/full``. ``claims.json`` beside this file
records the claims that hold, by form and experiment. ``--record`` writes it again from the runs; ``--quick`` leaves
out the full forms, and ``--only`` all other experiments. An experiment whose data set is not available is skipped,
like the tests that need one.
"""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

RECORD = Path(__file__).with_name("claims.json")


def sgdone(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line of the environment that this script runs in."""
    command = [sys.executable, "-c", "from sgdone.cli import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def reproduce(name: str, form: str, folder: Path) -> dict[str, bool] | str:
    """Run an experiment: its claims and whether they hold, or what went wrong."""
    done = sgdone("reproduce", name, "--out", str(folder / form), *(["--quick"] if form == "quick" else []))
    if done.returncode:
        return done.stderr.strip()
    claims = json.loads((folder / form / name / "claims.json").read_text("utf-8"))
    return {claim["claim"]: claim["holds"] for claim in claims}


def main() -> int:
    """Run, compare, report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these experiments alone")
    options = parser.parse_args()
    listed = sgdone("reproduce", "--list")
    names = re.findall(r"^([a-z]+(?:-[a-z]+)+)\s", listed.stdout, flags=re.MULTILINE)
    if listed.returncode or not names:
        print(f"no experiments found: {listed.stderr}")
        return 1
    names = options.only or names
    recorded = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {}
    failures = []
    for form in ("quick",) if options.quick else ("quick", "full"):
        known = recorded.setdefault(form, {})
        for name in names:
            found = reproduce(name, form, options.folder)
            if isinstance(found, str):
                if re.match(r"error: data set .* not found", found):
                    print(f"{form} {name}: skipped, {found.splitlines()[0]}", flush=True)
                else:
                    failures.append(f"{form} {name} does not run:\n{found}")
                continue
            note = "" if options.record or name in known else "; none of them is recorded"
            print(f"{form} {name}: {sum(found.values())} of {len(found)} claims hold{note}", flush=True)
            if options.record:
                known[name] = sorted(claim for claim, holds in found.items() if holds)
            else:
                lost = [claim for claim in known.get(name, []) if not found.get(claim, False)]
                failures += [f"{form} {name}: recorded as holding, holds no longer: {claim}" for claim in lost]
    if options.record:
        RECORD.write_text(json.dumps(recorded, indent=1, ensure_ascii=False, sort_keys=True) + "\n", "utf-8")
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
