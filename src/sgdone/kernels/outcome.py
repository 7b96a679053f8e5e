"""Why a loop returned before or at the end of its rows, and what an update led to."""

from typing import Final

#: Every row was used.
CONTINUE: Final = 0
#: A prediction or a step was not finite, or beyond the largest size: the row was not used.
NOT_FINITE: Final = 1
#: A row was larger than the step size allows for: the row was not used.
ENERGY_EXCEEDED: Final = 2
#: The moving average has become better than the iterate: the row was used.
AVERAGE_IS_BETTER: Final = 3
#: A row points outside its matrix: the row was not used.
NOT_SOUND: Final = 4
#: A probe fired before the update of a row: the row was not used.
FIRED_BEFORE: Final = 5
#: A probe fired after the update of a row: the row was used.
FIRED_AFTER: Final = 6
#: A probe fired at a row that is read but not trained on.
FIRED_AT_LEFT_OUT: Final = 7
#: A row waits for the rest of its minibatch. No loop returns it.
GATHERED: Final = 8
