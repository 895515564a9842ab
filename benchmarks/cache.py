"""The cache's levels over bare Redis, a flood of strangers, and what a round's board costs Redis."""

import asyncio

from benchmarks.caching import boards, flood, levels
from benchmarks.harness.arena import Arena
from benchmarks.harness.report import console, publish


def main() -> None:
    with Arena() as arena:
        console.print("Levels …")
        claims, facts = asyncio.run(levels.measure(arena.redis_url, arena.database_url))
        console.print("Flood …")
        parts = [asyncio.run(flood.measure(arena.redis_url, arena.database_url))]
        console.print("Boards …")
        parts.append(asyncio.run(boards.measure(arena.redis_url)))
    for more_claims, more_facts in parts:
        claims += more_claims
        facts += more_facts
    publish("cache", claims, facts)


if __name__ == "__main__":
    main()
