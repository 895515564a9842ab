"""The contract of `RoundBoards`, on one Valkey, on two, and on a cluster."""

import asyncio
import random
import signal
import socket
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from agon.core.errors import Unavailable
from agon.core.slots import server_of, slot_of
from agon.embedded.binaries import valkey_server
from agon.embedded.process import Child, Launch, end, spawn
from agon.embedded.valkey import ValkeyServer
from agon.stores.redis.client import connect
from agon.stores.redis.rounds import RedisRoundBoards
from agon.stores.redis.wire import Wire

MEANS = {"north 光": 0.75, "south": -1.5, "east: {tag}": 1e-6}
PAGE = '{"rows": ["光"]}'


@pytest.fixture
async def boards(redis_url: str, key_prefix: str) -> AsyncIterator[RedisRoundBoards]:
    boards = RedisRoundBoards([redis_url], prefix=key_prefix)
    yield boards
    await boards.close()


@pytest.fixture
def second(tmp_path: Path) -> Iterator[ValkeyServer]:
    """Another Valkey, which a test may stop."""
    server = ValkeyServer(tmp_path)
    server.start()
    yield server
    server.stop()


async def keys_of(url: str, pattern: str) -> Sequence[str]:
    client: Any = connect(url)
    found = [key async for key in client.scan_iter(match=pattern, count=1000)]
    await client.aclose()
    return found


async def delete(url: str, *keys: str) -> None:
    client: Any = connect(url)
    await client.delete(*keys)
    await client.aclose()


async def test_a_board_is_read_as_it_was_published(boards: RedisRoundBoards) -> None:
    there, other = uuid4(), uuid4()
    assert await boards.page(there) is None
    assert await boards.ranked(there) == []
    assert await boards.publish(there, MEANS, PAGE, 12)
    assert await boards.page(there) == PAGE
    assert await boards.ranked(there) == [("north 光", 0.75), ("east: {tag}", 1e-6), ("south", -1.5)]
    assert await boards.there([there, other]) == {there: 12}
    assert await boards.there([]) == {}


async def test_values_are_absolute_and_whoever_left_is_gone(boards: RedisRoundBoards) -> None:
    at = uuid4()
    await boards.publish(at, MEANS, PAGE, 12)
    for _ in range(3):
        await boards.publish(at, {"south": 2.0, "west": 1 / 3}, "other", 13)
        assert await boards.ranked(at) == [("south", 2.0), ("west", 1 / 3)]
    await boards.publish(at, {}, "nobody", 13)
    assert await boards.ranked(at) == []
    assert await boards.there([at]) == {at: 13}


async def test_a_later_version_wins_whoever_comes_first(
    boards: RedisRoundBoards, redis_url: str, key_prefix: str
) -> None:
    at, versions = uuid4(), [3, 10, 7, 100, 9, 100]
    random.shuffle(versions)
    await asyncio.gather(
        *(boards.publish(at, {"north": float(version)}, f"{version}", version) for version in versions)
    )
    assert await boards.there([at]) == {at: 100}
    assert await boards.page(at) == "100"
    assert await boards.ranked(at) == [("north", 100.0)]
    assert not await boards.publish(at, MEANS, "old", 99)
    assert await boards.publish(at, MEANS, "again", 100), "the same count may be shown anew"
    assert await boards.page(at) == "again"
    assert len(await keys_of(redis_url, f"{key_prefix}*{at}*")) == 3, "what lost has left nothing behind"


async def test_a_board_of_ten_thousand_is_one_step(boards: RedisRoundBoards) -> None:
    at = uuid4()
    means = {f"model {number:05}": number / 7 for number in range(10_000)}
    assert await boards.publish(at, means, PAGE, 1)
    assert await boards.ranked(at) == sorted(means.items(), key=lambda item: -item[1])
    half = dict(list(means.items())[:5_000])
    assert await boards.publish(at, half, PAGE, 2)
    assert dict(await boards.ranked(at)) == half


@pytest.mark.parametrize("part", ["board", "page", "version"])
async def test_a_board_that_lost_any_part_is_not_there(
    boards: RedisRoundBoards, redis_url: str, key_prefix: str, part: str
) -> None:
    lost, kept = uuid4(), uuid4()
    for at in (lost, kept):
        await boards.publish(at, MEANS, PAGE, 12)
    [key] = await keys_of(redis_url, f"{key_prefix}*round:{lost}:{part}")
    await delete(redis_url, key)
    assert await boards.there([lost, kept]) == {kept: 12}
    assert await boards.publish(lost, MEANS, PAGE, 12)
    assert await boards.there([lost, kept]) == {lost: 12, kept: 12}


async def test_watchers_hear_at_once_and_of_each_change(boards: RedisRoundBoards) -> None:
    at = uuid4()
    first, second = boards.changes(at), boards.changes(at)
    async with asyncio.timeout(10):
        await anext(first)
        await anext(second)
        for version, page in ((1, "a"), (1, "b"), (2, "b")):
            hearing = [asyncio.create_task(anext(each)) for each in (first, second)]
            await asyncio.sleep(0)
            await boards.publish(at, MEANS, page, version)
            await asyncio.gather(*hearing)
    for each in (first, second):
        await each.aclose()


async def test_a_lost_board_is_a_change(boards: RedisRoundBoards, redis_url: str, key_prefix: str) -> None:
    at = uuid4()
    await boards.publish(at, MEANS, PAGE, 12)
    changes = boards.changes(at)
    async with asyncio.timeout(10):
        await anext(changes)
        await delete(redis_url, *await keys_of(redis_url, f"{key_prefix}*{at}*"))
        hearing = asyncio.create_task(anext(changes))
        await asyncio.sleep(0)
        assert await boards.publish(at, MEANS, PAGE, 3)
        await hearing
    await changes.aclose()


async def rounds_on(urls: Sequence[str], each: int) -> Mapping[str, list[UUID]]:
    found: dict[str, list[UUID]] = {url: [] for url in urls}
    while any(len(rounds) < each for rounds in found.values()):
        at = uuid4()
        found[server_of(slot_of(at), urls)].append(at)
    return found


async def test_two_servers_share_the_boards(redis_url: str, key_prefix: str, second: ValkeyServer) -> None:
    urls = [redis_url, second.url]
    boards = RedisRoundBoards(urls, prefix=key_prefix)
    shares = await rounds_on(urls, 3)
    everything = [at for share in shares.values() for at in share]
    for at in everything:
        assert await boards.publish(at, MEANS, PAGE, 12)
    assert set(await boards.there(everything)) == set(everything)
    for url, share in shares.items():
        assert len(await keys_of(url, f"{key_prefix}*:board")) == len(share)
        changes = boards.changes(share[0])
        async with asyncio.timeout(10):
            await anext(changes)
            hearing = asyncio.create_task(anext(changes))
            await asyncio.sleep(0)
            await boards.publish(share[0], MEANS, PAGE, 13)
            await hearing
        await changes.aclose()
    second.stop()
    here, gone = shares[redis_url], shares[second.url]
    assert set(await boards.there(everything)) == set(here)
    with pytest.raises(Unavailable):
        await boards.there(gone)
    with pytest.raises(Unavailable):
        await boards.page(gone[0])
    assert await boards.page(here[0]) == PAGE
    await boards.close()


async def test_a_server_that_is_added_takes_only_its_share(
    redis_url: str, key_prefix: str, second: ValkeyServer
) -> None:
    shares = await rounds_on([redis_url, second.url], 3)
    everything = [at for share in shares.values() for at in share]
    alone, both = (RedisRoundBoards(urls, prefix=key_prefix) for urls in ([redis_url], [second.url, redis_url]))
    for at in everything:
        await alone.publish(at, MEANS, PAGE, 12)
    missing = set(everything) - set(await both.there(everything))
    assert missing == set(shares[second.url])
    for at in missing:
        await both.publish(at, MEANS, PAGE, 12)
    assert set(await both.there(everything)) == set(everything)
    await alone.close()
    await both.close()


@dataclass(frozen=True, slots=True)
class Node:
    port: int
    bus_port: int

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Sequence[Node]]:
    """Three servers in cluster mode that do not know each other yet."""
    made = [Node(free_port(), free_port()) for _ in range(3)]
    children: list[Child] = []
    for node in made:
        folder = tmp_path / str(node.port)
        folder.mkdir()
        options = {
            "port": node.port, "cluster-port": node.bus_port, "bind": "127.0.0.1", "cluster-enabled": "yes",
            "save": "", "dir": folder,
        }  # fmt: skip
        command = [str(valkey_server()), *(str(word) for key, value in options.items() for word in (f"--{key}", value))]
        children.append(spawn(Launch(command=command, log=folder / "log", folder=folder, death_signal=signal.SIGKILL)))
    yield made
    for child in children:
        end(child, [(signal.SIGKILL, 5.0)])


async def join(nodes: Sequence[Node]) -> None:
    """Make one cluster of them, each with as many of its slots as any other."""
    wires = [Wire(node.url) for node in nodes]
    share = 16_384 // len(nodes) + 1
    async with asyncio.timeout(30):
        for place, wire in enumerate(wires):
            while True:
                with suppress(OSError):
                    last = min((place + 1) * share, 16_384) - 1
                    await wire.call("CLUSTER", "ADDSLOTSRANGE", place * share, last)
                    break
                await asyncio.sleep(0.05)
        for node in nodes[1:]:
            await wires[0].call("CLUSTER", "MEET", "127.0.0.1", node.port, node.bus_port)
        for wire in wires:
            while True:
                told = await wire.call("CLUSTER", "INFO")
                if "cluster_state:ok" in told and f"cluster_known_nodes:{len(nodes)}" in told:
                    break
                await asyncio.sleep(0.05)
    for wire in wires:
        await wire.close()


@pytest.mark.slow
async def test_a_cluster_spreads_the_boards(nodes: Sequence[Node]) -> None:
    await join(nodes)
    boards = RedisRoundBoards([nodes[1].url])
    everything = [uuid4() for _ in range(60)]
    for at in everything:
        assert await boards.publish(at, MEANS, PAGE, 12)
        assert not await boards.publish(at, MEANS, PAGE, 11)
        assert (await boards.ranked(at))[0] == ("north 光", 0.75)
    assert len(await boards.there(everything)) == 60
    shares = [await keys_of(node.url, "*:board") for node in nodes]
    assert all(shares), "each node has some"
    assert sum(map(len, shares)) == 60
    for at in everything[:6]:
        changes = boards.changes(at)
        async with asyncio.timeout(10):
            await anext(changes)
            hearing = asyncio.create_task(anext(changes))
            await asyncio.sleep(0.05)
            await boards.publish(at, MEANS, PAGE, 13)
            await hearing
        await changes.aclose()
    await boards.close()
