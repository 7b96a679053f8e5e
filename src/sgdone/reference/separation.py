"""Ji and Telgarsky (2018), Theorem 3.1, by exact linear programs in integers, one a row: for small problems."""

from fractions import Fraction
from math import lcm

Vector = list[int]


def in_cone(target: Vector, rows: list[Vector], lines: list[Vector] | None = None) -> bool:
    """Whether target = Σ q_k·rows_k + Σ c_k·lines_k with q ≥ 0: phase 1 of the simplex method, by Bland's rule."""
    generators = rows + [[sign * x for x in line] for line in lines or [] for sign in (1, -1)]
    # A tableau of one line a coordinate: generators, then the right-hand side; the basis starts as artificial columns.
    table = [[g[j] for g in generators] + [target[j]] for j in range(len(target))]
    table = [[-x for x in line] if line[-1] < 0 else line for line in table]
    cost = [sum(column) for column in zip(*table, strict=True)]
    basis = [len(generators) + j for j in range(len(table))]
    common = 1  # Edmonds: every entry is an integer over the last pivot, and divisions leave no rest.
    while True:
        enter = next((k for k in range(len(generators)) if cost[k] > 0), None)
        if enter is None:
            return bool(cost[-1] == 0)
        falling = [(Fraction(line[-1], line[enter]), basis[j], j) for j, line in enumerate(table) if line[enter] > 0]
        leave = min(falling)[2]
        pivot = table[leave]
        table = [line if j == leave else _eliminated(line, pivot, enter, common) for j, line in enumerate(table)]
        cost, basis[leave], common = _eliminated(cost, pivot, enter, common), enter, pivot[enter]


def _eliminated(line: Vector, pivot: Vector, enter: int, common: int) -> Vector:
    factor, own = line[enter], pivot[enter]
    return [(own * x - factor * y) // common for x, y in zip(line, pivot, strict=True)]


def separable_rows(A: list[Vector]) -> list[bool]:
    """Row i is separable if some u has A·u ≤ 0 and A_i·u < 0: by Farkas, if −A_i is not in the cone of the rows."""
    distinct = [list(row) for row in dict.fromkeys(map(tuple, A))]
    answers = {tuple(row): not in_cone([-x for x in row], distinct) for row in distinct}
    return [answers[tuple(row)] for row in A]


def infinite(A: list[Vector], separable: list[bool]) -> list[int]:
    """The sign of u_j over the u in the span of the rows with A_S·u = 0, A_c·u < 0; 0 if always 0, 2 if open."""
    moving = [row for row, s in zip(A, separable, strict=True) if s]
    fixed = [row for row, s in zip(A, separable, strict=True) if not s]
    signs = []
    for column in _projections(A):
        # No u has column·u > 0 if column is in the cone of A_c plus the span of A_S; likewise for −column.
        up, down = (not in_cone([s * x for x in column], moving, fixed) for s in (1, -1))
        signs.append(2 if up and down else 1 if up else -1 if down else 0)
    return signs


def _projections(A: list[Vector]) -> list[Vector]:
    """The unit vectors projected onto the span of the rows, by Gram and Schmidt, scaled to integers."""
    basis: list[list[Fraction]] = []
    for row in A:
        rest = _rejected([Fraction(x) for x in row], basis)
        basis += [rest] if any(rest) else []
    units = [[Fraction(j == k) for k in range(len(A[0]))] for j in range(len(A[0]))]
    projections = [[x - y for x, y in zip(unit, _rejected(unit, basis), strict=True)] for unit in units]
    return [[int(x * lcm(*(y.denominator for y in column))) for x in column] for column in projections]


def _rejected(vector: list[Fraction], basis: list[list[Fraction]]) -> list[Fraction]:
    for base in basis:
        share = sum((x * y for x, y in zip(vector, base, strict=True)), Fraction(0)) / sum(x * x for x in base)
        vector = [x - share * y for x, y in zip(vector, base, strict=True)]
    return vector
