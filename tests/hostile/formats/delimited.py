"""Files of separated values."""

from random import Random

from ..text_changes import numbers_in_text, odd_text

SUFFIXES = (".csv", ".tsv", ".txt", "")


def content(random: Random) -> bytes:
    """A header and lines, a few cells of them odd."""
    mark = random.choice([",", ",", "\t", ";"])
    names = random.choice([["a", "b", "label"]] * 5 + [["label", "a"], ["x", "y", "z"], ["label"], ["a", "a", "label"]])
    names = [odd_text(random) if random.random() < 0.02 else name for name in names]
    n_rows = random.choice([0, 5, 5, 30, 30, 30])
    table = [names, *([_cell(name, random) for name in names] for _ in range(n_rows))]
    for _ in range(random.choice([0, 0, 1, 1, 3])):
        _spoil(table, random)
    end = random.choice(["\n", "\n", "\n", "\r\n", "\r"])
    text = end.join(mark.join(row) for row in table) + random.choice(["", end, end * 3])
    return random.choice(["", "", "", "\ufeff"]).encode() + text.encode(random.choice(_ENCODINGS), "replace")


_ENCODINGS = (*["utf-8"] * 20, "latin-1", "utf-16", "utf-32")


def _cell(name: str, random: Random) -> str:
    return random.choice(["0", "1"]) if name == "label" else f"{random.gauss(0, 1):.3g}"


def _spoil(table: list[list[str]], random: Random) -> None:
    row, column = random.randrange(len(table)), random.randrange(len(table[0]))
    kind = random.choice(["cell", "cell", "column", "more", "fewer", "empty", "labels"])
    if kind == "cell" and column < len(table[row]):
        table[row][column] = random.choice([odd_text(random), random.choice(numbers_in_text(random))])
    elif kind in ("column", "labels"):
        values = [random.choice(numbers_in_text(random)), odd_text(random), "007", "07", "7", "yes", "2020-01-01"]
        chosen = random.sample(values, 2)
        for cells in table[1:]:
            if column < len(cells):
                cells[-1 if kind == "labels" else column] = random.choice(chosen)
    elif kind == "more":
        table[row] = table[row] * 2
    elif kind == "fewer":
        table[row] = table[row][:-1] or [""]
    elif kind == "empty":
        table.insert(row, [""])
