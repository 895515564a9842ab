"""Somebody at the arena's door, with a cookie jar and a parser for server-sent events."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Self

import httpx

from agon.engines.scripted_text import check_text

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Seen:
    """One event."""

    name: str
    data: Json
    id: str | None


async def parse(lines: AsyncGenerator[str]) -> AsyncGenerator[Seen]:
    """The events of a stream of lines."""
    fields: dict[str, str] = {}
    async for line in lines:
        if line.startswith(":"):
            continue
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif "data" in fields:
            yield Seen(fields.get("event", ""), json.loads(fields["data"]), fields.get("id"))
            fields = {}


def assemble(events: list[Seen], texts: dict[str, str] | None = None) -> dict[str, str]:
    """The text of each side after these packets, as a client puts it together. Turns must not be mixed."""
    shown = dict(texts or {})
    for seen in events:
        if seen.name == "packet":
            before = shown.get(seen.data["side"], "")
            assert seen.data["offset"] <= len(before), "a hole in the text"
            shown[seen.data["side"]] = before[: seen.data["offset"]] + seen.data["text"]
    return shown


def names(events: list[Seen], name: str) -> list[Json]:
    return [seen.data for seen in events if seen.name == name]


def texts_of(conversation: Json, turn: int = -1) -> dict[str, str]:
    """What the ledger holds for a turn."""
    return {side: answer["text"] for side, answer in conversation["turns"][turn]["answers"].items()}


def assert_whole(conversation: Json) -> None:
    """Every answer of every turn is done, and no character of it is lost, doubled or foreign."""
    for turn in conversation["turns"]:
        for side, answer in turn["answers"].items():
            assert answer["state"] == "done", (side, answer)
            assert check_text(answer["text"]).complete


class Voter:
    """Use it as a context manager."""

    def __init__(self, url: str) -> None:
        # Nothing here speaks TLS, and reading the certificates takes longer than most tests.
        self.http = httpx.AsyncClient(verify=False, base_url=url, timeout=30)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.http.aclose()

    def at(self, url: str) -> "Voter":
        """The same person at another gateway."""
        elsewhere = Voter(url)
        elsewhere.http.cookies.jar = self.http.cookies.jar
        return elsewhere

    async def introduce(self) -> str:
        """Get the cookie that makes what follows one person's; returns it as a header."""
        await self.http.get("/arena/battles")
        return f"agon_voter={self.http.cookies['agon_voter']}"

    async def start(self, prompt: str = "Why is the sky blue?") -> Json:
        return expect(await self.http.post("/arena/battles", json={"prompt": prompt}), 201)

    async def compare(self, a: str, b: str, prompt: str = "Why?") -> Json:
        body = {"prompt": prompt, "models": {"a": a, "b": b}}
        return expect(await self.http.post("/arena/side-by-side", json=body), 201)

    async def find(self, battle: Json) -> Json:
        return expect(await self.http.get(f"/arena/battles/{battle['id']}"), 200)

    async def add_turn(self, battle: Json, prompt: str = "And then?") -> Json:
        return expect(await self.http.post(f"/arena/battles/{battle['id']}/turns", json={"prompt": prompt}), 201)

    async def vote(self, battle: Json, winner: str = "a", key: str | None = None) -> httpx.Response:
        headers = {} if key is None else {"Idempotency-Key": key}
        return await self.http.post(f"/arena/battles/{battle['id']}/vote", json={"winner": winner}, headers=headers)

    async def stream(self, battle: Json, after: str | None = None) -> AsyncGenerator[Seen]:
        headers = {} if after is None else {"Last-Event-ID": after}
        async with self.http.stream("GET", f"/arena/battles/{battle['id']}/events", headers=headers) as response:
            assert response.status_code == 200, await response.aread()
            async for seen in parse(lines_of(response)):
                yield seen

    async def watch(self, battle: Json, after: str | None = None) -> list[Seen]:
        """Everything until the stream ends."""
        async with asyncio.timeout(40):
            return [seen async for seen in self.stream(battle, after)]

    async def watch_until(self, battle: Json, packets: int) -> list[Seen]:
        """Leave after so many packets."""
        seen: list[Seen] = []
        async with asyncio.timeout(40), aclosing(self.stream(battle)) as events:
            async for event in events:
                seen.append(event)
                if len(names(seen, "packet")) == packets:
                    break
        return seen

    async def answered(self, prompt: str = "Why is the sky blue?") -> Json:
        """A battle that is ready for the vote."""
        battle = await self.start(prompt)
        await self.watch(battle)
        found = await self.find(battle)
        assert found["state"] == "ready", found
        return found

    async def settled(self, battle: Json) -> Json:
        """Wait without an event stream."""
        async with asyncio.timeout(40):
            while (found := await self.find(battle))["state"] == "streaming":  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        return found


async def lines_of(response: httpx.Response) -> AsyncGenerator[str]:
    async for line in response.aiter_lines():
        yield line


def expect(response: httpx.Response, status: int) -> Json:
    assert response.status_code == status, (response.status_code, response.text)
    return response.json()


def expect_error(response: httpx.Response, status: int, code: str, field: str | None = None) -> str:
    """Check an error's shape; returns its message."""
    assert response.status_code == status, (response.status_code, response.text)
    body = response.json()
    assert set(body) == {"error"}
    assert set(body["error"]) == {"code", "message", "field"}
    assert body["error"]["code"] == code, body
    assert field is None or body["error"]["field"] == field, body
    assert body["error"]["message"]
    return body["error"]["message"]
