"""Files in svmlight's format."""

from random import Random

from ..text_changes import numbers_in_text, odd_text

SUFFIXES = (".svm", ".libsvm", ".txt", "")


def content(random: Random) -> bytes:
    """Lines of a label and entries, a few of them odd."""
    lines = []
    for _ in range(random.choice([0, 5, 5, 30, 30, 30])):
        indices = sorted(random.sample(range(1, 6), random.randrange(5)))
        entries = [f"{index}:{random.gauss(0, 1):.3g}" for index in indices]
        lines.append(" ".join([random.choice(["1", "-1", "0", "2"]), *entries]))
    for _ in range(random.choice([0, 0, 1, 2])):
        if lines:
            row = random.randrange(len(lines))
            lines[row] = _odd_line(lines[row], random)
    text = random.choice(["\n", "\n", "\n", "\r\n", "\r", "\n\n"]).join(lines)
    return text.encode("utf-8", "surrogatepass")


def _odd_line(line: str, random: Random) -> str:
    entry = f"{random.choice([*numbers_in_text(random), '0', '2147483647', '2147483648', '9999999'])}:"
    entry += random.choice(numbers_in_text(random))
    return random.choice(
        [
            f"{line} {entry}",
            f"{line} 7:{odd_text(random)}",
            f"{random.choice(numbers_in_text(random))} 1:1",
            f"{odd_text(random)} 1:1",
            f"{line} # a comment",
            f"{line} qid:3",
            f"1 qid:{odd_text(random)} 1:1",
            "# nothing else",
            f"{line} 5:1 4:1",
            f"{line} 5:1 5:1",
            "1 1:1:1",
            "1,2 1:1",
            "1 :1",
            "1 1:",
            odd_text(random),
        ]
    )
