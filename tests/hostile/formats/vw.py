"""Files in Vowpal Wabbit's format."""

from random import Random

from ..text_changes import numbers_in_text, odd_text

SUFFIXES = (".vw", ".vw", ".txt", "")


def content(random: Random) -> bytes:
    """Lines of a label and features in namespaces, a few of them odd."""
    lines = []
    for _ in range(random.choice([0, 5, 5, 30, 30, 30])):
        head = random.choice(["1 ", "-1 ", "0 2 ", "1 0.5 tag", "-1 'tag "])
        names = random.choices(["a", "b", "c", "7", "a:2", f"b:{random.gauss(0, 1):.3g}", ":3"], k=random.randrange(6))
        lines.append(f"{head}|{random.choice(['', 'f', 'f:2'])} {' '.join(names)}")
    for _ in range(random.choice([0, 0, 1, 2])):
        if lines:
            row = random.randrange(len(lines))
            lines[row] = _odd_line(lines[row], random)
    text = random.choice(["\n", "\n", "\n", "\r\n", "\r", "\n\n"]).join(lines)
    return text.encode("utf-8", "surrogatepass")


def _odd_line(line: str, random: Random) -> str:
    number = random.choice(numbers_in_text(random))
    return random.choice(
        [
            f"{line} d:{number}",
            f"{line} {odd_text(random)}:{number}",
            f"{line} |g:{number} {odd_text(random)}",
            f"{number} | a",
            f"1 {number} | a",
            f"1 1 {number} | a",
            f"{odd_text(random)} | a",
            f"{odd_text(random)}| a",
            line.replace("|", ""),
            "|",
            "1 |:2 a",
            odd_text(random),
        ]
    )
