"""What must be true once a wave is over, whatever happened to the processes meanwhile."""

import asyncio
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import asyncpg
import redis.asyncio
from tests.chaos.cluster import LENGTHS, PREFIX, Cluster, until
from tests.chaos.crowd import Asked, Crowd, Person
from tests.chaos.watcher import Door, Watch

from agon.core.generation import Message
from agon.engines.scripted_text import check_text, full_text, heavy_tail, text_key, token
from agon.stores.redis.dispatch import RedisDispatch

_TURNS = (
    "select a.conversation::text, a.turn, a.side, a.contestant, a.state, a.text, a.finish_reason, a.error, a.attempt, "
    "t.prompt, t.seed, t.max_tokens, c.kind, c.void_reason "
    "from answers a join turns t using (conversation, turn) join conversations c on c.id = a.conversation "
    "where c.created_at >= $1 order by a.conversation, a.side, a.turn"
)
SETTLE_S = 30.0
REPEATS_S = 60.0
_ENDS = {"done": {"done"}, "stopped": {"done"}, "failed": {"failed"}, "forfeited": {"forfeited"}}
"""How a watcher is told of each end."""


@dataclass(slots=True)
class Ledger:
    """The answers of one wave."""

    rows: dict[tuple[str, int, str], asyncpg.Record] = field(default_factory=dict[tuple[str, int, str], asyncpg.Record])

    @property
    def ends(self) -> Counter[str]:
        return Counter(row["state"] for row in self.rows.values())

    @property
    def errors(self) -> Counter[str]:
        return Counter(f"{row['contestant']}: {row['error']}" for row in self.rows.values() if row["error"])


async def settled(cluster: Cluster) -> None:
    """Nothing is pending, no engine writes, nothing is counted."""
    await until(lambda: _nothing_pending(cluster), "no answer is pending", SETTLE_S)
    await until(lambda: _engines_idle(cluster), "the engines are idle", SETTLE_S)
    await until(lambda: _streams_closed(cluster), "the gateways have no stream open", SETTLE_S)
    try:
        await until(lambda: _nothing_left(cluster), "nothing is left in Valkey", SETTLE_S)
    except AssertionError as error:
        raise AssertionError(f"{error}: {(await leftovers(cluster))[:20]}") from None


async def _nothing_pending(cluster: Cluster) -> bool:
    return not await cluster.rows("select 1 from answers where state = 'pending' limit 1")


async def _engines_idle(cluster: Cluster) -> bool:
    return await cluster.active() == 0


async def _streams_closed(cluster: Cluster) -> bool:
    try:
        return all([await _open_streams(url) == 0 for url in cluster.gateway_urls])
    except aiohttp.ClientError:
        return False  # It was killed, and is still starting.


async def _open_streams(url: str) -> float:
    async with aiohttp.ClientSession() as http, http.get(f"{url}/metrics") as response:
        found = re.search(r"^arena_streams_open (\S+)$", await response.text(), re.MULTILINE)
    assert found is not None
    return float(found[1])


async def _nothing_left(cluster: Cluster) -> bool:
    return not await leftovers(cluster)


async def leftovers(cluster: Cluster) -> list[str]:
    """What Valkey still counts or keeps of turns, in words."""
    dispatch = RedisDispatch(cluster.valkey.url, prefix=PREFIX, executor="onlooker")
    try:
        replicas = await dispatch.replicas()
    finally:
        await dispatch.close()
    counted = [
        f"{replica.id}: {replica.turns} turns, {replica.outstanding_tokens} tokens, {replica.active} active"
        for replica in replicas
        if replica.turns or replica.outstanding_tokens or replica.active
    ]
    return counted + await _turn_keys(cluster)


async def _turn_keys(cluster: Cluster) -> list[str]:
    client: Any = redis.asyncio.Redis.from_url(cluster.valkey.url, decode_responses=True)  # pyright: ignore[reportUnknownMemberType]
    left: list[str] = []
    try:
        for kind in ("turn", "holds", "claim"):
            left += [key async for key in client.scan_iter(match=f"{PREFIX}:{kind}:*", count=1000)]
        async for key in client.scan_iter(match=f"{PREFIX}:inbox:*", count=1000):
            left += [key] * await client.xlen(key)
        async for key in client.scan_iter(match=f"{PREFIX}:replica:*", count=1000):
            # Totals of each executor, also of replicas that nobody serves any more.
            fields = await client.hgetall(key)
            left += [
                f"{key} {name}={value}" for name, value in fields.items() if name[:2] in {"n:", "t:"} if value != "0"
            ]
    finally:
        await client.aclose()
    return left


async def read_ledger(cluster: Cluster, since: Any) -> Ledger:
    rows = await cluster.rows(_TURNS, since)
    return Ledger({(row["conversation"], row["turn"], row["side"]): row for row in rows})


def check_ledger(ledger: Ledger) -> None:
    """Every turn has ended, and what it says is the answer to its very request, whole or cut where it was stopped."""
    dialogues: defaultdict[tuple[str, str], list[Message]] = defaultdict(list)
    for place, row in ledger.rows.items():
        dialogue = dialogues[row["conversation"], row["side"]]
        dialogue.append(Message("user", row["prompt"]))
        try:
            _check_answer(row, text_key(row["contestant"], dialogue, row["seed"]))
        except (AssertionError, ValueError) as error:
            raise AssertionError(f"{place}, {row['state']}, attempt {row['attempt']}: {error}") from None
        dialogue.append(Message("assistant", row["text"] or ""))


def check_forfeits(ledger: Ledger) -> None:
    """Only battles are lost so; where both sides were late, the battle is void."""
    late = Counter(conversation for (conversation, _, _), row in ledger.rows.items() if row["state"] == "forfeited")
    for (conversation, _, _), row in ledger.rows.items():
        if late[conversation]:
            assert row["kind"] == "battle", conversation
            assert late[conversation] == 1 or row["void_reason"], conversation


def _check_answer(row: asyncpg.Record, key: str) -> None:
    text = row["text"] or ""
    match row["state"]:
        case "done":
            _check_whole(text, key, row)
        case "failed" | "stopped" | "forfeited":
            # A side that failed makes its battle void; chats have nothing to be void.
            assert row["state"] != "failed" or row["kind"] != "battle" or row["void_reason"]
            assert not text or check_text(text).key == key, "text of another request"
        case state:
            raise AssertionError(f"it is {state}")


def _check_whole(text: str, key: str, row: asyncpg.Record) -> None:
    length = heavy_tail(key, low=LENGTHS.low, high=LENGTHS.high, alpha=LENGTHS.alpha)
    limit = row["max_tokens"]
    wanted = full_text(key, length) if length <= limit else "".join(token(key, number) for number in range(limit))
    if text != wanted:
        found = check_text(text)
        assert found.key == key, "text of another request"
        raise AssertionError(f"{found.tokens} of {length} tokens, with a limit of {limit}")
    assert row["finish_reason"] == ("stop" if length <= limit else "length")


def check_watches(ledger: Ledger, watches: Iterable[Watch]) -> None:
    """What each watcher put together is what the ledger holds, and it ended as the ledger says."""
    for watch in watches:
        for (turn, side), seen in watch.seen.items():
            row = ledger.rows[watch.conversation, turn, side]
            where = f"{watch.conversation} {turn}{side} ({row['state']}, attempt {row['attempt']})"
            assert seen.text == (row["text"] or ""), f"{where}: {seen.text!r} is not {row['text']!r}"
            assert seen.end in _ENDS[row["state"]], f"{where}: told {seen.end}"
            assert not seen.changes, f"{where}: shown text has changed"
        assert (watch.void is not None) <= any(
            row["void_reason"] is not None for place, row in ledger.rows.items() if place[0] == watch.conversation
        )


async def check_repeats(crowd: Crowd) -> None:
    """The same key finds the same conversation on every gateway, with the same bytes, and without a new turn."""
    async with asyncio.timeout(REPEATS_S):
        await asyncio.gather(*(_check_person(crowd, person) for person in crowd.people))


async def _check_person(crowd: Crowd, person: Person) -> None:
    timeout = aiohttp.ClientTimeout(total=30)
    async with aiohttp.ClientSession(cookie_jar=person.jar, timeout=timeout) as http:
        again = Person(person.number, http, person.jar)
        for asked in person.asked:
            bodies = [await _repeat(crowd, again, url, asked) for url in crowd.door.urls]
            assert all(body == bodies[0] for body in bodies), f"{asked}: the gateways differ: {bodies}"
        for watch in person.watches[:1]:
            await _check_watched_again(crowd.door, http, watch)


async def _repeat(crowd: Crowd, person: Person, url: str, asked: Asked) -> Any:
    """Ask the same again; returns what must not depend on the gateway."""
    while True:
        status, body = await crowd.post(person, url, asked.path, asked.body, asked.headers)
        if status in {200, 201, 202}:
            break
        await asyncio.sleep(0.1)
    assert body.get("id", body.get("session_id")) == asked.conversation, f"{asked} gave {body}"
    where = f"/arena/battles/{asked.conversation}"
    async with person.http.get(url + where) as response:
        return body, await response.read()


async def _check_watched_again(door: Door, http: aiohttp.ClientSession, watch: Watch) -> None:
    """Whoever comes late sees the same text, on every gateway."""
    last = max(turn for turn, _ in watch.seen)
    for url in door.urls:
        late = Watch(watch.conversation, watch.sides)
        await Door([url], door.chance, door.troubles).follow(http, late, last)
        shown = {place: seen.text for place, seen in late.seen.items()}
        assert shown == {place: seen.text for place, seen in watch.seen.items()}, watch.conversation


def check_chats(ledger: Ledger, people: Sequence[Person]) -> None:
    """What those who waited were given is what the ledger holds."""
    for answer in (answer for person in people for answer in person.chats):
        row = ledger.rows[answer["session_id"], answer["turn"], "a"]
        assert (answer["text"], answer["finish_reason"]) == (row["text"], row["finish_reason"] or "stopped")


def check_promises(ledger: Ledger, crowd: Crowd) -> None:
    """Whatever was promised is in the ledger, and was stopped only by whom it belongs to."""
    promised = {asked.conversation for person in crowd.people for asked in person.asked}
    kept = {conversation for conversation, _, _ in ledger.rows}
    assert promised <= kept, f"{len(promised - kept)} conversations are lost"
    stopped = {conversation for (conversation, _, _), row in ledger.rows.items() if row["state"] == "stopped"}
    theirs = {asked.conversation for person in crowd.people if person.stops for asked in person.asked}
    assert stopped <= theirs, f"{stopped - theirs} were stopped by nobody"
