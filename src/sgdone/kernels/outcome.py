"""Why a loop returned before or at the end of its rows."""

from typing import Final

#: Every row asked for was used.
CONTINUE: Final = 0
#: A prediction or a step was not finite, or beyond the largest size: the row was not used.
NOT_FINITE: Final = 1
#: A row was larger than the step size allows for: the row was not used.
ENERGY_EXCEEDED: Final = 2
#: The moving average has become better than the iterate: the row was used.
AVERAGE_IS_BETTER: Final = 3
#: A row points outside its matrix: the row was not used.
NOT_SOUND: Final = 4
#: A probe has fired before the update of a row: the row was not used.
FIRED_BEFORE: Final = 5
#: A probe has fired after the update of a row: the row was used.
FIRED_AFTER: Final = 6
#: A probe keeps a row from being learnt from: it was read and not used, and the loop goes on.
LEFT_OUT: Final = 7
#: The same, and a probe has fired at it.
FIRED_AT_LEFT_OUT: Final = 8
