"""Coefficients of about 160 fits, recorded with one version of the package and compared with another recording.

``python benchmarks/recorded_fits.py record FOLDER OUT.npz`` fits with the version in FOLDER (``src`` of a checkout).
``python benchmarks/recorded_fits.py compare A.npz B.npz`` prints what keeps its bits and by how much the rest differs,
and ends with the code 1 if a coefficient differs by more than `MOST`. Changes are divided by the standard errors of
``model.summary`` or, where it has none (a penalty alone determines the coefficient, say), by the largest coefficient.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

#: Largest change of a coefficient, in standard errors or as a share of the largest one.
MOST = 1e-3
#: Texts and changes that are printed, and characters of a text, from somewhat before the first that differs.
_SHOWN, _LENGTH = 40, 280
#: What is neither a coefficient nor compared by its bits.
_COUNTS = ("trace rows", "passes", "step")

Recording = dict[str, Any]


def record(folder: str, path: str) -> None:
    """Fit all problems in a process that imports the package from a folder."""
    source = Path(folder).resolve()
    if not (source / "sgdone" / "__init__.py").exists():
        raise SystemExit(f"{source} does not contain sgdone: give the folder src of a checkout")
    environment = os.environ | {"PYTHONPATH": str(source)}
    worker = Path(__file__).with_name("recorded_fits_worker.py")
    subprocess.run([sys.executable, str(worker), path], check=True, env=environment)


def compare(before: str, after: str) -> int:
    """Print a table of changes; 1 if one of them is large."""
    one, errors = _read(before)
    two, _ = _read(after)
    console, changes = Console(width=150), {fit: _change(one[fit], two.get(fit), errors.get(fit[1])) for fit in one}
    table = Table(title=f"{after} over {before}")
    for column in ("way", "fits", "same bits", "changed: standard errors", "share of largest", "verdicts", "counts"):
        table.add_column(column, justify="left" if column == "way" else "right")
    for way in dict.fromkeys(_way(fit) for fit in one):
        own = [fit for fit in one if _way(fit) == way]
        found = [changes[fit] for fit in own if changes[fit] is not None]
        largest = [f"{max(values):.1e}" if any(values) else "" for values in zip(*found, strict=True)] or ["", ""]
        texts = sum(_differs(one[fit], two.get(fit), ["text"]) for fit in own)
        counts = sum(_differs(one[fit], two.get(fit), _COUNTS) for fit in own)
        table.add_row(way, str(len(own)), str(len(own) - len(found)), *largest, str(texts), str(counts))
    console.print(table)
    changed = {fit: change for fit, change in changes.items() if change is not None}
    for fit, (in_errors, share) in sorted(changed.items(), key=lambda item: -max(item[1]))[:_SHOWN]:
        alphas = [f"{found[fit].get('alpha', np.nan):.3g}" for found in (one, two) if fit in found]
        alpha = f", alpha {' → '.join(alphas)}" if len(set(alphas)) > 1 else ""
        size = f"{in_errors:.1e} standard errors, {share:.1e} of the largest{alpha}"
        console.print(f"{' | '.join(fit)}: {size}", markup=False)
    texts = [fit for fit in one if _differs(one[fit], two.get(fit), ["text"])]
    for fit in texts[:_SHOWN]:
        old, new = str(one[fit]["text"]), str(two.get(fit, {}).get("text"))
        differing = next((k for k, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), 0)
        first = max(differing - _LENGTH // 4, 0)
        shown = [("… " if first else "") + text[first : first + _LENGTH] for text in (old, new)]
        console.print(f"\n{' | '.join(fit)}\n  - {shown[0]}\n  + {shown[1]}", markup=False)
    only = [" | ".join(fit) for fit in two if fit not in one]
    console.print(f"\n{len(only)} fits of {after} only: {only[:_SHOWN]}" if only else "", markup=False)
    return int(any(max(change) > MOST for change in changed.values()))


def _read(path: str) -> tuple[dict[tuple[str, str], Recording], dict[str, Any]]:
    """What was recorded of each fit, by way and problem, and standard errors by problem."""
    fits: dict[tuple[str, str], Recording] = {}
    errors = {}
    with np.load(path) as kept:
        for key in kept.files:
            way, problem, *what = key.split("|")
            if what:
                fits.setdefault((way, problem), {})[what[0]] = kept[key]
            else:
                errors[problem] = kept[key]
    return fits, errors


def _way(fit: tuple[str, str]) -> str:
    return fit[0].split(":")[0]


def _differs(one: Recording, two: Recording | None, names: Any) -> bool:
    return two is None or any(_bits(one.get(name)) != _bits(two.get(name)) for name in names)


def _bits(value: Any) -> Any:
    return None if value is None else (value.dtype.str, value.shape, value.tobytes())


def _change(one: Recording, two: Recording | None, errors: Any) -> tuple[float, float] | None:
    """Largest change in standard errors and, without these, as a share of the largest coefficient; None for none."""
    names = {name for found in (one, two or {}) for name in found} - {"text", *_COUNTS}
    if not _differs(one, two, names):
        return None
    if two is None or one.keys() != two.keys() or any(one[name].shape != two[name].shape for name in names):
        return float("inf"), float("inf")
    if "std_err" in one:
        in_errors, share = _largest(one["coef"], two["coef"], one["std_err"])
        return max(in_errors, _largest(one["std_err"], two["std_err"], one["std_err"])[0]), share
    before, after = (np.column_stack([found["intercept"], found["coef"]]) for found in (one, two))
    if errors is not None and len(errors) == len(before) - 1:  # of several classes, compared with the first one
        before, after = (model[1:] - model[0] for model in (before, after))
    return _largest(before, after, errors)


def _largest(before: Any, after: Any, errors: Any) -> tuple[float, float]:
    same = (before == after) | (np.isnan(before) & np.isnan(after))
    with np.errstate(invalid="ignore"):
        change = np.where(same, 0.0, np.abs(after - before))
    change[np.isnan(change)] = np.inf
    known = np.zeros(before.shape, bool) if errors is None else np.isfinite(errors) & (errors > 0)
    in_errors = change[known] / np.asarray(errors)[known] if known.any() else np.zeros(1)
    scale = np.abs(before[np.isfinite(before)]).max(initial=0.0) or 1.0
    return float(in_errors.max()), float(change[~known].max(initial=0.0) / scale)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name, arguments in (("record", ("folder", "out")), ("compare", ("before", "after"))):
        command = commands.add_parser(name)
        for argument in arguments:
            command.add_argument(argument)
    options = parser.parse_args()
    if options.command == "record":
        record(options.folder, options.out)
    else:
        sys.exit(compare(options.before, options.after))


if __name__ == "__main__":
    main()
