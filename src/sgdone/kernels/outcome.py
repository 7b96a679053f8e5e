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
