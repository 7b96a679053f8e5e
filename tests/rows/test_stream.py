"""Blocks of pass after pass, and rows set aside for validation."""

import numpy as np
import pytest

from sgdone.rows import ArraySource
from sgdone.rows.source import Stream


def test_rows_in_memory_are_set_aside_whatever_the_seed():
    source = ArraySource(np.arange(40000.0)[:, None], np.ones(40000))
    chosen = []
    for seed in (0, 1):
        stream = Stream(source, np.random.default_rng(seed))
        chosen.append(stream.set_aside(stream.block.rows))
        assert chosen[-1].folds_of(stream.block) is chosen[-1].of_row
    np.testing.assert_array_equal(chosen[0].rows, chosen[1].rows)


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
