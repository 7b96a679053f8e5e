"""Words, pairs of words and their hashes in plain Python, and a dictionary of levels: slow, and easy to read."""

import unicodedata
from itertools import pairwise

MASK = 2**64 - 1


def words_of(text):
    """Words of a text that is in lower case and in normal form."""
    words, inside = [], False
    for character in text:
        kind = unicodedata.category(character)[0]
        if kind in "LN" or (kind == "M" and inside):
            words.append(character) if not inside else words.append(words.pop() + character)
            inside = True
        else:
            inside = False
    return words


def mixed(value):
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        value = ((value ^ (value >> 33)) * factor) & MASK
    return value ^ (value >> 33)


def hash_of(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = ((value ^ byte) * 0x100000001B3) & MASK
    return mixed(value)


def pair_hash_of(first, second):
    return mixed((hash_of(first) * 0x9E3779B97F4A7C15 + hash_of(second)) & MASK)


def hashes_of(text):
    """Hashes of the words and pairs of a text, by the word or pair."""
    words = words_of(text)
    pairs = {f"{a} {b}": pair_hash_of(a, b) for a, b in pairwise(words)}
    return {word: hash_of(word) for word in words}, pairs
