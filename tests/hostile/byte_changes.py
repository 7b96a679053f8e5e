"""Changes of bytes that know nothing about their meaning."""

from random import Random

_WORDS = [b"\0", b"\xff", b"\n", b"\r", b'"', b"{", b"[", b",", b":", b"-", b"nan", b"9" * 30, b"\xef\xbb\xbf", b"\xc3"]


def changed(data: bytes, random: Random) -> bytes:
    """One to four changes."""
    for _ in range(random.choice([1, 1, 1, 2, 4])):
        data = random.choice(_CHANGES)(data, random)
    return data


def _place(data: bytes, random: Random) -> int:
    """Any place; more often than by chance one near the beginning or the end, where formats keep their structure."""
    near = random.randrange(min(len(data), 64) + 1)
    return random.choice([random.randrange(len(data) + 1), near, len(data) - near])


def _flip(data: bytes, random: Random) -> bytes:
    made = bytearray(data)
    for _ in range(random.choice([1, 1, 3, 20])):
        if made:
            made[min(_place(data, random), len(made) - 1)] ^= 1 << random.randrange(8)
    return bytes(made)


def _overwrite(data: bytes, random: Random) -> bytes:
    at = _place(data, random)
    piece = random.choice([random.randbytes(random.choice([1, 4, 8, 100])), random.choice(_WORDS)])
    return data[:at] + piece + data[at + len(piece) :]


def _insert(data: bytes, random: Random) -> bytes:
    at = _place(data, random)
    return data[:at] + random.choice(_WORDS) * random.choice([1, 1, 2, 1000]) + data[at:]


def _cut(data: bytes, random: Random) -> bytes:
    return data[: _place(data, random)]


def _remove(data: bytes, random: Random) -> bytes:
    at = _place(data, random)
    return data[:at] + data[at + random.choice([1, 2, 8, 64, 1000]) :]


def _repeat(data: bytes, random: Random) -> bytes:
    first, last = sorted((_place(data, random), _place(data, random)))
    return data[:last] + data[first:last] * random.choice([1, 2, 5]) + data[last:]


def _swap(data: bytes, random: Random) -> bytes:
    a, b, c = sorted(_place(data, random) for _ in range(3))
    return data[:a] + data[b:c] + data[a:b] + data[c:]


_CHANGES = (_flip, _overwrite, _insert, _cut, _remove, _repeat, _swap)
