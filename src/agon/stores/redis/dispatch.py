"""Which replica has which turn, counted in Redis by scripts that each change everything in one step."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from random import SystemRandom
from typing import Any
from uuid import UUID

from agon.core.contestants import EngineState
from agon.core.errors import Busy, Unavailable
from agon.core.placement import (
    Admission,
    AnswerRef,
    Balance,
    Beat,
    Cost,
    Job,
    Placement,
    ReplicaReport,
    ReplicaStatus,
)
from agon.stores.redis.client import Keys, translated
from agon.stores.redis.jobs import decode_job, decode_turn, encode_job, encode_turn
from agon.stores.redis.scripts import script
from agon.stores.redis.wire import RefusedError, Wire, Word

_SEED_S = 30 * 60
_LONGEST_WAIT_S = 5.0
_TAKEN_AT_ONCE = 256
_REAPED_AT_ONCE = 1000
_READ_AT_ONCE = 500
_SHOWN = ("contestant", "state", "detail", "url", "capacity", "active", "turns", "tokens", "foreign", "rate")
_REFUSALS = {
    "client_limit": "You have asked for a lot lately; try again in a moment.",
    "arena_limit": "The arena is at its limit; try again in a moment.",
    "busy": "Every place is taken; try again in a moment.",
}
_draw = SystemRandom()


class RedisDispatch:
    """`Dispatch` on Redis, for one executor. Its name must be its own while it lives.

    `alive_s` is how long it counts as living after a beat. `clock_s` replaces the server's clock and `chance` the draw
    among equals, for simulations.
    """

    def __init__(
        self,
        url: str,
        *,
        prefix: str = "agon",
        executor: str,
        admission: Admission | None = None,
        balance: Balance | None = None,
        alive_s: float = 1.5,
        clock_s: Callable[[], float] | None = None,
        chance: Callable[[], int] | None = None,
    ) -> None:
        self._wire = Wire(url)
        self._waiting = Wire(url, timeout_s=_LONGEST_WAIT_S + 3.0)
        self._keys = Keys(prefix)
        self._executor = executor
        self._admission = admission or Admission()
        self._balance = balance or Balance()
        self._alive_ms = int(alive_s * 1000)
        self._clock_s = clock_s
        self._chance = chance or (lambda: _draw.getrandbits(31))
        # Ever rising, also over restarts under the same name: what an earlier life held is told apart by it.
        self._beat = time.time_ns() // 1_000_000
        self._gone: dict[AnswerRef, int] = {}
        """What has left this executor lately, with the beat at that time: a statement made before may still have it."""
        self._seized: set[AnswerRef] = set()

    async def close(self) -> None:
        await self._wire.close()
        await self._waiting.close()

    async def reserve(self, jobs: Sequence[Job], *, client: str | None = None) -> Sequence[Placement]:
        if not jobs:
            return []
        admission, balance = self._admission, self._balance
        words: list[Word] = [self._beat, self._now(), self._alive_ms, self._chance()]
        words += [balance.gate_s, balance.gate_ratio, balance.prefix_s, client or ""]
        words += [admission.client_tokens_per_s, admission.client_burst_tokens]
        words += [admission.arena_share, admission.arena_burst_s, admission.queue_s]
        for job in jobs:
            self._gone.pop(job.ref, None)
            words += [encode_turn(job.ref), job.ref.contestant, job.cost.prompt, job.cost.output, job.cost.cached]
            words += [job.prefix or "", "".join(f"{each}\n" for each in job.avoid), encode_job(job)]
        verdict, *answer = await self._reserve(jobs, words)
        if verdict == "not_ready":
            raise _not_ready(answer[0])
        if verdict != "ok":
            raise Busy(_REFUSALS[verdict], code=verdict, retry_after_s=int(answer[0]) / 1000)
        places = zip(jobs, answer[::2], answer[1::2], strict=True)
        return [Placement(job, replica, self._executor, cached == "1") for job, replica, cached in places]

    async def send(self, placements: Sequence[Placement]) -> None:
        if not placements:
            return
        words: list[Word] = [self._now(), self._chance()]
        for placement in placements:
            job = placement.job
            self._gone[job.ref] = self._beat
            words += [encode_turn(job.ref), job.ref.contestant, placement.replica]
            words += [job.cost.prompt, job.cost.output, encode_job(job)]
        stranded = await self._call("send", words)
        if stranded:
            raise _not_ready(decode_turn(stranded[0]).contestant)

    async def take(self, wait_s: float) -> Sequence[Placement]:
        inbox = self._keys.inbox(self._executor)
        block_ms = int(min(wait_s, _LONGEST_WAIT_S) * 1000)
        block: list[Word] = ["BLOCK", block_ms] if block_ms > 0 else []
        with translated():
            # Always from the start: what is taken is removed, and what is not must be seen again.
            found = await self._waiting.call("XREAD", "COUNT", _TAKEN_AT_ONCE, *block, "STREAMS", inbox, "0")
        if not found:
            return []
        words: list[Word] = [self._beat]
        for entry, fields in found[0][1]:
            words += [entry, fields[1]]
        taken = await self._call("take", words)
        placements: list[Placement] = []
        for turn, replica, cached, text in zip(*[iter(taken)] * 4, strict=True):
            ref = decode_turn(turn)
            self._gone.pop(ref, None)
            placements.append(Placement(decode_job(ref, text), replica, self._executor, cached == "1"))
        return placements

    async def speak(self, refs: Sequence[AnswerRef]) -> None:
        if refs:
            await self._call("speak", [encode_turn(ref) for ref in refs])

    async def release(self, refs: Sequence[AnswerRef], *, wrote: Mapping[AnswerRef, int] | None = None) -> None:
        words: list[Word] = []
        for ref in refs:
            self._gone[ref] = self._beat
            self._seized.discard(ref)
            words += [encode_turn(ref), ref.contestant, "" if wrote is None else wrote.get(ref, "")]
        if words:
            await self._call("release", words)

    async def beat(self, beat: Beat) -> None:
        self._beat += 1
        balance = self._balance
        words: list[Word] = [self._beat, self._now(), self._alive_ms, balance.cold_penalty_s]
        words += [balance.default_tokens_per_s, balance.window_s, len(beat.replicas)]
        for report in beat.replicas:
            words += _report_words(report)
        for ref, (replica, prompt, output) in beat.held.items():
            if ref not in self._gone:
                lost = Job(ref, Cost(prompt, output))
                words += [encode_turn(ref), replica, max(0, prompt), max(0, output), encode_job(lost)]
        for ref in self._seized:
            words += [encode_turn(ref), "", 0, 0, ""]
        await self._call("beat", words)
        self._gone = {ref: at for ref, at in self._gone.items() if at >= self._beat - 1}

    async def leave(self) -> None:
        await self._call("leave", [self._balance.cold_penalty_s])

    async def reap(self) -> Sequence[Job]:
        given = await self._call("reap", [self._now(), self._alive_ms, self._balance.cold_penalty_s, _REAPED_AT_ONCE])
        pairs = zip(given[::2], given[1::2], strict=True)
        return [decode_job(decode_turn(turn), text) for turn, text in pairs]

    async def unheld(self, refs: Sequence[AnswerRef]) -> Sequence[AnswerRef]:
        if not refs:
            return []
        return [decode_turn(turn) for turn in await self._call("unheld", [*map(encode_turn, refs)])]

    async def seize(self, ref: AnswerRef) -> bool:
        self._gone.pop(ref, None)
        words = [self._beat, self._now(), self._alive_ms, encode_turn(ref)]
        seized = bool(await self._call("seize", words))
        if seized:
            self._seized.add(ref)
        return seized

    async def seed(self, conversation: UUID, turn: int, proposal: int) -> int:
        key = self._keys.seed(conversation, turn)
        with translated():
            before = await self._wire.call("SET", key, proposal, "NX", "GET", "EX", _SEED_S)
        return proposal if before is None else int(before)

    async def replicas(self) -> Sequence[ReplicaStatus]:
        found: list[ReplicaStatus] = []
        with translated():
            ids = sorted(await self._wire.call("SMEMBERS", self._keys.replicas))
            for start in range(0, len(ids), _READ_AT_ONCE):
                some = ids[start : start + _READ_AT_ONCE]
                replies = await self._wire.several(*(("HMGET", self._keys.replica(each), *_SHOWN) for each in some))
                found += [_status(each, *fields) for each, fields in zip(some, replies, strict=True) if fields[1]]
        served = [replica for replica in found if replica.state is not EngineState.UNKNOWN]
        return sorted(served, key=lambda replica: (replica.contestant, replica.id))

    def _now(self) -> str:
        return "" if self._clock_s is None else str(int(self._clock_s() * 1000))

    async def _reserve(self, jobs: Sequence[Job], words: Sequence[Word]) -> Any:
        try:
            return await self._call("reserve", words)
        except asyncio.CancelledError:
            # Redis may have counted them already, or will in a moment; this follows on the same connection.
            ended: list[Word] = [word for job in jobs for word in (encode_turn(job.ref), job.ref.contestant, "")]
            self._wire.post("EVAL", script("release").text, 0, self._keys.prefix, self._executor, *ended)
            raise

    async def _call(self, name: str, words: Sequence[Word]) -> Any:
        wanted = script(name)
        with translated():
            try:
                return await self._wire.call("EVALSHA", wanted.digest, 0, self._keys.prefix, self._executor, *words)
            except RefusedError as error:
                if error.code != "NOSCRIPT":
                    raise
                return await self._wire.call("EVAL", wanted.text, 0, self._keys.prefix, self._executor, *words)


def _report_words(report: ReplicaReport) -> list[Any]:
    words: list[Word] = [report.id, report.contestant, report.url or "", report.state.value, report.detail]
    return [*words, report.capacity, report.active, report.tokens, report.stream_s, max(0, report.foreign)]


def _status(replica: str, *fields: Any) -> ReplicaStatus:
    contestant, state, detail, url, capacity, active, turns, tokens, foreign, rate = fields
    return ReplicaStatus(
        id=replica,
        contestant=contestant,
        state=EngineState(state),
        detail=detail,
        url=url,
        capacity=int(capacity),
        active=int(active),
        turns=int(turns),
        outstanding_tokens=int(tokens) + int(foreign),
        rate_tokens_per_s=float(rate),
    )


def _not_ready(contestant: str) -> Unavailable:
    return Unavailable(f"{contestant} is not ready; try again in a moment.", code="model_not_ready")
