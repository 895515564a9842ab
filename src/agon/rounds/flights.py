"""One making of a value at a time, however many want it."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Protocol

from agon.core.round_ports import Cache

Make = Callable[[Sequence[bytes]], Awaitable[Mapping[bytes, bytes]]]
"""Makes the values of some keys; those that it leaves out have none that could be kept."""

_LOOK_AGAIN_S = 0.05


class Leases(Protocol):
    """Who makes what, over all processes. Best effort: a lease that runs out, or is lost, costs a second making."""

    async def take(self, keys: Sequence[bytes], for_s: float) -> Collection[bytes]:
        """Those that nobody else makes; all of them, at once, while the server is away."""
        ...

    async def give_back(self, keys: Collection[bytes]) -> None: ...


class SingleFlight:
    """Values from a cache, or made, by one at a time for each key. Bound to one event loop, as its cache is.

    Who makes a key's value leads; all others wait, and take what was made. A leader that fails, or leaves a key out,
    wakes them, and they make their keys themselves.
    """

    def __init__(self, cache: Cache, leases: Leases, *, lease_s: float = 10.0) -> None:
        self._cache = cache
        self._leases = leases
        self._lease_s = lease_s
        self._making: dict[bytes, asyncio.Future[Mapping[bytes, bytes]]] = {}

    async def find_or_make(self, keys: Sequence[bytes], make: Make, *, shared: bool = False) -> Mapping[bytes, bytes]:
        """What is known of the keys, and what `make` made of the others; it is kept, too.

        With `shared` other processes that make the same are waited for, while their lease lasts. Raises what `make`
        raises.
        """
        found: dict[bytes, bytes] = {}
        absent = list(dict.fromkeys(keys))
        while absent:
            others = {key: self._making[key] for key in absent if key in self._making}
            mine = [key for key in absent if key not in others]
            if mine:
                found |= await self._lead(mine, make, shared=shared)
            if others:
                await asyncio.wait(set(others.values()))
            for key, flight in others.items():
                if (value := flight.result().get(key)) is not None:
                    found[key] = value
            absent = [key for key in others if key not in found]
        return found

    async def _lead(self, keys: Sequence[bytes], make: Make, *, shared: bool) -> Mapping[bytes, bytes]:
        flight: asyncio.Future[Mapping[bytes, bytes]] = asyncio.get_running_loop().create_future()
        self._making |= dict.fromkeys(keys, flight)
        found: dict[bytes, bytes] = {}
        try:
            # Looked for by the leader alone: who looks beside it could miss the very moment in which it is made.
            found |= await self._cache.find(keys)
            absent = [key for key in keys if key not in found]
            if absent:
                found |= await (self._make_shared(absent, make) if shared else self._make(absent, make))
        finally:
            for key in keys:
                del self._making[key]
            flight.set_result(found)
        return found

    async def _make(self, keys: Sequence[bytes], make: Make) -> Mapping[bytes, bytes]:
        made = await make(keys)
        await self._cache.keep(made)
        return made

    async def _make_shared(self, keys: Sequence[bytes], make: Make) -> Mapping[bytes, bytes]:
        """Take on what nobody else makes, again and again: leases that are given back or run out come to us."""
        found: dict[bytes, bytes] = {}
        left: Sequence[bytes] = keys
        while left:
            taken = await self._leases.take(left, self._lease_s)
            try:
                # It may have been made between the last look and the lease.
                found |= await self._cache.find(left)
                mine = [key for key in left if key in taken and key not in found]
                if mine:
                    found |= await self._make(mine, make)
            finally:
                await self._leases.give_back(taken)
            left = _without(left, taken, found)
            if left:
                await asyncio.sleep(_LOOK_AGAIN_S)
        return found


def _without(keys: Sequence[bytes], *others: Collection[bytes]) -> Sequence[bytes]:
    return [key for key in keys if not any(key in each for each in others)]
