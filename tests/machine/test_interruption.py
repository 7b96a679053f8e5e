"""Signals during a fit: remembered, raised where that is safe, and handled as before afterwards."""

import signal

import pytest

from sgdone.machine import interruption

pytestmark = pytest.mark.usefixtures("default_handlers")


@pytest.fixture
def default_handlers():
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_the_first_signal_is_remembered_and_the_second_raised():
    with interruption.remembered():
        assert interruption.received() == ""
        signal.raise_signal(signal.SIGINT)
        assert interruption.received() == "SIGINT"
        interruption.check()  # nothing: this part of a fit is not interruptible
        with interruption.interruptible(), pytest.raises(KeyboardInterrupt):
            interruption.check()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert interruption.received() == ""
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_sigterm_is_remembered_where_it_is_to_end_the_fit():
    with interruption.sigterm_raises():
        with interruption.remembered():
            signal.raise_signal(signal.SIGTERM)
            assert interruption.received() == "SIGTERM"
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_work_that_can_be_left_anywhere():
    with interruption.remembered():
        with pytest.raises(KeyboardInterrupt), interruption.raised():
            signal.raise_signal(signal.SIGINT)
        assert interruption.received() == "SIGINT"
        with pytest.raises(KeyboardInterrupt), interruption.raised():
            raise AssertionError("it must not begin")


def test_the_outer_of_two_fits_remembers():
    with interruption.remembered():
        with interruption.remembered():
            signal.raise_signal(signal.SIGINT)
        assert interruption.received() == "SIGINT"


def test_a_signal_that_nobody_asked_for_is_raised_at_the_end():
    with pytest.raises(KeyboardInterrupt), interruption.remembered():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_of_the_user_stays():
    calls = []
    signal.signal(signal.SIGINT, lambda number, frame: calls.append(number))
    with interruption.remembered():
        signal.raise_signal(signal.SIGINT)
        assert (calls, interruption.received()) == ([signal.SIGINT], "")
