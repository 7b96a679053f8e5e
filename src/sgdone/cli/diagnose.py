"""``sgdone diagnose``."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from sgdone import __version__
from sgdone.cli import console
from sgdone.cli.console import ProgressLine
from sgdone.cli.errors import complain, refuse, table_errors_named
from sgdone.cli.input_data import named, open_data
from sgdone.cli.output_files import check_plot, save_plot
from sgdone.cli.report import columns_of, columns_text
from sgdone.diagnose import Check, Separation, Shape, shape
from sgdone.diagnose.shape import NO_PROBLEMS
from sgdone.losses.learning_task import Task, task_of
from sgdone.message_text import counted, shown_label
from sgdone.readers.table import ReadOptions, Table
from sgdone.rows.faults import as_classes
from sgdone.tables import TableEncoding
from sgdone.tables.cell_values import as_floats
from sgdone.tables.string_cells import numpy_of

#: The fit status whose colour is used for each kind of separation.
_STATUS = {"none": "converged", "quasi-complete": "budget spent", "complete": "budget spent", "undecided": ""}


def diagnose_and_report(
    data: list[str],
    file: ReadOptions,
    task: Task | Literal["auto"],
    fit_intercept: bool,
    with_separation: bool,
    plot: Path | None,
    json: bool,
) -> None:
    """Read the data, check them and print the report."""
    if plot is not None:
        refuse("--plot", not with_separation, "the plot shows the separation: remove --no-separation")
        check_plot(plot, data)
    with ProgressLine() as line:
        name = named(data)
        line.now(f"reading {name}")
        rows, complete = open_data(data, replace(file, allow_missing=True)).first_rows()
        task = task if task != "auto" else rows.task or task_of(rows.labels)
        labels = as_classes(rows.labels) if task == "classification" else rows.labels
        line.now("encoding the columns")
        with table_errors_named(name, rows.place):
            X, names, encoding, columns = _features(rows)
        found = shape(
            X,
            labels,
            fit_intercept=fit_intercept,
            task=task,
            feature_names=names,
            with_separation=with_separation,
            progress=line.now,
        )
        line.now("writing the report")
        report = _report_of(found, name, rows.class_names)
        line.now("plotting")
        plots = [] if plot is None else _draw(found, plot)
    report |= {"all_rows": complete, "plots": [str(path) for path in plots], "encoding": encoding, "columns": columns}
    if json:
        console.print_json(report)
    else:
        if not complete:
            console.say(f"the first {rows.n_rows:,} rows, which fit into memory; the others are not checked\n")
        _show(found, report, rows.class_names)
    if plot is not None and not plots:
        complain("no plot was drawn, because no separation was found", "warning", "yellow")


def _features(rows: Table) -> tuple[Any, list[str], str, list[dict[str, Any]] | None]:
    """A matrix, the names of its columns; if columns of a table had to be encoded, how, and how each was.

    Numbers and booleans stay as they are, missing values included. A category is encoded without its most frequent
    level, because with all of them the columns would add up to the intercept.
    """
    if not isinstance(rows.X, pa.Table):
        return rows.X, _names(rows), "", None
    if all(_is_number(kind) for kind in rows.X.schema.types):
        singles = map(pa.types.is_float32, rows.X.schema.types)
        columns = [numpy_of(x) if single else as_floats(x) for x, single in zip(rows.X.columns, singles, strict=True)]
        return np.column_stack(columns), rows.X.column_names, "", None
    encoder = TableEncoding()
    X = encoder.fit_encode(rows.X).tocsr()
    references = {group.reference for group in encoder.groups()}
    kept = [feature for feature in range(X.shape[1]) if feature not in references]
    names = encoder.get_feature_names_out()
    what = f"{counted(rows.X.num_columns, 'column')} encoded as {counted(len(kept), 'feature')}"
    what = f"{what}, without the most frequent level of each category"
    return X[:, kept], names[kept].tolist(), what, columns_of(encoder, rows.X)


def _is_number(kind: Any) -> bool:
    types = pa.types
    return any(
        test(kind) for test in (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    )


def _names(rows: Table) -> list[str]:
    """Feature names; without names, features are numbered as in the file."""
    if rows.feature_names is not None:
        return rows.feature_names
    first = 0 if rows.zero_based else 1
    return [f"feature {column + first}" for column in range(rows.X.shape[1])]


def _show(found: Shape, report: dict[str, Any], class_names: list[str] | None) -> None:
    names = dict(zip(found.classes, class_names, strict=False)) if found.classes and class_names else {}
    facts = found.facts({label: name for label, name in names.items() if name != str(label)})
    if report["encoding"]:
        about = columns_text(report["columns"])
        # Missing values of a table are replaced: the features have none.
        facts = [("table", report["encoding"]), *about, *(fact for fact in facts if fact != ("missing", "none"))]
    console.show(facts)
    sentences, kinds = found.sentences(), [answer.kind for answer in found.answers.values()]
    if found.separation is not None and len(sentences) < len(kinds):
        kinds = [found.separation.kind] * len(sentences)
    for kind, sentence in zip(kinds, sentences, strict=True):
        console.say(f"\n{sentence}", _STATUS[kind])
    console.say("\nAdvice:" if report["advice"] else f"\n{NO_PROBLEMS}")
    for sentence in report["advice"]:
        console.say(f"- {sentence}")
    if report["plots"]:
        console.say("\n" + "\n".join(report["plots"]))


def _draw(found: Shape, path: Path) -> list[Path]:
    """Plot every separation with a direction; with several classes, one file per class."""
    drawn = {label: answer for label, answer in found.answers.items() if answer.kind in ("complete", "quasi-complete")}
    written: list[Path] = []
    for label, answer in drawn.items():
        plain = re.sub(r"[^\w.+-]+", "_", shown_label(label))
        name = path if len(found.answers) == 1 else path.with_stem(f"{path.stem}-{plain}")
        if name in written:
            name = path.with_stem(f"{name.stem}-{len(written)}")
        save_plot(answer.plot, name)
        written.append(name)
    return written


#: Largest number of coefficients reported: the sign of each needs a linear program.
_MOST_COEFFICIENTS = 200
#: Largest number of rows listed.
_MOST_ROWS = 1_000


def _report_of(found: Shape, data: str, class_names: list[str] | None) -> dict[str, Any]:
    """The summary of a data set for machines."""
    names, missing, rank, spread = found.feature_names, found.missing, found.rank, found.spread
    answers = found.answers.items()
    return {
        "data": data,
        "task": found.task,
        "rows": found.rows,
        "complete_rows": found.complete_rows,
        "features": found.features,
        "fit_intercept": found.fit_intercept,
        "missing": {
            "values": missing.count,
            "labels": missing.labels.size,
            "rows": missing.rows,
            "columns": {names[column]: count for column, count in missing.columns.items()},
            "first": [{"row": row, "column": names[column], "found": what} for row, column, what in missing.cells],
            "rows_without_label": missing.labels[:_MOST_ROWS],
        },
        **_columns(found),
        "rank": rank
        and {
            "value": rank.value,
            "at_most": rank.at_most,
            "columns": rank.columns,
            "tolerance": rank.tolerance if rank.value is not None else None,
            "method": rank.method or None,
            "reason": rank.reason or None,
            "dependent_columns": [names[k] for k in rank.dependent],
        },
        "spread": spread
        and {
            "large": [names[k] for k in spread.large],
            "larger_by": spread.larger_by,
            "small": [names[k] for k in spread.small],
            "smaller_by": spread.smaller_by,
        },
        "classes": None if found.classes is None else {str(label): count for label, count in found.classes.items()},
        "class_names": class_names,
        "separation": {str(one): _separation(found, answer, found.checks.get(one)) for one, answer in answers} or None,
        "separation_skipped": found.why_not or None,
        "sentences": found.sentences(),
        "advice": found.advice,
        "sgdone": __version__,
    }


def _columns(found: Shape) -> dict[str, Any]:
    columns, names = found.columns, found.feature_names
    if columns is None:
        return dict.fromkeys(("nonzeros", "zero_columns", "constant_columns", "duplicate_columns"))
    return {
        "nonzeros": columns.nonzeros,
        "zero_columns": [names[k] for k in columns.zero],
        "constant_columns": [names[k] for k in columns.constant],
        "duplicate_columns": [[names[k] for k in group] for group in columns.duplicates],
    }


def _separation(found: Shape, answer: Separation, check: Check | None) -> dict[str, Any]:
    rows = np.flatnonzero(found.missing.complete)[answer.separable_rows]
    entry: dict[str, Any] = {"kind": answer.kind, "reason": answer.reason or None, "separable": rows.size}
    certificate = answer.certificate
    if certificate is None or check is None:
        return entry | {"certificate": None}
    entry["certificate"] = {
        "verified": check.holds,
        "exact": check.exact,
        "tolerance": 0.0 if certificate.exact else certificate.tolerance,
        "reason": check.reason,
    }
    if answer.kind == "none" or answer.design.width > _MOST_COEFFICIENTS:
        return entry
    names = answer.feature_names
    entry |= {
        "rows": rows[:_MOST_ROWS],
        "infimum": answer.infimum,
        "infinite": dict(zip(names, answer.infinite.tolist(), strict=True)),
        "infinite_intercept": answer.infinite_intercept,
        "finite_part": dict(zip(names, answer.finite_part.coef.tolist(), strict=True)),
        "finite_intercept": answer.finite_part.intercept,
    }
    try:
        direction, margin = answer.direction, answer.margin
    except ValueError as lost:
        return entry | {"direction": None, "direction_reason": str(lost)}
    return entry | {
        "margin": margin,
        "direction": dict(zip(names, direction.coef.tolist(), strict=True)),
        "direction_intercept": direction.intercept,
    }
