"""Strikes the cluster at random points, and mends what it broke a little later."""

import asyncio
import random
import signal
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass

import redis.asyncio
import redis.exceptions
from tests.chaos.cluster import Cluster, Role

_FROZEN_S = 3.0
_HUNG_S = 18.0
"""Longer than a battle may take."""


@dataclass(frozen=True, slots=True)
class Strike:
    """Something that happened, and when, by the monotonic clock."""

    kind: str
    target: str
    at: float

    def __str__(self) -> str:
        return f"{self.kind.split()[0]} {self.target}"


class Monkey:
    def __init__(self, cluster: Cluster, chance: random.Random) -> None:
        self._cluster = cluster
        self._chance = chance
        self._mending: set[asyncio.Task[None]] = set()

    async def strike(self, kind: str) -> Strike:
        """Break something; it is mended in the background."""
        role = STRIKES[kind]
        if role is None:
            work, target = _VALKEY[kind](self), "valkey"
        else:
            target = self._chance.choice(self._cluster.of(role)).name
            verb = kind.split(maxsplit=1)[0]
            work = self._kill(target) if verb == "killed" else self._freeze(target, _FREEZES_S[verb])
        struck = Strike(kind, target, time.monotonic())
        task = asyncio.create_task(work)
        self._mending.add(task)
        # The deed itself is done in the first step of its task.
        await asyncio.sleep(0)
        return struck

    async def mended(self) -> None:
        await asyncio.gather(*self._mending)
        self._mending.clear()

    async def _kill(self, name: str) -> None:
        part = self._cluster.parts[name]
        part.kill()
        await self._while()
        part.start()

    async def _freeze(self, name: str, seconds: float) -> None:
        part = self._cluster.parts[name]
        part.signal(signal.SIGSTOP)
        await asyncio.sleep(seconds)
        part.signal(signal.SIGCONT)

    async def kill_valkey(self) -> None:
        """Its log of writes is read back at the start, but for the last second."""
        self._cluster.kill_valkey()
        await self._while()
        await self._cluster.start_valkey()

    async def lose_valkey(self) -> None:
        self._cluster.kill_valkey()
        await self._while()
        await self._cluster.start_valkey(fresh=True)

    async def empty_valkey(self) -> None:
        client = redis.asyncio.Redis.from_url(self._cluster.valkey.url)  # pyright: ignore[reportUnknownMemberType]
        try:
            await client.flushall()  # pyright: ignore[reportUnknownMemberType]
        except redis.exceptions.ConnectionError:
            pass  # It is down already, or comes up again just now.
        finally:
            await client.aclose()

    async def freeze_valkey(self) -> None:
        assert self._cluster.valkey.child is not None
        self._cluster.valkey.child.send_signal(signal.SIGSTOP)
        await asyncio.sleep(_FROZEN_S)
        self._cluster.valkey.child.send_signal(signal.SIGCONT)

    async def _while(self) -> None:
        await asyncio.sleep(self._chance.uniform(0.0, 2.0))


_FREEZES_S: Mapping[str, float] = {"frozen": _FROZEN_S, "hung": _HUNG_S}

STRIKES: Mapping[str, Role | None] = {
    "killed engine": "engine",
    "killed runner": "runner",
    "killed gateway": "gateway",
    "killed valkey": None,
    "lost valkey": None,
    "emptied valkey": None,
    "frozen engine": "engine",
    "hung engine": "engine",
    "frozen runner": "runner",
    "frozen gateway": "gateway",
    "frozen valkey": None,
}
"""What may happen, and to whom; `None` is Valkey, of which there is one."""

_VALKEY: Mapping[str, Callable[[Monkey], Coroutine[None, None, None]]] = {
    "killed valkey": Monkey.kill_valkey,
    "lost valkey": Monkey.lose_valkey,
    "emptied valkey": Monkey.empty_valkey,
    "frozen valkey": Monkey.freeze_valkey,
}
