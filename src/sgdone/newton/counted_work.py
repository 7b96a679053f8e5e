"""Work of the phases of a default fit, counted in advance, by which they are chosen.

Costs are in nanoseconds of one core of the machine that measured them. Choices depend on these numbers only, never on a
clock, and only their ratio matters. ``benchmarks/finish_cost.py`` compares them with measured times.
"""

from sgdone.interfaces.objective import Objective
from sgdone.newton.search import MOST_FACTORISED
from sgdone.rows.rows import Block
from sgdone.rows.validation_rows import FEWEST, number_of_folds

#: Nanoseconds for each product of a curvature or a leverage (dense, one or several outputs, sparse, and of a dense with
#: a sparse entry), for weighting an entry of a row, and for each product of a factorisation, of a solution by factors
#: and of equations of the classes of a row.
_DENSE, _DENSE_PAIRS, _SPARSE, _MIXED = 0.04, 0.03, 3.0, 1.0
_WEIGHTED, _FACTOR, _SOLVED, _OF_CLASSES = 0.5, 0.015, 0.4, 0.5
#: Nanoseconds of an evaluation for each entry and for each entry and output (dense and sparse), for each row and for
#: each output of a row, and for calling NumPy; and the share of an evaluation that a product with the curvature takes.
_ENTRY, _ENTRY_OUTPUT, _SPARSE_ENTRY, _SPARSE_OUTPUT = 0.6, 0.1, 3.0, 1.0
_ROW, _ROW_OUTPUT, _CALLS, _PRODUCT = 20.0, 8.0, 2e5, 0.7
#: Products of a curvature that cost no more than calling NumPy does: it is then evaluated at each point.
CHEAP = 4e7
#: Where curvatures are cheap: those of a path of penalties from nothing, and from a model that is close. Where they are
#: not: curvatures, other evaluations and products of either; and where a tenth of the rows gives a model to start from.
_COLD_CHEAP, _WARM_CHEAP, _COLD, _WARM, _SAMPLED = 11, 7, (4, 10, 30), (3, 5, 15), (8, 1, 0)
#: Penalties whose leverages are computed; and rows of a sample that is left out, where there are several times as many,
#: and several for each coefficient.
_LEVERAGES, _SAMPLE, _LARGER, _PER_COEFFICIENT = 3, 4096, 2, 10
#: Factorisations that the eigenvectors of all penalties at once take.
_EIGENVECTORS = 11.0
#: Evaluations of the exact phase over blocks; nanoseconds of reading a row and an entry of it from text.
_BLOCK_EVALUATIONS, _READ_ROW, _READ_ENTRY = 4, 200.0, 60.0
#: Nanoseconds of the bank: for calling its loops; for each row and each entry of it in every output; and for each
#: output and entry of the first rows, which several folds and candidates are trained on many times.
_BANK_CALLS, _BANK_ROW, _BANK_ENTRY = 8e6, 500.0, 10.0
_BANK_FIRST, _FIRST_OUTPUT, _FIRST_ENTRY = 4096, 2500.0, 150.0
#: Nanoseconds of the bank for each entry of a row and an output of a model that trains on it, and for the output.
_TRAINING_ENTRY, _TRAINING_OUTPUT = 0.7, 60.0
#: Conjugate gradients with folds: nanoseconds of a product for each entry and column, sparse and dense, and of its
#: vectors for each coefficient.
_FOLD_SPARSE, _FOLD_DENSE, _VECTORS = 2.0, 0.5, 6.0
#: Readings of all rows by the fold models, and by the model of all rows: of two classes, of several, and of targets,
#: whose smaller penalties have optima that are further from those of larger ones.
_READINGS = {"two_classes": (80, 60), "one_vs_rest": (80, 60), "softmax": (100, 250), "target": (100, 150)}
#: Work up to which it does not matter which path is followed, and factor by which folds must cost less: they leave rows
#: unused.
_LITTLE, _CLEARLY_LESS = 3e8, 2.0
#: Rows for each coefficient: with fewer, the penalty matters, and only a path of penalties finds the best.
ROWS_PER_COEFFICIENT = 50
#: Rows for each coefficient with which neither the penalty nor the seed of the bank makes much of a difference.
VERY_MANY_ROWS = 1000
#: Products with a curvature that a direction takes without factors of its own.
_SOME_PRODUCTS = 6


def rows_per_coefficient(objective: Objective, block: Block) -> float:
    """Number of rows over the number of coefficients."""
    return block.n_used / ((block.rows.n_features + 1) * objective.n_free_outputs)


def uses_sample(objective: Objective, block: Block) -> bool:
    """Whether a tenth of the rows tells the penalty: there are many for each coefficient, and sums are expensive."""
    cheap = has_cheap_curvature(block.n_used, block.rows.n_features + 1, objective.n_free_outputs)
    many = rows_per_coefficient(objective, block) >= ROWS_PER_COEFFICIENT
    return objective.loss.probabilistic and many and not cheap


def curvature_is_cheap(objective: Objective, block: Block) -> bool:
    """Whether a curvature takes less than some products with it."""
    dense, entries = _lengths(block)
    product = _PRODUCT * _evaluation(objective, block.n_used, dense, entries)
    return _products(objective, block.n_used, dense, entries) <= _SOME_PRODUCTS * product


def is_least_squares(objective: Objective) -> bool:
    """Whether one pass gives the optima of all penalties."""
    return objective.loss.quadratic and objective.is_regression


def factorises(objective: Objective, block: Block) -> bool:
    """Whether the curvature has a size that can be factorised, in the form of columns or of rows."""
    return (min(block.rows.n_features, block.n_used) + 1) * objective.n_free_outputs <= MOST_FACTORISED


def training_work(rows: int, length: int, outputs: int) -> float:
    """Work of the bank for some rows, with ``outputs`` scores of all models together."""
    return rows * outputs * (_TRAINING_ENTRY * length + _TRAINING_OUTPUT)


def bank_work(objective: Objective, block: Block) -> float:
    """Work that the bank is expected to take."""
    rows, outputs, length = block.n_used, objective.n_outputs, block.rows.typical_length
    first = min(rows, _BANK_FIRST) * outputs * (_FIRST_OUTPUT + _FIRST_ENTRY * length)
    return _BANK_CALLS + first + rows * (_BANK_ROW + _BANK_ENTRY * outputs * length)


def exact_work(objective: Objective, block: Block, *, warm: bool = False) -> float:
    """Work of the exact phase from nothing, or from a model that is close."""
    rows, columns = block.n_used, objective.n_free_outputs
    span = rows < block.rows.n_features
    width = (rows if span else block.rows.n_features) + 1
    # Entries of a row that are reached by BLAS, and others.
    dense, entries = (width, 0) if span else _lengths(block)
    products, count = _products(objective, rows, dense, entries), width * columns
    evaluation, factors = _evaluation(objective, rows, dense, entries), _FACTOR * count**3
    if is_least_squares(objective):
        return evaluation + products + _EIGENVECTORS * factors
    curvatures, others, multiplied = _WARM if warm else _COLD
    if has_cheap_curvature(rows, width, columns):
        curvatures, others, multiplied = _WARM_CHEAP if warm else _COLD_CHEAP, 0, 0
    elif not warm and uses_sample(objective, block):
        curvatures, others, multiplied = _SAMPLED
    left_out = rows_left_out(rows, count)
    leverages = _products(objective, left_out, dense, entries) + 2.0 * _evaluation(objective, left_out, dense, entries)
    if objective.predicts == "softmax":
        leverages += _OF_CLASSES * left_out * objective.n_outputs**3
    total = (curvatures + others) * evaluation + curvatures * products + _LEVERAGES * leverages
    total += multiplied * (_PRODUCT * evaluation + _SOLVED * count**2) + (curvatures + 3 * _LEVERAGES) * factors
    if span:
        total += _DENSE * rows**2 * block.rows.typical_length + 40.0 * _FACTOR * rows**3
    return total


def fold_work(objective: Objective, block: Block) -> float:
    """Work of a path of penalties with folds."""
    entry = sum(part.typical_length * (_FOLD_DENSE if part.is_dense else _FOLD_SPARSE) for _, part in block.rows.parts)
    product = block.n_used * entry + block.rows.n_features * _VECTORS
    path, last = _READINGS[objective.predicts]
    return float(product * objective.n_outputs * (path * number_of_folds(block.n_used) + last))


def fold_readings(objective: Objective) -> int:
    """Readings of all rows that a path of penalties with folds is expected to take."""
    return sum(_READINGS[objective.predicts])


def uses_folds(objective: Objective, block: Block) -> bool:
    """Whether penalties are compared by folds: where leaving out each row costs more, or is not possible."""
    if not factorises(objective, block):
        return True
    cost = exact_work(objective, block)
    return cost > _LITTLE and block.n_used >= FEWEST and cost > _CLEARLY_LESS * fold_work(objective, block)


def work_in_memory(objective: Objective, block: Block, *, warm: bool = False) -> float:
    """Work of the exact phase for rows in memory, from nothing or after the bank; infinite if it is not possible."""
    if not uses_folds(objective, block):
        return exact_work(objective, block, warm=warm)
    return fold_work(objective, block) if block.n_used >= FEWEST else float("inf")


def exact_work_from_disk(objective: Objective, block: Block, n_rows: int) -> float:
    """Work of Newton's method from a model that is close, on ``n_rows`` rows like a block's."""
    dense, entries = _lengths(block)
    evaluation = _evaluation(objective, n_rows, dense, entries)
    return _BLOCK_EVALUATIONS * (evaluation + _products(objective, n_rows, dense, entries))


def reading_work(block: Block, n_rows: int) -> float:
    """Work of reading ``n_rows`` rows like a block's from files."""
    return n_rows * (_READ_ROW + _READ_ENTRY * block.rows.typical_length)


def _lengths(block: Block) -> tuple[int, int]:
    """Entries of a row in dense columns, the intercept's included, and in sparse ones."""
    lengths = {part.storage: part.typical_length for _, part in block.rows.parts}
    return lengths["dense"] + 1 if "dense" in lengths else 0, lengths.get("sparse", 0)


def has_cheap_curvature(n_rows: int, width: int, columns: int) -> bool:
    """Whether a curvature costs little more than an evaluation without it."""
    return n_rows * width**2 * (columns * (columns + 1) // 2) <= CHEAP


def rows_left_out(n_rows: int, n_coefficients: int) -> int:
    """Number of rows that are left out: of many, a sample, because what it adds to their loss is a small part of it."""
    return _SAMPLE if n_rows >= max(_LARGER * _SAMPLE, _PER_COEFFICIENT * n_coefficients) else n_rows


def _evaluation(objective: Objective, rows: int, dense: int, entries: int) -> float:
    """Work of an evaluation without a curvature."""
    columns = objective.n_free_outputs
    of_entries = dense * (_ENTRY + _ENTRY_OUTPUT * columns) + entries * (_SPARSE_ENTRY + _SPARSE_OUTPUT * columns)
    return _CALLS + rows * (of_entries + _ROW + _ROW_OUTPUT * columns)


def _products(objective: Objective, rows: int, dense: int, entries: int) -> float:
    """Work of a curvature, or of the leverages of all rows."""
    columns = objective.n_free_outputs
    pairs = columns * (columns + 1) // 2 if objective.predicts == "softmax" else columns
    of_dense = rows * dense * (dense * (_DENSE if pairs == 1 else _DENSE_PAIRS * pairs) + _WEIGHTED)
    return of_dense + rows * pairs * (_SPARSE * entries**2 / 2 + _MIXED * dense * entries)
