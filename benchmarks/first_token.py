"""What the whole arena adds to the time until the first token, over asking the same engine directly."""

import asyncio
import json
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.request import Request, urlopen

from benchmarks.harness.arena import Arena, Processor
from benchmarks.harness.report import console, publish
from benchmarks.harness.statistics import Claim, Fact, compare, percentile
from benchmarks.harness.trace import Sighting, tracing
from benchmarks.harness.wire import HttpConnection, request_bytes

HOST = "127.0.0.1"
MODELS = ("scripted-a", "scripted-b")
PROMPT = "Why does the sea have tides, and why two a day?"
FIRST_TOKEN_S = 0.02
TOKENS_PER_S = 50
REPEATS = 5
SPREAD_S = 0.02
"""Battles of one repeat start this far apart, as people's do."""


@dataclass(frozen=True, slots=True)
class Load:
    battles: int
    """At the same time."""
    rounds: int
    """How often each place fights within one repeat."""
    tokens: int
    """Length of an answer: long enough that all battles are under way before the first ends, and no longer."""


LOADS = (Load(1, 10, 10), Load(20, 2, 40), Load(100, 1, 100))


@dataclass(slots=True)
class Waits:
    """Milliseconds from asking to the first text of each side, and to the battle's first of either."""

    side_ms: list[float] = field(default_factory=list[float])
    either_ms: list[float] = field(default_factory=list[float])
    sightings: list[Sighting] = field(default_factory=list[Sighting])

    def note(self, seen: Sequence[Sighting]) -> None:
        waited_ms = [(side.first - side.asked) * 1000 for side in seen]
        self.side_ms += waited_ms
        self.either_ms.append(min(waited_ms))
        self.sightings += seen


class Fighter:
    """One person's browser: a kept-alive connection to the gateway, and two to the engine for the direct way."""

    def __init__(self, gateway: HttpConnection, engines: Sequence[HttpConnection]) -> None:
        self._gateway = gateway
        self._engines = engines
        self._cookie: dict[str, str] = {}

    async def battle(self) -> list[Sighting]:
        """Start a battle and watch it to its end; what matters is when each side's first text came."""
        asked = time.time()
        body = json.dumps({"prompt": PROMPT}).encode()
        reply = await self._gateway.send(request_bytes("POST", "/arena/battles", headers=self._cookie, body=body))
        if reply.status != 201:
            raise ConnectionError(f"a battle was answered with {reply.status}: {reply.body!r}")
        if "set-cookie" in reply.headers:
            self._cookie = {"Cookie": reply.headers["set-cookie"].partition(";")[0]}
        conversation: str = json.loads(reply.body)["id"]
        events = request_bytes("GET", f"/arena/battles/{conversation}/events", headers=self._cookie)
        firsts: dict[str, float] = {}
        async for chunk in self._gateway.stream(events):
            for side in ("a", "b"):
                if side not in firsts and f'"side":"{side}","text":'.encode() in chunk:
                    firsts[side] = time.time()
        if len(firsts) != 2:
            raise ConnectionError(f"only {len(firsts)} of 2 sides were seen")
        return [Sighting(conversation, side, asked, first) for side, first in firsts.items()]

    async def direct(self) -> list[Sighting]:
        """Ask the engine for both answers at once, as a battle does."""
        return await asyncio.gather(*map(_ask_engine, self._engines, MODELS))

    async def leave(self) -> None:
        for connection in (self._gateway, *self._engines):
            await connection.close()


async def _ask_engine(engine: HttpConnection, model: str) -> Sighting:
    asked = time.time()
    body = {"model": model, "messages": [{"role": "user", "content": PROMPT}], "stream": True, "max_tokens": 192}
    request = request_bytes("POST", "/v1/chat/completions", body=json.dumps(body).encode())
    first: float | None = None
    async for chunk in engine.stream(request):
        if first is None and b'"content": "' in chunk:
            first = time.time()
    if first is None:
        raise ConnectionError("the engine said nothing")
    return Sighting("", model, asked, first)


async def connect(arena: Arena, engine_port: int) -> Fighter:
    engines = [await HttpConnection.open(HOST, engine_port) for _ in MODELS]
    return Fighter(await HttpConnection.open(HOST, arena.port), engines)


@dataclass(frozen=True, slots=True)
class Course:
    """Where the fights of one load take place."""

    arena: Arena
    engine_port: int
    load: Load

    async def run(self, *, is_direct: bool) -> Waits:
        """Everyone fights at once, on connections opened before: a browser has its page's connection, too."""
        waits = Waits()
        people = [await connect(self.arena, self.engine_port) for _ in range(self.load.battles)]

        async def fight(number: int, person: Fighter) -> None:
            await asyncio.sleep(number * SPREAD_S)
            for _ in range(self.load.rounds):
                waits.note(await (person.direct() if is_direct else person.battle()))

        await asyncio.gather(*(fight(number, person) for number, person in enumerate(people)))
        for person in people:
            await person.leave()
        return waits


async def compare_ways(arena: Arena, engine_port: int) -> tuple[list[Claim], list[Fact]]:
    claims: list[Claim] = []
    facts: list[Fact] = []
    for load in LOADS:
        await asyncio.to_thread(script_engine, engine_port, load.tokens)
        course = Course(arena, engine_port, load)
        ours: list[Waits] = []
        direct: list[Waits] = []
        # The first of everything is slow everywhere: connections, statements, code.
        for is_direct in (True, False):
            await course.run(is_direct=is_direct)
        begun = time.monotonic()
        with arena.processor() as processor:
            for repeat in range(REPEATS):
                for is_direct in (repeat % 2 == 0, repeat % 2 == 1):
                    (direct if is_direct else ours).append(await course.run(is_direct=is_direct))
        took_s = time.monotonic() - begun
        claims += _claims(load.battles, ours, direct)
        facts += _overheads(load.battles, ours, direct)
        facts += _processor_facts(load.battles, processor, took_s)
        async with tracing(arena.redis_url) as trace:
            traced = await course.run(is_direct=False)
        facts += [
            Fact(f"{load.battles} at once, P50 {stage}", ms, "ms")
            for stage, ms in trace.medians_ms(traced.sightings).items()
        ]
        console.print(f"  {load.battles} at once: done after {took_s:.0f} s")
    return claims, facts


def _claims(count: int, ours: Sequence[Waits], direct: Sequence[Waits]) -> list[Claim]:
    return [
        compare(
            f"{count} battles at once: {name} ms to a side's first text, over the engine alone",
            [percentile(waits.side_ms, share) for waits in ours],
            [percentile(waits.side_ms, share) for waits in direct],
        )
        for name, share in (("P50", 0.5), ("P99", 0.99))
    ]


def _overheads(count: int, ours: Sequence[Waits], direct: Sequence[Waits]) -> list[Fact]:
    """Differences, over all repeats together: with one battle at a time a single repeat has too few for a P99."""
    mine = [ms for waits in ours for ms in waits.side_ms]
    theirs = [ms for waits in direct for ms in waits.side_ms]
    facts = [
        Fact(f"{count} at once: {name} overhead", percentile(mine, share) - percentile(theirs, share), "ms")
        for name, share in (("P50", 0.5), ("P99", 0.99))
    ]
    either = statistics.median(ms for waits in ours for ms in waits.either_ms)
    return [*facts, Fact(f"{count} at once: P50 to the first text of either side", either, "ms")]


def _processor_facts(count: int, processor: Mapping[str, Processor], took_s: float) -> list[Fact]:
    facts: list[Fact] = []
    for name, spent in sorted(processor.items(), key=lambda item: -item[1].used_s):
        for what, seconds in (("ran", spent.used_s), ("waited for a core", spent.waited_s)):
            facts.append(Fact(f"{count} at once: the {name} {what}", seconds / took_s * 100, "% of the time"))
    return facts


def start_engine(arena: Arena) -> int:
    """The scripted engine as a process; returns its port."""
    log = arena.run("fake-engine", "--format", "json", "--models", ",".join(MODELS), "--rate", str(TOKENS_PER_S))
    arena.wait_for(lambda: log.exists() and log.read_text().endswith("\n"), "the scripted engine")
    return int(json.loads(log.read_text())["url"].rpartition(":")[2])


def script_engine(engine_port: int, tokens: int, *, rate_tokens_per_s: float = TOKENS_PER_S) -> None:
    words = {"first_token_delay_s": FIRST_TOKEN_S, "tokens": tokens, "rate_tokens_per_s": rate_tokens_per_s}
    patch = json.dumps({"model": "*"} | words).encode()
    with urlopen(Request(f"http://{HOST}:{engine_port}/control", patch, method="POST"), timeout=5):
        return


def configuration(engine_port: int) -> str:
    """Nobody is refused: what is asked is how long it takes."""
    contestants = [
        f'[[contestants]]\nname = "{model}"\nurl = "http://{HOST}:{engine_port}/v1"\nmax_concurrent = 256\n'
        for model in MODELS
    ]
    return "".join(["default_models = false\n", *contestants, "[limits]\narena_share = 0\nqueue_s = 0\n"])


def main() -> None:
    with Arena() as arena:
        engine_port = start_engine(arena)
        arena.configure(configuration(engine_port))
        for process in ("runner", "worker", "gateway"):
            arena.run(process)
        arena.await_http("/readyz")
        claims, facts = asyncio.run(compare_ways(arena, engine_port))
    publish("first_token", claims, facts)


if __name__ == "__main__":
    main()
