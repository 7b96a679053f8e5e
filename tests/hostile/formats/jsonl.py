"""JSON lines: objects, a few values of them odd."""

import json
from random import Random
from typing import Any

from ..text_changes import numbers_in_text, odd_text

SUFFIXES = (".jsonl", ".ndjson", ".json", "")


def content(random: Random) -> bytes:
    """Lines of two numbers and a label."""
    rows = [_row(random) for _ in range(random.choice([0, 5, 30, 30]))]
    for _ in range(random.choice([0, 0, 1, 1, 3]) if rows else 0):
        _spoil(random.choice(rows), random)
    lines = [json.dumps(row, ensure_ascii=random.random() < 0.5) for row in rows]
    if lines and random.random() < 0.2:
        line = random.randrange(len(lines))
        lines[line] = random.choice(["", "[]", "7", lines[line][:-1], lines[line] * 2, "null", '{"a": 1,}', "{}"])
    end = random.choice(["\n", "\n", "\r\n"])
    return (end.join(lines) + random.choice(["", end])).encode("utf-8", "replace")


def _row(random: Random) -> dict[str, Any]:
    return {"a": random.gauss(0, 1), "b": random.choice([1, 2, 3]), "label": random.choice([0, 1])}


def _spoil(row: dict[str, Any], random: Random) -> None:
    name = random.choice(["a", "b", "label", "new"])
    odd = [None, True, [1], {"c": 1}, "2020-01-01", "", 2**70, -0.0, odd_text(random), *numbers_in_text(random)]
    if random.random() < 0.2:
        row.pop(name, None)
    else:
        row[name] = random.choice(odd)
