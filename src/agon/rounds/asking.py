"""Asking contestants outside of any conversation: as background work, through dispatch, leaving room for people."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Protocol
from uuid import uuid4

from agon.core.conversation import AnswerState, Side
from agon.core.errors import EngineError, EngineTruncated, NotFound, Unavailable
from agon.core.events import Packet, Settled
from agon.core.generation import GenerationRequest
from agon.core.placement import AnswerRef, Job
from agon.core.ports import Bus, Dispatch
from agon.core.roster import Roster
from agon.core.scoring import Reply
from agon.dispatch.clearing import Clearing
from agon.dispatch.costs import request_cost
from agon.dispatch.policy import is_backpressure
from agon.dispatch.told import Told, hand_over
from agon.rounds.places import room_of

log = logging.getLogger(__name__)

_LOOK_S = 0.25
"""How often who waits for a place looks for one."""
_LOST_S = 2.0
"""How often it is asked whether somebody has the turn still; twice nobody, and it is lost."""
_NOBODY = "model_not_ready"
"""Of a fault: the last replica that could have gone on with it is away."""
_PAUSES_S = (0.2, 0.4, 0.8, 1.6, 3.2)
"""Between two tries where nobody could be asked."""


class Rosters(Protocol):
    async def roster(self) -> Roster:
        """Who takes part, as it was at most a moment ago."""
        ...


@dataclass(frozen=True, slots=True)
class Ways:
    """What asking needs: `clearing` is that of this executor, which beats."""

    dispatch: Dispatch
    clearing: Clearing
    bus: Bus
    rosters: Rosters
    monotonic_s: Callable[[], float]


@dataclass(frozen=True, slots=True)
class AskingRules:
    share: float
    """Of a contestant's places, what this process takes at most; one in any case."""
    silence_s: float
    """How long a runner may say nothing of a turn; 0 is any time."""
    patience_s: float
    """How long it is tried to have somebody asked."""


@dataclass(slots=True)
class _Line:
    """Those of this process who want to ask one contestant."""

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Has the first in the line; only that one looks for a place."""
    freed: asyncio.Event = field(default_factory=asyncio.Event)
    taken: int = 0
    seen: tuple[Roster, int] | None = None
    """The last roster, and how many places were taken from here when it came."""


class Asking:
    """`Asks`. Works in one event loop."""

    def __init__(self, ways: Ways, rules: AskingRules) -> None:
        self._ways = ways
        self._rules = rules
        self._lines: dict[str, _Line] = {}

    async def ask(self, contestant: str, request: GenerationRequest, *, prefix: str | None = None) -> Reply:
        """Also raises `NotFound` (`contestant_not_found`) where there is no such contestant."""
        async with self._place(contestant):
            deadline_s = self._ways.monotonic_s() + self._rules.patience_s
            tries = 0
            while True:
                try:
                    return await self._answer(contestant, request, prefix)
                except Unavailable as error:
                    if self._ways.monotonic_s() > deadline_s:
                        raise
                    log.info("%s is asked again: %s", contestant, error.message)
                await asyncio.sleep(_PAUSES_S[min(tries, len(_PAUSES_S) - 1)])
                tries += 1

    @asynccontextmanager
    async def _place(self, contestant: str) -> AsyncGenerator[None]:
        line = self._lines.setdefault(contestant, _Line())
        async with line.turn:
            await self._until_free(contestant, line)
            line.taken += 1
        try:
            yield
        finally:
            line.taken -= 1
            line.freed.set()

    async def _until_free(self, contestant: str, line: _Line) -> None:
        deadline_s = self._ways.monotonic_s() + self._rules.patience_s
        while True:
            line.freed.clear()
            roster = await self._ways.rosters.roster()
            if self._has_room(contestant, line, roster):
                return
            if self._is_away(contestant, roster) and self._ways.monotonic_s() > deadline_s:
                raise Unavailable(f"{contestant} is not ready; try again in a moment.", code=_NOBODY)
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_S):
                    await line.freed.wait()

    def _has_room(self, contestant: str, line: _Line, roster: Roster) -> bool:
        entry = roster.get(contestant)
        if entry is None:
            raise NotFound(f"There is no contestant named {contestant!r}.", code="contestant_not_found")
        if line.seen is None or line.seen[0] is not roster:
            line.seen = roster, line.taken
        room = room_of(entry, self._rules.share)
        # What this process has taken is known better than the roster knows it.
        others = max(0, room.taken - line.seen[1])
        return line.taken < room.share and others + line.taken < room.capacity

    def _is_away(self, contestant: str, roster: Roster) -> bool:
        entry = roster.get(contestant)
        return entry is None or not room_of(entry, self._rules.share).capacity

    async def _answer(self, contestant: str, request: GenerationRequest, prefix: str | None) -> Reply:
        ways = self._ways
        ref = AnswerRef(uuid4(), 1, Side.A, contestant)
        job = Job(ref, request_cost(request), prefix, request=replace(request, patient=True))
        await hand_over(job, ways.dispatch, ways.clearing)
        told = Told(job.ref, ways.bus, self._rules.silence_s, anew=True)
        try:
            return await self._heard(told, job.ref)
        except EngineError as error:
            if is_backpressure(error):
                raise Unavailable(f"{contestant} has too much to do.") from error
            if error.code == _NOBODY:
                raise Unavailable(error.message, code=_NOBODY) from error
            raise
        finally:
            told.close()

    async def _heard(self, told: Told, ref: AnswerRef) -> Reply:
        """The whole answer. Raises `Unavailable` (`answer_lost`) once it is sure that nobody has the turn any more."""
        hearing = asyncio.create_task(_whole(told))
        misses = 0
        try:
            while not (await asyncio.wait({hearing}, timeout=_LOST_S))[0]:
                misses = misses + 1 if await self._unheld(ref) else 0
                if misses > 1 and not hearing.done():
                    raise Unavailable("The bus has lost an answer that was being made.", code="answer_lost")
            return hearing.result()
        finally:
            hearing.cancel()
            await asyncio.gather(hearing, return_exceptions=True)

    async def _unheld(self, ref: AnswerRef) -> bool:
        try:
            return bool(await self._ways.dispatch.unheld([ref]))
        except Unavailable:
            return False


async def _whole(told: Told) -> Reply:
    text = ""
    while isinstance(event := await told.next(), Packet):
        text = text[: event.offset] + event.text
    return _reply(text, event)


def _reply(text: str, end: Settled) -> Reply:
    if end.state is AnswerState.STOPPED:
        raise EngineTruncated("The answer was stopped before its end.")
    if end.length != len(text):
        raise EngineTruncated("A part of the answer was lost.")
    usage = end.usage
    return Reply(
        text,
        end.finish_reason or "stop",
        None if usage is None else usage.prompt_tokens,
        None if usage is None else usage.completion_tokens,
    )
