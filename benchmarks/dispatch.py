"""Dispatch: the proxies beside each other, balancing, packets, reuse of caches, bursts, and how far it scales."""

import argparse
import asyncio
from collections.abc import Awaitable, Callable, Mapping

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


def with_valkey(part: Callable[[str], Awaitable[Results]]) -> Results:
    async def run() -> Results:
        async with balancing.valkey() as url:
            return await part(url)

    return asyncio.run(run())


def both(real: Results, simulated: Results) -> Results:
    return real[0] + simulated[0], real[1] + simulated[1]


PARTS: Mapping[str, Callable[[], Results]] = {
    "proxies": proxied,
    "balance": lambda: both(balancing.real(), with_valkey(balancing.measure)),
    "packets": packets.measure,
    "models": lambda: asyncio.run(models.measure()),
    "burst": lambda: both(bursts.real(), with_valkey(bursts.simulated)),
    "scale": lambda: with_valkey(scaling.measure),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.dispatch", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)} (default: all)")
    chosen: list[str] = parser.parse_args().parts or list(PARTS)
    if unknown := [part for part in chosen if part not in PARTS]:
        parser.error(f"there is no part {unknown[0]}")
    claims: list[Claim] = []
    facts: list[Fact] = []
    done: list[str] = []
    try:
        for part in chosen:
            console.print(f"{part} …")
            found, told = PARTS[part]()
            claims += found
            facts += told
            done.append(part)
    finally:
        # What was measured before a part failed is worth keeping, under its own name.
        if done:
            publish("dispatch" if done == list(PARTS) else f"dispatch-{'-'.join(done)}", claims, facts)


if __name__ == "__main__":
    main()
