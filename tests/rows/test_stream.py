"""Blocks of pass after pass, and rows set aside for validation."""

import numpy as np
import pytest

from sgdone.rows import ArraySource, Block, Source
from sgdone.rows.rows import Rows
from sgdone.rows.source import Stream


class NumberedBlocks(Source):
    """Blocks of 1500 rows, not in memory; the labels are the numbers of the rows."""

    def __init__(self, count):
        self._count = count

    n_features = 1

    @property
    def n_rows(self):
        return 1500 * self._count

    def blocks(self, rng):
        for k in range(self._count):
            labels = np.arange(1500 * k, 1500 * (k + 1), dtype=np.float64)
            yield Block.of(Rows.of(labels[:, None]), labels, None)


def first_labels_of_a_pass(stream):
    found = [stream.block.labels[0]]
    begun = stream.begun
    while True:
        stream.advance(stream.block.order.size)
        stream.next_block()
        if stream.begun > begun:
            return found
        found.append(stream.block.labels[0])


def test_rows_in_memory_are_set_aside_among_those_not_read():
    source = ArraySource(np.arange(40000.0)[:, None], np.ones(40000), shuffle=False)
    stream = Stream(source, np.random.default_rng(0))
    stream.remember_unread()
    stream.advance(1024)
    validation = stream.set_aside(stream.block.rows)
    assert validation.rows.min() >= 1024
    assert validation.folds_of(stream.block) is validation.of_row


def test_drawing_validation_rows_does_not_change_the_order_of_rows():
    def order(draw):
        source = ArraySource(np.arange(9000.0)[:, None], np.ones(9000))
        stream = Stream(source, np.random.default_rng(3))
        if draw:
            stream.set_aside(stream.block.rows)
        stream.advance(stream.block.order.size)
        stream.next_block()
        return stream.block.order.rows

    np.testing.assert_array_equal(order(True), order(False))


def test_no_row_of_positive_weight_is_an_error():
    source = ArraySource(np.ones((3, 1)), np.ones(3), np.zeros(3))
    with pytest.raises(ValueError, match="no row has a positive weight"):
        Stream(source, np.random.default_rng(0)).skip_unused()
