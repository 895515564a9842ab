"""Dispatch: the proxies beside each other, balancing, packets, reuse of caches, bursts, and how far it scales."""

import argparse
import asyncio
from collections.abc import Callable, Mapping

from benchmarks.dispatching import balancing, bursts, models, packets, proxies, scaling
from benchmarks.dispatching.systems import PEERS, System, agon, await_system, start_engines
from benchmarks.harness.arena import Arena
from benchmarks.harness.report import console, publish
from benchmarks.harness.statistics import Claim, Fact

Results = tuple[list[Claim], list[Fact]]


def proxied() -> Results:
    with Arena() as arena:
        engines = start_engines(arena, 2)
        systems = [agon(arena, engines), *(peer(arena, engines) for peer in PEERS)]
        for system in systems:
            await_system(arena, system)
        ours, *others = [system.name for system in systems]
        runs = proxies.measure(arena, engines, [System(proxies.ENGINE, engines), *systems])
    return proxies.results(runs, ours, others)


async def _balanced() -> Results:
    claims, facts = await asyncio.to_thread(balancing.real)
    async with balancing.valkey() as url:
        more_claims, more_facts = await balancing.measure(url)
    return claims + more_claims, facts + more_facts


async def _burst() -> Results:
    claims, facts = await asyncio.to_thread(bursts.real)
    async with balancing.valkey() as url:
        more_claims, more_facts = await bursts.simulated(url)
    return claims + more_claims, facts + more_facts


async def _scaled() -> Results:
    async with balancing.valkey() as url:
        return await scaling.measure(url)


PARTS: Mapping[str, Callable[[], Results]] = {
    "proxies": proxied,
    "balance": lambda: asyncio.run(_balanced()),
    "packets": packets.measure,
    "models": lambda: asyncio.run(models.measure()),
    "burst": lambda: asyncio.run(_burst()),
    "scale": lambda: asyncio.run(_scaled()),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.dispatch", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=list(PARTS), help="which of them to run (default: all)")
    chosen: list[str] = parser.parse_args().parts or list(PARTS)
    claims: list[Claim] = []
    facts: list[Fact] = []
    for part in chosen:
        console.print(f"{part} …")
        found, told = PARTS[part]()
        claims += found
        facts += told
    publish("dispatch" if chosen == list(PARTS) else f"dispatch-{'-'.join(chosen)}", claims, facts)


if __name__ == "__main__":
    main()
