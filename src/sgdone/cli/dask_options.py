"""The option ``--dask`` of ``sgdone fit``, checked before any data are read; Dask is not imported here."""

import importlib.util
import re
from collections.abc import Sequence

from sgdone import losses
from sgdone.cli.errors import usage
from sgdone.cli.file_options import FileOptions
from sgdone.cli.input_data import is_dataset
from sgdone.cli.options import Options
from sgdone.fit.options import as_rule
from sgdone.interfaces.objective import Objective
from sgdone.interfaces.registry import by_name
from sgdone.losses.loss import Loss
from sgdone.newton.exact_phase import can_be_exact
from sgdone.readers.row_input import MAX_MEMORY
from sgdone.stopping import Gain

_ADDRESS = re.compile(r"[a-z]+://\S+")


def check_dask(address: str, data: Sequence[str], file: FileOptions, options: Options) -> None:
    """Raise a usage error for an address or data that cannot be used, and for options that have no effect."""
    with usage("--dask"):
        if address != "local" and not _ADDRESS.fullmatch(address):
            raise ValueError(f"{address!r} is neither local nor the address of a scheduler, as tcp://10.0.0.1:8786")
        if not all(importlib.util.find_spec(name) for name in ("dask", "distributed")):
            raise ValueError('Dask is not installed: pip install "sgdone[dask]"')
        for name in data:
            if name == "-":
                raise ValueError("workers cannot read standard input (-): give files")
            if is_dataset(name):
                raise ValueError(f"{name} is a data set, which is fitted on this machine: give files")
    _check_fit(options)
    for option, given in (("--max-memory", file.max_memory != MAX_MEMORY), ("--cache", file.cache is not None)):
        with usage(option):
            if given:
                raise ValueError("it has no effect with --dask, whose workers keep their rows in memory: remove it")


def _check_fit(options: Options) -> None:
    """Raise a usage error unless a fit on a cluster can do what is asked for."""
    with usage("--solver"):
        if not options.is_default_fit:
            raise ValueError(f"a fit with --dask has its own solver: remove --solver {options.solver}")
    with usage("--tol"):
        if options.tol is not None:
            raise ValueError("it has no effect with --dask, which ends at the optimum: remove it, or give --passes")
    with usage("--stop"):
        wrong = [leaf for leaf in as_rule(options.parameters()["stop"]).leaves if not leaf.is_budget]
        if options.stop != "auto" and wrong:
            raise ValueError(
                f"a fit with --dask ends at the optimum, or after some rounds: give their number instead of "
                f"{options.stop}"
            )
    with usage("--loss"):
        if options.loss is not None:
            loss = by_name(options.loss, Loss, losses, "loss")
            objective = Objective(loss, None, fit_intercept=True, predicts="target")
            if not can_be_exact(objective, Gain()):
                raise ValueError(
                    f"a fit with --dask needs a smooth convex loss, as logistic, squared_hinge, squared or huber; got "
                    f"{options.loss}"
                )
