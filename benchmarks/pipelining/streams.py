"""A plain consumer of a Redis stream, as a process: read, score, put on a board, acknowledge."""

import sys
from typing import Any

import redis
from benchmarks.pipelining.plugin.bench_scorers import ratio

STREAM, GROUP, BOARD, DONE = "bench:stream", "bench:group", "bench:board", "bench:done"


def consume(url: str, total: int, at_once: int) -> None:
    """Score so many answers; several to a read, with one round trip for what follows, or one by one."""
    client: Any = redis.Redis.from_url(url, decode_responses=True)
    done = 0
    while done < total:
        ((_, entries),) = client.xreadgroup(GROUP, "one", {STREAM: ">"}, count=at_once, block=1000)
        pipe = client.pipeline(transaction=False)
        for entry, fields in entries:
            pipe.zadd(BOARD, {fields["id"]: ratio(fields["prompt"], fields["answer"])})
            pipe.xack(STREAM, GROUP, entry)
        pipe.execute()
        done += len(entries)
    client.set(DONE, done)


if __name__ == "__main__":
    consume(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
