"""Searches at the same time: requests that they make together are one round."""

import contextvars
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, final

from sgdone.cluster.partition import Partition
from sgdone.cluster.requests import Request
from sgdone.cluster.rounds import Asks, Rounds
from sgdone.interfaces.stop import Stop
from sgdone.sums.merging import merged_pair
from sgdone.sums.row_sum import message

Found = TypeVar("Found")


@final
@message
@dataclass(frozen=True)
class SeveralSums:
    """The sums of several requests."""

    sums: tuple[Any, ...]

    def merge(self, other: "SeveralSums") -> "SeveralSums":
        """Each sum over the rows of both."""
        return SeveralSums(tuple(merged_pair(mine, theirs) for mine, theirs in zip(self.sums, other.sums, strict=True)))


@final
@message
@dataclass(frozen=True)
class Several(Request):
    """Several requests in one round.

    Parameters
    ----------
    requests : tuple of Request
        What is asked for.
    places : tuple of tuple of int
        Which of the shared values belong to each of them.
    """

    requests: tuple[Any, ...]
    places: tuple[tuple[int, ...], ...]

    def work(self, partition: Partition, *shared: Any) -> SeveralSums:
        """The sums of all of them."""
        return SeveralSums(
            tuple(
                request.work(partition, *(shared[place] for place in own))
                for request, own in zip(self.requests, self.places, strict=True)
            )
        )


def in_step(rounds: Rounds, searches: Sequence[Callable[[Asks], Found]]) -> list[Found]:
    """Run searches at the same time, and return what they find.

    Each search runs in a thread and waits for its answers. Once all of them wait, their requests are sent as one round:
    which requests go together depends on the searches alone, and so does what they find. A search that has ended does
    not hold up the others.

    Parameters
    ----------
    rounds : Rounds
        Sends the requests, from this thread.
    searches : sequence of callables
        Each takes what it asks with, and returns what it found.
    """
    together = _Together(rounds, len(searches))
    found: list[Any] = [None] * len(searches)
    threads = []
    for number, search in enumerate(searches):
        context = contextvars.copy_context()  # NumPy's way with overflow is part of it

        def run(number: int = number, search: Callable[[Asks], Found] = search) -> None:
            found[number] = search(_Member(together, number))

        threads.append(threading.Thread(target=context.run, args=(together.guarded, number, run), daemon=True))
    for thread in threads:
        thread.start()
    together.follow()
    for thread in threads:
        thread.join()
    return found


class _EndedError(BaseException):
    """Ends a search whose requests are no longer answered."""


@final
class _Member:
    """What one search asks with."""

    def __init__(self, together: "_Together", number: int) -> None:
        self._together, self._number = together, number

    @property
    def ended(self) -> Stop | None:
        """Why no further step is to begin."""
        return self._together.rounds.ended

    def ask(self, request: Request, *shared: Any) -> Any:
        """The sum of the answers, once all searches have asked."""
        return self._together.ask(self._number, request, shared)


@final
class _Together:
    """Requests that wait for a round, and answers that wait for a search."""

    def __init__(self, rounds: Rounds, count: int) -> None:
        self.rounds = rounds
        self._changed = threading.Condition()
        self._running = set(range(count))
        self._asked: dict[int, tuple[Request, tuple[Any, ...]]] = {}
        self._answers: dict[int, Any] = {}
        self._failure: BaseException | None = None

    def guarded(self, number: int, run: Callable[[], None]) -> None:
        """Run a search, and note that it has ended."""
        try:
            run()
        except _EndedError:
            pass
        except BaseException as error:
            self._failure = self._failure or error
        finally:
            with self._changed:
                self._running.discard(number)
                self._changed.notify_all()

    def ask(self, number: int, request: Request, shared: tuple[Any, ...]) -> Any:
        """Wait for the answer to a request."""
        with self._changed:
            self._asked[number] = request, shared
            self._changed.notify_all()
            self._changed.wait_for(lambda: number in self._answers or self._failure is not None)
            if number not in self._answers:
                raise _EndedError
            return self._answers.pop(number)

    def follow(self) -> None:
        """Make rounds until all searches have ended; raise what ended one of them, or a round."""
        try:
            while True:
                with self._changed:
                    # With a time limit, Ctrl-C is noticed.
                    while not (self._failure or self._running <= self._asked.keys()):
                        self._changed.wait(0.1)
                    if self._failure is not None:
                        raise self._failure
                    if not self._running:
                        return
                    asked, self._asked = dict(sorted(self._asked.items())), {}
                answers = self._round(list(asked.values()))
                with self._changed:
                    self._answers.update(zip(asked, answers, strict=True))
                    self._changed.notify_all()
        except BaseException as error:
            with self._changed:
                self._failure = self._failure or error
                self._changed.notify_all()
            raise

    def _round(self, asked: list[tuple[Request, tuple[Any, ...]]]) -> list[Any]:
        """The sums of requests, in one round."""
        if len(asked) == 1:
            request, own = asked[0]
            return [self.rounds.ask(request, *own)]
        shared: dict[int, Any] = {id(value): value for _, values in asked for value in values}
        places = {key: place for place, key in enumerate(shared)}
        request = Several(
            tuple(request for request, _ in asked), tuple(tuple(places[id(value)] for value in own) for _, own in asked)
        )
        sums: SeveralSums | None = self.rounds.ask(request, *shared.values())
        return [None] * len(asked) if sums is None else list(sums.sums)
