from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgdone import TableEncoder
from sgdone.kernels.words import count_words, hash_texts, known_number
from sgdone.tables.cell_values import characters_in_words, lower_case_pieces
from sgdone.tables.string_cells import utf8
from sgdone.tables.text_encoder import number_words
from tables.word_reference import hash_of, hashes_of, words_of
from tiers import examples

TEXTS = st.lists(st.text(st.sampled_from("aB 1é́ß—😀️́İ中_न्") | st.characters(codec="utf-8"), max_size=25), max_size=6)


def strings(*texts):
    return pa.array(texts, pa.large_string())


def prepared(texts):
    return pc.utf8_lower(pc.utf8_normalize(strings(*texts), form="NFC")).to_pylist()


@given(texts=TEXTS)
@examples(60)
def test_buckets_and_values_are_those_of_the_reference(texts):
    n_buckets = 64  # so that words collide
    numbers = np.arange(n_buckets, dtype=np.int32)
    rows = []
    for indptr, found, values in number_words(strings(*texts), numbers, known_number):
        rows += [dict(zip(found[a:b], values[a:b], strict=True)) for a, b in pairwise(indptr)]
    for text, row in zip(prepared(texts), rows, strict=True):
        expected = {}
        words = words_of(text)
        of_words, of_pairs = hashes_of(text)
        pairs = [f"{a} {b}" for a, b in pairwise(words)]
        for value in [of_words[word] for word in words] + [of_pairs[pair] for pair in pairs]:
            expected[value % n_buckets] = expected.get(value % n_buckets, 0) + 1
        values = 1 + np.log(np.array([expected[bucket] for bucket in sorted(expected)]))
        assert list(row) == sorted(expected)
        assert np.allclose(list(row.values()), values / np.linalg.norm(values), rtol=1e-12, atol=0)


@given(texts=TEXTS)
@examples(40)
def test_word_counts_and_hashes_of_whole_texts_are_those_of_the_reference(texts):
    normal = prepared(texts)
    count = count_words(*utf8(strings(*normal)), characters_in_words(), 10**9)
    assert count == sum(len(words_of(text)) for text in normal)
    found = np.empty(len(texts), dtype=np.uint64)
    hash_texts(*utf8(strings(*texts)), found)
    assert found.tolist() == [hash_of(text) for text in texts]


def test_a_slice_of_an_array_has_its_own_words():
    texts = strings("one two", "three", "four five six", "seven").slice(1, 2)
    (data, offsets), *others = lower_case_pieces(texts)
    assert not others
    assert [bytes(data[a:b]).decode() for a, b in pairwise(offsets)] == ["three", "four five six"]


def test_pieces_do_not_change_the_features(monkeypatch, rng):
    words = np.array(["alpha", "béta", "γ", "delta", "x1"])
    texts = [" ".join(rng.choice(words, size)) for size in rng.integers(0, 9, 50)]
    table = pa.table({"t": texts, "c": texts[::-1]})
    columns = {"t": "text", "c": "text"}
    whole = TableEncoder(columns).fit_transform(table)
    monkeypatch.setattr("sgdone.tables.cell_values._PIECE_BYTES", 40)
    pieces = TableEncoder(columns).fit_transform(table)
    for part in ("data", "indices", "indptr"):
        assert np.array_equal(getattr(pieces, part), getattr(whole, part))


def test_bytes_that_are_not_utf8_are_read_without_going_beyond_the_text():
    data = np.frombuffer(b"ab\xe4\xff\xf0\x9f", dtype=np.uint8)
    offsets = np.frombuffer(np.array([0, 3, 6]).tobytes(), dtype=np.int64)
    assert count_words(data, offsets, characters_in_words(), 10) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't stop", {"don", "t", "stop", "don t", "t stop"}),
        ("I ❤️ U 😀!", {"i", "u", "i u"}),
        ("Cafe\u0301 café", {"café", "café café"}),
        ("हिन्दी भाषा", {"हिन्दी", "भाषा", "हिन्दी भाषा"}),
        ("", set()),
        ("😀 — ?!", set()),
        ("2 4-1_x", {"2", "4", "1", "x", "2 4", "4 1", "1 x"}),
    ],
)
def test_names_show_the_words(text, words):
    encoder = TableEncoder({"t": "text"}).fit(pa.table({"t": [text, "other"], "x": [0.0, 1.0]}))
    assert {name[2:] for name in encoder.get_feature_names_out() if name[:2] == "t:"} == words | {"other"}


def test_a_bucket_is_named_by_its_most_frequent_word():
    texts = ["common"] * 5 + ["rare"] * 2 + ["common"] * 2 + ["seldom"]
    encoder = TableEncoder({"t": "text"}, n_buckets=1).fit(pa.table({"t": texts}))
    assert encoder.get_feature_names_out().tolist() == ["t:common"]


def test_long_words_are_cut_in_names_between_characters():
    encoder = TableEncoder({"t": "text"}).fit(pa.table({"t": ["x" + "é" * 60, "b"]}))
    assert encoder.get_feature_names_out()[0] == "t:x" + "é" * 15 + "…"
