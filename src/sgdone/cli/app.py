"""Commands, options and their help; the code behind a command is imported when it is called."""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from sgdone._version import __version__
from sgdone.cli.errors import guarded
from sgdone.cli.option_groups import (
    CheckpointOptions,
    FileGroup,
    FitOutput,
    Json,
    MethodGroup,
    Only,
    ScoringOptions,
    TaskName,
    argument,
    flag,
    option,
    output_file,
    with_groups,
)

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    # Plain help and errors read as well in a pipe as in a terminal.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _examples(*lines: str) -> str:
    """Text that is shown line by line."""
    return "\n".join(["\b", "Examples:", *(f"  sgdone {line}" for line in lines)])


class CovName(StrEnum):
    """Estimate of the covariance of the coefficients."""

    CLASSICAL = "classical"
    ROBUST = "robust"
    CLUSTER = "cluster"


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"sgdone {__version__}")
        raise typer.Exit


Data = Annotated[str, argument("DATA", "A data file, or a data set by name: breast-cancer, digits, mnist-7-vs-9, ...")]
ManyData = Annotated[
    list[str],
    argument(
        "DATA",
        "Files (CSV, Parquet, Arrow, JSON lines, svmlight, Vowpal Wabbit; plain or compressed), patterns in "
        "quotes ('clicks/*.csv'), folders, - for standard input, or a data set by name: breast-cancer, digits, ...",
    ),
]
ModelFile = Annotated[Path, argument("MODEL", "A file that `fit --model` wrote.")]


@contextmanager
def quick_imports() -> Iterator[None]:
    """Import without garbage collection, which would look at ever more objects and free none.

    Imports are most of the time before a command reads data.

    Examples
    --------
    >>> with quick_imports():
    ...     gc.isenabled()
    False
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@app.callback(epilog="Exit codes: 0, 1 for bad data, 2 for bad usage, 130 after Ctrl-C or SIGTERM.")
def common(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Linear models by stochastic gradients: no learning rate to tune, no epochs to guess."""
    context.obj = time.perf_counter()


@app.command(
    epilog=_examples(
        "fit breast-cancer",
        "fit adult.csv --label income --model income.safetensors",
        "fit train.csv --label price --task regression --drop id,url --types zip=category",
        "fit train.csv --label income --test test.csv --weight w --class-weight balanced",
        "fit a9a.svm --loss hinge --solver sgd --stop 5 --json",
        "fit mnist-7-vs-9 --solver sgd --step class-scale --center --alpha 0 --stop margin",
        "fit 'clicks/*.parquet' --label click --checkpoint clicks.checkpoint --model clicks.safetensors",
        "fit - --label click < clicks.csv",
        "fit 'clicks/*.parquet' --label click --dask tcp://10.0.0.1:8786",
    )
)
@with_groups
@guarded
def fit(
    context: typer.Context,
    data: ManyData,
    *,
    scored: ScoringOptions,
    file: FileGroup,
    method: MethodGroup,
    checkpoints: CheckpointOptions,
    dask: Annotated[
        str | None,
        option(
            "local|ADDRESS",
            "Fit on a Dask cluster whose workers read the files: local starts one on this machine, tcp://HOST:PORT is "
            "the address of a scheduler.",
        ),
    ] = None,
    output: FitOutput,
) -> None:
    """Train a model; print its scores and why training stopped.

    Tables may have numbers, categories, dates, text and missing values. Without --test a tenth of the rows is held out
    for the scores, about 32,768 at most, and a model that is saved is then fitted on all rows. Rows that do not fit
    into memory are read in parts, and there is one fit, without the held-out rows.

    With --dask the files are partitions of a cluster, of Parquet files their row groups. Workers read their own, and
    keep them in memory. There is one fit, without the held-out rows. It ends at the optimum, or after --passes rounds.
    """
    with quick_imports():
        from sgdone.cli.fit import fit_and_report
        from sgdone.cli.fit_data import FitArguments
        from sgdone.cli.options import Options

        options = Options(method, file.kinds())
        arguments = FitArguments(data, scored, file.parsed(), options, checkpoints, output, context.obj, dask)
    fit_and_report(arguments)


@app.command(
    epilog=_examples(
        "predict income.safetensors new.csv",
        "predict income.safetensors new.csv --id customer --out predictions.csv",
        "predict clicks.safetensors 'clicks/*.parquet' --out predictions.parquet",
    )
)
@with_groups
@guarded
def predict(
    model: ModelFile,
    data: ManyData,
    *,
    out: Annotated[Path | None, output_file("A CSV file, or .parquet.  [default: standard output]")] = None,
    ids: Annotated[
        list[str] | None, option("COLUMN", "A column of DATA to copy to the output; may be repeated.", "--id")
    ] = None,
    proba: Annotated[
        bool | None, flag("--proba/--no-proba", "Also the probability of each class.  [default: if the model has them]")
    ] = None,
    file: Annotated[FileGroup, Only("label", "separator", "no_header", "max_memory")],
    json: Json = False,
) -> None:
    """Predict the label of each row, with the probabilities of the classes.

    If DATA contains the true labels, also print the scores. Of a data set by name, the test rows are predicted.
    Files of any size are read and predicted part by part.
    """
    with quick_imports():
        from sgdone.cli.predict import predict_and_report

    predict_and_report(model, data, out, ids or [], proba, file.parsed(), json)


@app.command(epilog=_examples("inspect income.safetensors --top 20"))
@guarded
def inspect(
    model: ModelFile,
    top: Annotated[int, option("N", "How many coefficients to show.", min=0)] = 10,
    json: Json = False,
) -> None:
    """Describe a model.

    How and on what it was trained, why training stopped, and its largest coefficients.
    """
    with quick_imports():
        from sgdone.cli.inspect_model import inspect_and_report

    inspect_and_report(model, top, json)


@app.command(
    epilog=_examples(
        "summary income.safetensors train.csv",
        "summary income.safetensors train.csv --columns age,hours --plot forest.png",
        "summary income.safetensors train.csv --cov cluster --groups household --json",
    )
)
@with_groups
@guarded
def summary(
    model: ModelFile,
    data: Data,
    *,
    columns: Annotated[
        list[str] | None, option("NAME,...", "Features to report; may be repeated.  [default: all]")
    ] = None,
    cov: Annotated[CovName, typer.Option(help="How the standard errors are estimated.")] = CovName.ROBUST,
    groups: Annotated[str | None, option("COLUMN", "The column with the groups of --cov cluster.")] = None,
    level: Annotated[float, option("NUMBER", "Level of the intervals.")] = 0.95,
    reference: Annotated[
        str | None, option("CLASS", "The class the others are compared with.  [default: the first]")
    ] = None,
    file: Annotated[FileGroup, Only("label", "separator", "no_header")],
    plot: Annotated[Path | None, output_file("Where to draw the intervals.")] = None,
    json: Json = False,
) -> None:
    """Print coefficients with standard errors, p-values and intervals.

    DATA are the rows the model was trained on; of a data set by name, the training rows. The coefficients are those
    without a penalty. Those whose standard error would be wrong are refused, with the reason.
    """
    with quick_imports():
        from sgdone.cli.summary import summarise_and_report

    summarise_and_report(model, data, columns or [], cov.value, groups, level, reference, file.parsed(), plot, json)


@app.command(
    epilog=_examples(
        "diagnose train.csv --label outcome",
        "diagnose breast-cancer --plot separation.png",
        "diagnose a9a.svm --no-intercept --json",
    )
)
@with_groups
@guarded
def diagnose(
    data: ManyData,
    *,
    file: Annotated[FileGroup, Only("label", "drop", "separator", "no_header", "zero_based", "max_memory")],
    task: Annotated[TaskName, typer.Option(help="What the labels are; auto decides by their values.")] = TaskName.AUTO,
    no_intercept: Annotated[bool, flag("--no-intercept", "Without an intercept.")] = False,
    no_separation: Annotated[bool, flag("--no-separation", "Leave out separation, which takes longest.")] = False,
    plot: Annotated[Path | None, output_file("Where to draw the separation, if there is one.")] = None,
    json: Json = False,
) -> None:
    """Check data before training.

    Rows, features, missing values, rank, zero, constant and duplicate columns, scales, class balance, whether the
    optimum exists (with a verified proof), and what to do. Categories, dates and text are checked as the features that
    they become. Of rows that do not fit into memory, the first ones are checked.
    """
    with quick_imports():
        from sgdone.cli.diagnose import diagnose_and_report

    diagnose_and_report(data, file.parsed(), task.value, not no_intercept, not no_separation, plot, json)


@app.command(
    epilog=_examples(
        "theory",
        "theory expected_stop_bound loss=logistic mean_norm=0.5 sigma=0.1 step=0.0125",
        "theory gaussian_design covariance='[[1, 0], [0, 2]]' --json",
    )
)
@guarded
def theory(
    name: Annotated[str | None, argument("NAME", "A statement.  [default: list them all]")] = None,
    arguments: Annotated[
        list[str] | None,
        argument("ARGUMENT=VALUE", "A vector or matrix is JSON: [[1,0],[0,1]]."),
    ] = None,
    json: Json = False,
) -> None:
    """Evaluate a bound or formula of the papers, its assumptions checked.

    The exit code is 1 where an assumption does not hold.
    """
    with quick_imports():
        from sgdone.cli.theory import evaluate_and_report, show_statements

    if name is None:
        show_statements(json)
    else:
        evaluate_and_report(name, arguments or [], json)


@app.command(
    epilog=_examples(
        "reproduce --list", "reproduce termination-sigma --out figures", "reproduce all --quick --out figures"
    )
)
@guarded
def reproduce(
    name: Annotated[str | None, argument("NAME", "A figure or table, or all; see --list.")] = None,
    out: Annotated[
        Path, option("DIR", "Writes DIR/NAME/NAME.png, NAME.csv and claims.json; all: index.html.")
    ] = Path(),
    quick: Annotated[bool, flag("--quick", "Seconds instead of minutes: one seed, fewer trials.")] = False,
    seed: Annotated[int, option("N", "First seed; without --quick there are five.", min=0)] = 0,
    list_all: Annotated[bool, flag("--list", "List the experiments and exit.")] = False,
) -> None:
    """Reproduce a figure or table of a paper, and report which of its claims hold.

    With all, finished experiments are stored in DIR and a second run continues where the first stopped.
    """
    with quick_imports():
        from sgdone.cli.reproduce import reproduce_and_report, show_experiments

    if list_all:
        show_experiments()
    elif name is None:
        raise typer.BadParameter("name an experiment, or see --list", param_hint="'NAME'")
    else:
        reproduce_and_report(name, out, quick, seed)
