"""Newton's method as a generator, and several searches on the same readings."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from sgdone.interfaces.objective import Objective
from sgdone.losses import Huber, Logistic, Squared
from sgdone.newton import EXACT, Problem, SearchProgress, minimise, run_search, together
from sgdone.newton.search import CholeskyDirection, ConjugateGradients
from sgdone.rows import ArraySource
from sgdone.rows.rows import Scaling
from sgdone.sums.row_sum import MemoryRows, SeveralSums
from sgdone.sums.second_order import CurvatureProduct, LossesAt, SecondOrderAt
from sgdone.sums.system import System, constant_model

SYSTEM = System(Objective.of_classes(Logistic(), 2), Scaling(np.ones(3)))


class CountedRows:
    """Rows that count their readings."""

    def __init__(self, rows):
        self.rows, self.requests = rows, []

    def sum(self, request):
        self.requests.append(request)
        return self.rows.sum(request)


def some_rows(n_rows=300):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, 3))
    y = np.where(X[:, 0] + rng.logistic(size=n_rows) > 0, 1.0, -1.0)
    return MemoryRows(next(ArraySource(X, y, shuffle=False).blocks(rng)))


def searches(rows, count=3):
    """Searches at several penalties, one of them by products."""
    kinds = [CholeskyDirection, CholeskyDirection, lambda system: ConjugateGradients(system, 0.01, 20)]
    problem = Problem(SYSTEM, SYSTEM.penalties(0.0), rows.n_rows)
    for kind, strength in list(zip(kinds, (0.1, 100.0, 10.0), strict=True))[:count]:
        yield minimise(problem.penalised(strength), np.zeros(SYSTEM.shape), EXACT, kind(SYSTEM))


def test_searches_together_are_those_alone_in_as_many_readings_as_the_longest():
    rows, readings, alone = some_rows(), [], []
    for search in searches(rows):
        counted = CountedRows(rows)
        alone.append(run_search(counted, search))
        readings.append(len(counted.requests))
    counted = CountedRows(rows)
    found = run_search(counted, together(list(searches(rows))))
    assert len(counted.requests) == max(readings)
    several = sum(isinstance(request, SeveralSums) for request in counted.requests)
    assert several == sorted(readings)[-2]
    for one, other in zip(found, alone, strict=True):
        assert one.decrement <= EXACT
        assert one.model.tobytes() == other.model.tobytes()


def test_no_searches_need_no_reading():
    assert run_search(CountedRows(None), together([])) == []


def test_an_error_ends_all_searches():
    def fails():
        yield LossesAt(SYSTEM, np.zeros((1, *SYSTEM.shape)))
        raise RuntimeError("no way on")

    rows = some_rows()
    with pytest.raises(RuntimeError, match="no way on"):
        run_search(rows, together([*searches(rows, 2), fails()]))


@pytest.mark.parametrize("directions", [CholeskyDirection, ConjugateGradients, partial(CholeskyDirection, cheap=False)])
def test_a_loss_without_curvature_is_no_minimum(directions):
    """The slopes of a Huber loss are constant far from the targets."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 3)), rng.choice([-100.0, 100.0], 30)
    rows = MemoryRows(next(ArraySource(X, y, shuffle=False).blocks(rng)))
    system = System(Objective(Huber(1.0), predicts="target"), Scaling(np.ones(3)))
    problem = Problem(system, system.penalties(0.0), 30)
    found = run_search(rows, minimise(problem, np.zeros(system.shape), EXACT, directions(system)))
    assert found.stalled
    assert np.isinf(found.decrement)
    assert np.abs(found.at.gradient).max() > 1.0


def test_products_at_the_same_model_are_those_of_their_loss():
    rows, system = some_rows(), replace(SYSTEM, objective=Objective(Squared(), predicts="target"))
    model, direction = np.ones(SYSTEM.shape), np.ones(SYSTEM.shape)
    first = rows.sum(CurvatureProduct(SYSTEM, model, direction)).values
    second = rows.sum(CurvatureProduct(system, model, direction)).values
    np.testing.assert_array_equal(rows.sum(CurvatureProduct(SYSTEM, model, direction)).values, first)
    np.testing.assert_allclose(second, rows.sum(SecondOrderAt(system, model)).curvature @ direction, rtol=1e-9)


def test_a_search_that_may_make_few_steps_has_stalled():
    rows, progress = some_rows(), SearchProgress()
    problem = Problem(SYSTEM, SYSTEM.penalties(1.0), rows.n_rows)
    search = minimise(
        problem, np.zeros(SYSTEM.shape), EXACT, CholeskyDirection(SYSTEM), most_steps=1, progress=progress
    )
    found = run_search(rows, search)
    assert (found.stalled, found.steps) == (True, 1)
    assert found.at.value < problem.at(np.zeros(SYSTEM.shape), rows.sum(SecondOrderAt(SYSTEM, 0.0 * found.model))).value
    assert progress.decrement > EXACT


def test_sums_of_the_start_that_are_known_save_a_reading_and_one_step_is_made():
    rows, problem = some_rows(), Problem(SYSTEM, SYSTEM.penalties(1.0), 300)
    alone, again = CountedRows(rows), CountedRows(rows)
    optimum = run_search(alone, minimise(problem, np.zeros(SYSTEM.shape), EXACT, CholeskyDirection(SYSTEM))).model
    known = rows.sum(SecondOrderAt(SYSTEM, optimum))
    found = run_search(again, minimise(problem, optimum, EXACT, CholeskyDirection(SYSTEM), known=known))
    assert (found.steps, len(again.requests)) == (1, 1)
    np.testing.assert_allclose(found.model, optimum, atol=5e-5)


def test_rare_levels_in_rare_classes_take_few_evaluations():
    """The curvature of their coefficients is tiny where they begin: steps that only become shorter take a hundred."""
    rng = np.random.default_rng(2)
    levels = np.minimum(rng.geometric(0.45, 2000) - 1, 7)
    scores = -2.0 * np.arange(5) + 3.0 * rng.standard_normal((8, 5))[levels]
    y = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1).astype(float)
    X = (levels[:, None] == np.arange(1, 8)) * 1.0
    rows = CountedRows(MemoryRows(next(ArraySource(X / X.std(axis=0), y, shuffle=False).blocks(rng))))
    system = System(Objective.of_classes(Logistic(), 5), Scaling(np.ones(7)))
    problem, start = Problem(system, system.penalties(0.01), 2000), constant_model(system, rows.rows.block)
    found = run_search(rows, minimise(problem, start, EXACT, CholeskyDirection(system)))
    assert found.decrement <= EXACT
    assert len(rows.requests) < 30


def test_a_constant_curvature_is_evaluated_once():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3))
    rows = CountedRows(MemoryRows(next(ArraySource(X, X @ [1.0, 2.0, 3.0], shuffle=False).blocks(rng))))
    system = System(Objective(Squared(), predicts="target"), Scaling(np.ones(3)))
    problem = Problem(system, system.penalties(0.0), 50, least_dispersion=1e-20)
    found = run_search(rows, minimise(problem, np.zeros(system.shape), EXACT, CholeskyDirection(system, constant=True)))
    assert [request.curvature for request in rows.requests] == ["full", "none"]
    np.testing.assert_allclose(found.model[:, 0], [1.0, 2.0, 3.0, 0.0], atol=1e-12)
    assert (found.decrement, found.stalled) == (0.0, False)


def test_expensive_curvatures_are_those_of_earlier_points():
    rows = CountedRows(some_rows())
    problem, directions = Problem(SYSTEM, SYSTEM.penalties(1.0), 300), CholeskyDirection(SYSTEM, cheap=False)
    found = run_search(rows, minimise(problem, np.zeros(SYSTEM.shape), EXACT, directions))
    kinds = [getattr(request, "curvature", "product") for request in rows.requests]
    assert kinds[0] == "full"
    assert {"none", "product"} == set(kinds[1:])
    exact = run_search(rows, minimise(problem, np.zeros(SYSTEM.shape), EXACT, CholeskyDirection(SYSTEM)))
    np.testing.assert_allclose(found.model, exact.model, atol=5e-5)
