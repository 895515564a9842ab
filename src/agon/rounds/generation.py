"""Making the answers of rounds: taken on a few at a time, asked for turn by turn, written once."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from agon.core.contestants import Contestant
from agon.core.errors import AgonError, EngineError, NotFound, Unavailable
from agon.core.generation import FinishReason, Sampling
from agon.core.round_ports import GenerationLedger, PendingAnswer
from agon.core.scoring import Asks, Reply
from agon.dispatch.policy import blames_request
from agon.rounds.asking import Rosters
from agon.rounds.flights import SingleFlight
from agon.rounds.messages import decode_answer, encode_answer
from agon.rounds.places import places
from agon.rounds.requests import dialogue_name, request_key, request_of

log = logging.getLogger(__name__)

MAX_FAILURES = 3
_TICK_S = 0.5
"""How often the ledger is asked for work; what is done makes room for more at once."""
_PAUSE_S = 2.0
"""Before an answer is taken on again for which nobody could be asked."""
_WRITE_PAUSE_S = 0.5
"""Between tries to write what is there, while the ledger is away."""


@dataclass(frozen=True, slots=True)
class GenerationRules:
    holder: str
    """Unique among all that make answers on this ledger."""
    share: float
    """Of a contestant's places, what rounds may take; one in any case."""
    lease_s: float
    """After how long without a word from here others go on with what is in hand."""
    sampling: Callable[[int], Sampling]
    """How answers of so many tokens are sampled."""


@dataclass(frozen=True, slots=True)
class GenerationParts:
    ledger: GenerationLedger
    asks: Asks
    rosters: Rosters
    flight: SingleFlight
    revision: Callable[[Contestant], str]
    """Names what answers for a contestant."""
    came: Callable[[], None]
    """Called when an answer has come to the ledger, to be scored."""


class Generation:
    """Makes what is pending until cancelled. One loop owns what is in hand."""

    def __init__(self, rules: GenerationRules, parts: GenerationParts) -> None:
        self._rules = rules
        self._parts = parts
        self._running: dict[asyncio.Task[None], int] = {}
        """With the number of the answer that each makes."""
        self._stirred = asyncio.Event()
        self._renewed_s = float("-inf")

    @property
    def in_hand(self) -> int:
        """Answers that are being made here."""
        return len(self._running)

    async def run(self) -> None:
        try:
            while True:
                self._stirred.clear()
                try:
                    await self._renew()
                    await self._take_on()
                except Unavailable as error:
                    log.warning("rounds wait: %s", error.message)
                with suppress(TimeoutError):
                    async with asyncio.timeout(_TICK_S):
                        await self._stirred.wait()
        finally:
            await self._leave()

    async def _renew(self) -> None:
        now_s = time.monotonic()
        if self._running and now_s - self._renewed_s > self._rules.lease_s / 4:
            await self._parts.ledger.renew(self._rules.holder, [*self._running.values()], self._rules.lease_s)
            self._renewed_s = now_s

    async def _take_on(self) -> None:
        parts, rules = self._parts, self._rules
        wanted = await parts.ledger.wanted()
        if not wanted:
            return
        room = places(wanted, await parts.rosters.roster(), rules.share)
        for pending in await parts.ledger.claim(rules.holder, room, rules.lease_s):
            task = asyncio.create_task(self._make(pending))
            self._running[task] = pending.number
            task.add_done_callback(self._over)

    def _over(self, task: asyncio.Task[None]) -> None:
        self._running.pop(task, None)
        self._stirred.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("an answer was lost to an error of ours; it is taken on again", exc_info=error)

    async def _leave(self) -> None:
        tasks = [*self._running]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        with suppress(Unavailable):
            await self._parts.ledger.let_go(self._rules.holder)

    async def _make(self, pending: PendingAnswer) -> None:
        try:
            made = await self._answer(pending)
        except Unavailable as error:
            log.warning("an answer of %s waits: %s", pending.contestant, error.message)
            await _surely(lambda: self._parts.ledger.put_back(pending.number, _PAUSE_S))
        except AgonError as error:
            await self._failed(pending, error)
        else:
            await _surely(lambda: self._written(pending, made))

    async def _written(self, pending: PendingAnswer, made: "_Made") -> None:
        if await self._parts.ledger.made(pending.number, made.texts, request_key=made.key):
            self._parts.came()

    async def _failed(self, pending: PendingAnswer, error: AgonError) -> None:
        final = pending.failures + 1 >= MAX_FAILURES or _is_final(error)
        words = f"{error.code}: {error.message}"
        log.warning("%s could not answer %s: %s", pending.contestant, pending.question.key, words)
        await _surely(lambda: self._parts.ledger.failed(pending.number, words, final=final))

    async def _answer(self, pending: PendingAnswer) -> "_Made":
        """From the cache, or made by whoever comes first with the very same request."""
        sampling = self._rules.sampling(pending.max_tokens)
        key = request_key(pending, sampling, self._parts.revision(await self._contestant(pending.contestant)))
        own: list[_Made] = []

        async def make(keys: Sequence[bytes]) -> Mapping[bytes, bytes]:
            own.append(await self._asked(pending, sampling, keys[0]))
            return {key: encode_answer(own[0].texts)} if own[0].key is not None else {}

        found = (await self._parts.flight.find_or_make([key], make)).get(key)
        if own:
            return own[0]
        texts = None if found is None else decode_answer(found)
        if texts is None or len(texts) != len(pending.question.turns):
            return await self._asked(pending, sampling, key)
        return _Made(texts, key)

    async def _contestant(self, name: str) -> Contestant:
        entry = (await self._parts.rosters.roster()).get(name)
        if entry is None:
            raise NotFound(f"There is no contestant named {name!r} any more.", code="contestant_not_found")
        return entry.contestant

    async def _asked(self, pending: PendingAnswer, sampling: Sampling, key: bytes) -> "_Made":
        texts: list[str] = []
        whole = True
        for _ in pending.question.turns:
            request = request_of(pending, texts, sampling)
            reply = await self._parts.asks.ask(pending.contestant, request, prefix=dialogue_name(pending))
            texts.append(reply.text)
            whole = whole and _is_whole(reply, sampling)
        return _Made(tuple(texts), key if whole else None)


@dataclass(frozen=True, slots=True)
class _Made:
    texts: tuple[str, ...]
    key: bytes | None
    """`None` if the same request might get another answer."""


def _is_whole(reply: Reply, sampling: Sampling) -> bool:
    """Whether the answer came to its own end or that of its tokens; an engine may also have run out of time."""
    if reply.finish_reason != FinishReason.LENGTH:
        return True
    return reply.completion_tokens is not None and reply.completion_tokens >= sampling.max_tokens


def _is_final(error: AgonError) -> bool:
    """Whether the same request would fail again, whoever is asked."""
    return isinstance(error, NotFound) or (isinstance(error, EngineError) and blames_request(error, ours=True))


async def _surely(write: Callable[[], Awaitable[None]]) -> None:
    """Write to the ledger as soon as it can be reached: what is written here took long to make."""
    while True:
        try:
            await write()
        except Unavailable as error:
            log.warning("an answer waits to be written: %s", error.message)
            await asyncio.sleep(_WRITE_PAUSE_S)
        else:
            return
