"""The direct path: a request goes to one of the model's servers as it is, and the answer comes back as it is."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast
from uuid import uuid4

from agon.core.contestants import Contestant
from agon.core.conversation import Side
from agon.core.errors import Busy, EngineError, EngineRejected, EngineUnreachable
from agon.core.placement import AnswerRef, Job, Placement
from agon.core.ports import Dispatch
from agon.dispatch.budget import RetryBudget
from agon.dispatch.clearing import Clearing
from agon.relay.answers import Answer, Overloaded, Refused, Stream, StreamTurn, Whole, streamed
from agon.relay.asks import Ask
from agon.relay.cooling import Cooling
from agon.relay.passage import Passage, Renaming, fault_in, fields_of, used_tokens
from agon.relay.ports import Access, Exchange

_MAX_WHOLE_BYTES = 32 << 20
"""Of an answer that is not streamed."""
_MAX_PROBLEM_BYTES = 64 << 10
_MOST_RETRY_S = 3600.0
_TRIES = 3
_BUSY = {429, 529}
_OWN_FAULT = {400, 413, 415, 422}
"""Statuses by which a server says that the request is wrong, not it."""


@dataclass(frozen=True, slots=True)
class Target:
    """A contestant that is reached directly."""

    contestant: Contestant
    access: Access
    model: bytes
    """As its servers know it, as JSON."""
    renaming: Renaming
    replicas: tuple[str, ...]


class Direct:
    """Has requests answered by servers; this process holds the turns while they are."""

    def __init__(self, dispatch: Dispatch, clearing: Clearing, *, monotonic_s: Callable[[], float]) -> None:
        self._dispatch = dispatch
        self._clearing = clearing
        self._monotonic_s = monotonic_s
        self._cooling = Cooling(monotonic_s)
        self._budget = RetryBudget()

    async def answer(self, ask: Ask, target: Target, seed: int | None) -> Answer:
        """The answer once it has begun; until then another server takes over from one that fails. Raises as `reserve`.

        Raises `Refused` where the server found fault with the request, another `EngineError` where none could answer.
        """
        body = ask.body_for(target.model, seed)
        ref = AnswerRef(uuid4(), 1, Side.A, ask.model)
        avoid = self._cooling.avoided(target.replicas)
        job = Job(ref, ask.cost(), ask.prefix(), avoid)
        placement = await self._reserve(job, ask, client=ask.client)
        self._budget.began()
        tries = 1
        try:
            while True:
                try:
                    return await self._attempt(ask, target, placement, body)
                except Refused:
                    raise
                except EngineError as error:
                    placement = await self._elsewhere(ask, placement, target, error, last=tries == _TRIES)
                    tries += 1
        except BaseException:
            self._clearing.ended(ref)
            raise

    async def _reserve(self, job: Job, ask: Ask, *, client: str | None) -> Placement:
        try:
            [placement] = await self._dispatch.reserve([job], client=client)
        except Busy:
            raise
        except BaseException:
            # It may be counted all the same: the answer did not reach us.
            self._clearing.ended(job.ref)
            raise
        self._clearing.hold(placement)
        if ask.max_tokens is not None:
            self._clearing.holdings.bound(job.ref, ask.max_tokens)
        return placement

    async def _elsewhere(
        self, ask: Ask, placement: Placement, target: Target, error: EngineError, *, last: bool
    ) -> Placement:
        """Where the turn goes next. Raises the error where there is no other server, or no retry left."""
        job = placement.job
        if not isinstance(error, Overloaded):
            self._cooling.failed(placement.replica)
        others = len(target.replicas) > 1 and placement.replica not in job.avoid
        if last or not others or not self._budget.take(self._monotonic_s()):
            raise error
        return await self._reserve(replace(job, avoid=(*job.avoid, placement.replica)), ask, client=None)

    async def _attempt(self, ask: Ask, target: Target, placement: Placement, body: bytes) -> Answer:
        server = target.access.servers.get(placement.replica)
        if server is None:
            raise EngineUnreachable("This gateway does not know the server yet.")
        since_s = self._monotonic_s()
        exchange = await server.post(body)
        try:
            await _check_start(exchange, target)
            if ask.stream and not exchange.content_type.startswith(b"application/json"):
                turn = StreamTurn(placement.job.ref, placement.replica, self._clearing, self._cooling)
                stream = Stream(exchange, Passage(target.renaming, target.access.secret), turn)
                await stream.begin()
                return stream
            whole = _checked(await exchange.whole(_MAX_WHOLE_BYTES), target.access.secret)
        except BaseException:
            exchange.close()
            raise
        self._cooling.succeeded(placement.replica)
        self._count(placement, used_tokens(whole), since_s)
        whole = target.renaming.apply(whole)
        return Whole(streamed(whole, usage=ask.usage) if ask.stream else whole)

    def _count(self, placement: Placement, tokens: int, since_s: float) -> None:
        """Of an answer in one piece only its beginning and its end are known."""
        ref = placement.job.ref
        if tokens:
            self._clearing.holdings.spoke(ref, since_s)
            self._clearing.wrote(ref, tokens)
        self._clearing.ended(ref, tokens=tokens or None)


async def _check_start(exchange: Exchange, target: Target) -> None:
    """Raises `EngineError` where the server does not answer."""
    secret = target.access.secret
    if exchange.status == 200:
        if exchange.content_type.startswith(b"text/html"):
            raise EngineRejected("The engine's address leads to a web page.", code="engine_garbage")
        return
    if exchange.status in _BUSY:
        exchange.close()
        raise Overloaded("The model's server is busy.", retry_after_s=_seconds(exchange.retry_after))
    if exchange.status not in _OWN_FAULT:
        raise await exchange.refused(secret)
    fields = fields_of(await exchange.whole(_MAX_PROBLEM_BYTES))
    words = fault_in(fields, secret) or "The model's server refused the request."
    error: object = fields.get("error")
    field = cast("dict[str, Any]", error).get("param") if isinstance(error, dict) else None
    raise Refused(words, status=exchange.status, field=field)


def _seconds(retry_after: bytes) -> float:
    """What a server says of when to come back; a second if it does not, or gives a date."""
    return min(float(retry_after), _MOST_RETRY_S) if retry_after.isdigit() else 1.0


def _checked(body: bytes, secret: str | None) -> bytes:
    """A whole answer. Raises `EngineError` for what is none."""
    if b'"error"' not in body and b'"choices"' in body and body.rstrip().endswith(b"}"):
        return body
    fields = fields_of(body)
    fault = fault_in(fields, secret)
    if fault is not None:
        raise EngineError(f"The engine failed: {fault}")
    if "choices" not in fields:
        raise EngineRejected("The engine sent something that is no answer.", code="engine_garbage")
    return body
