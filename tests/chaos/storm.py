"""Waves of people, and what the monkey does to them; each repeat ends with every check."""

import asyncio
import itertools
import random
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

import psutil
from tests.chaos import checks
from tests.chaos.cluster import Cluster
from tests.chaos.crowd import Crowd
from tests.chaos.monkey import STRIKES, Monkey, Strike
from tests.chaos.watcher import Door, Seen, Watch

_STALLED_S = 0.6
"""An engine writes every 0.2 s: a side that is silent for three times as long felt the strike."""
_WARM_S = 2.5
"""By then everybody has come, and nobody's answer is over."""
_KEPT_S = 5.5


@dataclass(frozen=True, slots=True)
class Plan:
    seed: int
    repeats: int
    battles: int = 110
    chats: int = 16
    programs: int = 8
    """Users of the OpenAI-compatible API."""
    first: int = 1
    """The repeat to begin with: one that went wrong can be seen again alone."""
    kinds: Sequence[Sequence[str]] | None = None
    """What happens in each repeat; by default it is drawn."""

    def strikes(self) -> Iterator[Sequence[str]]:
        """Every kind equally often, in any order; in every third repeat two things happen."""
        if self.kinds is not None:
            yield from self.kinds
            return
        deck = random.Random(self.seed)
        drawn = itertools.chain.from_iterable(deck.sample(sorted(STRIKES), len(STRIKES)) for _ in itertools.count())
        for number in itertools.count(1):
            yield list(itertools.islice(drawn, 2 if number % 3 == 0 else 1))


@dataclass(frozen=True, slots=True)
class Footprint:
    """What a process takes when nothing is going on."""

    fds: int
    threads: int
    tasks: Mapping[str, int]
    has_mb: float
    """Resident."""
    uses_mb: float
    """The same without garbage and without what the allocator keeps for later."""


@dataclass(slots=True)
class Repeat:
    """What came of one wave."""

    number: int
    strikes: Sequence[Strike]
    live: int
    """Battles that were being answered when the monkey struck."""
    ends: Counter[str]
    errors: Counter[str]
    reruns: int
    """Attempts beyond each answer's first."""
    rewinds: int
    pauses_s: Mapping[str, Sequence[float]]
    """How long the sides that felt the strike were silent after it, by contestant."""
    settled_s: float
    troubles: Counter[str]
    footprints: dict[tuple[str, int], Footprint] = field(default_factory=dict[tuple[str, int], Footprint])

    @property
    def what(self) -> str:
        return ", ".join(strike.kind for strike in self.strikes)

    def __str__(self) -> str:
        felt = [pause for pauses in self.pauses_s.values() for pause in pauses]
        ends = " ".join(f"{count} {state}" for state, count in sorted(self.ends.items()))
        pauses = (
            f"went on p50 {statistics.median(felt):.2f} max {max(felt):.2f} s ({len(felt)})"
            if felt
            else "nobody felt it"
        )
        prints = " ".join(
            f"{mark.fds}/{sum(mark.tasks.values())}/{mark.uses_mb:.0f}" for mark in self.footprints.values()
        )
        return (
            f"{self.number:3} {', '.join(map(str, self.strikes)):32} {self.live} live | {ends}"
            f" | {self.reruns} reruns {self.rewinds} rewinds | {pauses}"
            f" | settled {self.settled_s:.1f} s | fds/tasks/MB {prints}"
        )


async def storm(cluster: Cluster, plan: Plan, tell: Callable[[str], None]) -> list[Repeat]:
    repeats: list[Repeat] = []
    for number, kinds in enumerate(itertools.islice(plan.strikes(), plan.first + plan.repeats - 1), 1):
        if number >= plan.first:
            chance = random.Random(plan.seed * 1000 + number)
            try:
                repeats.append(await _repeat(cluster, plan, number, kinds, chance))
            except BaseException as error:
                error.add_note(f"repeat {number} of seed {plan.seed}: {', '.join(kinds)}")
                raise
            tell(str(repeats[-1]))
    return repeats


async def _repeat(cluster: Cluster, plan: Plan, number: int, kinds: Sequence[str], chance: random.Random) -> Repeat:
    since = datetime.now(UTC)
    crowd, monkey = Crowd(Door(cluster.gateway_urls, chance)), Monkey(cluster, chance)
    wave = asyncio.create_task(crowd.wave(battles=plan.battles, chats=plan.chats, programs=plan.programs))
    try:
        await asyncio.sleep(_WARM_S + chance.uniform(0.0, 1.5))
        live = sum(not watch.ended(1) for watch in {watch.conversation: watch for watch in crowd.watches}.values())
        strikes = [await monkey.strike(kind) for kind in kinds]
        await wave
    finally:
        wave.cancel()
        with suppress(asyncio.CancelledError):
            await wave
        await monkey.mended()
    over = time.monotonic()
    await checks.settled(cluster)
    settled_s = time.monotonic() - over
    await cluster.until_ready()
    ledger = await checks.read_ledger(cluster, since)
    checks.check_promises(ledger, crowd)
    checks.check_ledger(ledger)
    checks.check_forfeits(ledger)
    checks.check_watches(ledger, crowd.watches)
    checks.check_chats(ledger, crowd.people)
    for person in crowd.people:
        for completion in person.completions:
            completion.check()
    await checks.check_repeats(crowd)
    assert (await checks.read_ledger(cluster, since)).ends == ledger.ends, "asking again has started something"
    await checks.settled(cluster)
    # Idle connections to engines and clients are kept for some seconds.
    await asyncio.sleep(max(0.0, over + _KEPT_S - time.monotonic()))
    return Repeat(
        number,
        strikes,
        live,
        ledger.ends,
        ledger.errors,
        sum(row["attempt"] - 1 for row in ledger.rows.values()),
        sum(seen.rewinds for watch in crowd.watches for seen in watch.seen.values()),
        pauses_after(strikes[0].at, crowd.watches, ledger),
        settled_s,
        crowd.door.troubles,
        await footprints(cluster),
    )


def pauses_after(moment: float, watches: Sequence[Watch], ledger: checks.Ledger) -> dict[str, list[float]]:
    """How long the sides that were being written at a moment, and felt it, were silent from then on."""
    found: defaultdict[str, list[float]] = defaultdict(list)
    for watch in watches:
        for (turn, side), seen in watch.seen.items():
            if (pause := _pause(moment, seen)) is not None:
                found[ledger.rows[watch.conversation, turn, side]["contestant"]].append(pause)
    return found


def _pause(moment: float, seen: Seen) -> float | None:
    before = max((at for at in seen.times if at <= moment), default=None)
    after = min((at for at in seen.times if at > moment), default=None)
    if before is None or after is None or after - before < _STALLED_S:
        return None
    return after - moment


async def footprints(cluster: Cluster) -> dict[tuple[str, int], Footprint]:
    """By process and life."""
    found: dict[tuple[str, int], Footprint] = {}
    for part in cluster.parts.values():
        if part.role != "engine":
            process = psutil.Process(part.pid)
            found[part.name, part.lives] = Footprint(
                fds=process.num_fds(), threads=process.num_threads(), **await part.told()
            )
    return found
