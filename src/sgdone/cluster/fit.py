"""A fit over partitions: statistics, a pass of the bank, and Newton's method, in rounds."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.cluster.engine import Engine
from sgdone.cluster.partition import ClassWeights, LabelCoding
from sgdone.cluster.partition_source import FirstRounds, PartitionSource
from sgdone.cluster.phases import AverageOfPartitions, ExactOnPartitions
from sgdone.cluster.rounds import RoundLog, RoundRecord, Rounds
from sgdone.cluster.statistics import RowStatistics, Statistics
from sgdone.cluster.tables import learnt_encoder
from sgdone.fit.checkpoints import FitCheckpoints, custom_loss, identity_of
from sgdone.fit.columns import InputColumns
from sgdone.fit.fit import FitProblem, TrainedModels, TrainingRows
from sgdone.fit.followers import ProgressHook
from sgdone.fit.options import FitOptions
from sgdone.fit.streamed_rows import features_measured
from sgdone.interfaces.stop_rule import AllOf, Progress, StopRule
from sgdone.losses.learning_task import Task
from sgdone.machine.threads import single_thread
from sgdone.rows.source import LEAST_ROWS, MOST_ROWS
from sgdone.run import Clock
from sgdone.stopping import MaxPasses, MaxSeconds
from sgdone.sums.units import ColumnMoments

#: Smallest size of targets whose squares have all their digits.
_SMALLEST = 1e-145


@final
class PartitionedRows(TrainingRows):
    """Rows in partitions: requests and models are sent to them, and sums come back.

    Sums are merged in the order of the partitions, in a fixed tree, so that the result does not depend on which is
    first.

    Parameters
    ----------
    engine : Engine
        Keeps the partitions, and sends requests to them.
    checkpoints : FitCheckpoints, optional
        File that keeps the sums of all rounds, to go on from after the driver has died.
    began : float, optional
        When the fit began, by ``time.perf_counter``: reading the partitions may be part of it. Now by default.

    Attributes
    ----------
    rounds : tuple of RoundRecord
        Each round of the last fit, with the bytes that it sent and received.

    Examples
    --------
    >>> from sgdone.cluster import LocalEngine, Partition
    >>> from sgdone.fit.fit import fit
    >>> X = np.random.default_rng(0).standard_normal((300, 2))
    >>> y = X @ [1.0, -2.0] + 3.0
    >>> rows = PartitionedRows(LocalEngine([Partition(k, X[k::4], y[k::4]) for k in range(4)]))
    >>> model = fit(rows, FitOptions.of("LinearRegressor", alpha=0))
    >>> model.coef_.round(6), model.intercept_.round(6)
    (array([ 1., -2.]), array([3.]))
    """

    def __init__(self, engine: Engine, checkpoints: FitCheckpoints | None = None, began: float | None = None) -> None:
        self._engine, self._checkpoints = engine, checkpoints
        self._began = time.perf_counter() if began is None else began
        self.rounds: tuple[RoundRecord, ...] = ()

    @contextmanager
    def problem(self, options: FitOptions, hook: ProgressHook | None = None) -> Iterator[FitProblem]:
        """The problem to train, once the columns and the labels of all partitions are known."""
        _check_options(options)
        task: Task = "classification" if options.is_classifier else "regression"
        log = None if self._checkpoints is None else RoundLog(self._checkpoints, _identity(options))
        hooks = [*([] if hook is None else [hook(0)]), *([_print_round] if options.verbose else [])]
        first = FirstRounds(hooks, self._began)
        rounds = Rounds(self._engine, first.after_round, log)
        columns = InputColumns.of(options)
        with single_thread(), np.errstate(over="ignore", invalid="ignore"), log or nullcontext():
            encoder = learnt_encoder(rounds, options.kinds_of_columns)
            statistics, class_weights = _statistics(rounds, task, options.class_weight, digest=log is not None)
            classes = statistics.labels.classes
            if classes is not None:
                _check_classes(classes)
            units = statistics.units(fit_intercept=options.fit_intercept)
            source = PartitionSource(rounds, LabelCoding(classes, class_weights), statistics, log)
            rounds.after_round = None
            average = AverageOfPartitions(source, units, options.seed)
            if encoder is None:
                columns.count = source.n_features
                columns.names = None if statistics.names is None else np.array(statistics.names, dtype=object)
            else:
                columns.take_from(encoder)
            yield FitProblem(
                sources=[lambda: source],
                objective=options.objective(1, None if classes is None else classes.size),
                method=average,
                exact_phase=ExactOnPartitions(average),
                stop=options.stop,
                columns=columns,
                classes=classes,
                finish=lambda results: TrainedModels(results, *features_measured(units)),
                hooks=first.later_hooks,
                clock=Clock(self._began, earlier=first.trace),
            )
            self.rounds = tuple(rounds.records)


def _identity(options: FitOptions) -> dict[str, Any]:
    """Options of a fit that change its rounds; budgets only end them."""
    return {name: value for name, value in identity_of(options).items() if name != "stop"}


def _print_round(progress: Progress) -> None:
    loss = f"loss {progress.loss:.6g}, " if np.isfinite(progress.loss) else ""
    print(f"round {progress.pass_number}: {loss}{progress.seconds:.2f} s")


def _check_options(options: FitOptions) -> None:
    """Raise for options that a fit on a cluster cannot have, before any partition is asked."""
    if options.warm_start:
        raise ValueError("warm_start=True has no effect on a cluster: a fit ends at the optimum wherever it starts")
    if custom_loss(options) is not None:
        raise ValueError("a loss of your own cannot be sent to the workers of a cluster: use a loss of sgdone.losses")
    _check_rule(options.stop)
    if not options.loss.smooth_and_convex:
        known = "logistic or squared_hinge" if options.is_classifier else "squared or huber"
        raise ValueError(f"a fit on a cluster needs a smooth convex loss, as {known}; got {options.loss.name}")


def _check_rule(stop: StopRule) -> None:
    """Raise unless a rule consists of the default and budgets, joined by ``|``."""
    wrong = [leaf for leaf in stop.leaves if leaf.tolerance is None and not isinstance(leaf, MaxPasses | MaxSeconds)]
    if _has_all_of(stop):
        raise ValueError(f"stop={stop!r}: a fit on a cluster takes budgets that are joined by |")
    if wrong:
        raise ValueError(
            f"stop={wrong[0]!r}: a fit on a cluster ends at the optimum or at a budget, such as MaxSeconds(60) or "
            "MaxPasses(20)"
        )


def _has_all_of(rule: StopRule) -> bool:
    return isinstance(rule, AllOf) or any(map(_has_all_of, rule.parts))


def _statistics(
    rounds: Rounds, task: Task, class_weight: Any, *, digest: bool
) -> tuple[RowStatistics, ClassWeights | None]:
    """Statistics of all rows, with the weights of their classes."""
    statistics: RowStatistics = rounds.sum_of_rows(Statistics(task, digest=digest), "learn from")
    weights: ClassWeights | None = None
    if class_weight is not None:
        weights = statistics.labels.class_weights(class_weight)
        statistics = rounds.sum_of_rows(Statistics(task, weights, digest), "learn from")
    if not LEAST_ROWS <= statistics.weight <= MOST_ROWS:
        raise ValueError(
            f"the sample weights sum to {statistics.weight:.3g}, which cannot be a number of rows: divide them by "
            "their mean"
        )
    if not statistics.roles.size:
        raise ValueError("X has 0 columns: give one feature or more")
    if statistics.labels.moments is not None:
        _check_targets(statistics.labels.moments)
    return statistics, weights


def _check_targets(targets: ColumnMoments) -> None:
    """Raise for targets that are so small that their squares underflow."""
    largest = abs(float(targets.means[0])) + float(np.sqrt(targets.squares[0] / targets.rows))
    if 0 < largest < _SMALLEST:
        raise ValueError(f"the targets are of size {largest:.2g}, and their squares underflow: multiply y by a number")


def _check_classes(classes: NDArray[Any]) -> None:
    if classes.size < 2:
        raise ValueError(
            f"all partitions hold one class only ({classes.tolist()[0]!r}): a classifier needs rows of two classes"
        )
    if classes.dtype.kind == "f" and not np.all(classes == np.rint(classes)):
        wrong = classes[classes != np.rint(classes)][0]
        raise ValueError(f"the labels hold {wrong:g}, which is not a class: use LinearRegressor, or text as labels")
