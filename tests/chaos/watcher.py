"""Somebody who watches a conversation, on whichever gateway is there, and puts together what is sent."""

import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp

Place = tuple[int, str]
"""A turn and a side."""

_STREAM_IDLE_S = 6.0
"""Comments come every second or so: a stream that is silent for longer hangs on a dead or frozen gateway."""
_PAUSE_S = 0.1


@dataclass(slots=True)
class Seen:
    """One side of one turn, as one watcher saw it."""

    text: str = ""
    end: str | None = None
    finish_reason: str | None = None
    rewinds: int = 0
    """Times that what was shown was taken back and shown again."""
    changes: int = 0
    """Times that what was shown turned out to be other text: these engines are deterministic, so never."""
    times: list[float] = field(default_factory=list[float])
    """When its events came, by the monotonic clock."""

    @property
    def whole(self) -> bool:
        return self.end == "done" and self.finish_reason != "stopped"

    def take(self, name: str, data: dict[str, Any], now: float) -> None:
        assert self.end is None or name == "packet", f"two ends: {self.end}, {name}"
        self.times.append(now)
        if name != "packet":
            self.end, self.finish_reason = name, data.get("finish_reason")
            return
        offset, text = data["offset"], data["text"]
        assert offset <= len(self.text), f"a hole: {len(self.text)} characters, and then one at {offset}"
        if offset < len(self.text):
            self.rewinds += 1
            again = self.text[offset:]
            self.changes += bool(text) and not (again.startswith(text) or text.startswith(again))
        self.text = self.text[:offset] + text


@dataclass(slots=True)
class Watch:
    """What one watcher saw of a conversation."""

    conversation: str
    sides: tuple[str, ...]
    seen: dict[Place, Seen] = field(default_factory=dict[Place, Seen])
    void: str | None = None
    last_id: str | None = None
    connections: int = 0

    def side(self, place: Place) -> Seen:
        return self.seen.setdefault(place, Seen())

    def ended(self, turn: int) -> bool:
        return all(self.side((turn, side)).end is not None for side in self.sides)

    def take(self, name: str, data: dict[str, Any], event_id: str | None, now: float) -> None:
        if event_id is not None:
            self.last_id = event_id
        if name == "void":
            self.void = data["reason"]
        else:
            self.side((data["turn"], data["side"])).take(name, data, now)


@dataclass(slots=True)
class Door:
    """The gateways, any of which will do."""

    urls: Sequence[str]
    chance: random.Random
    troubles: Counter[str] = field(default_factory=Counter[str])
    """Refusals and broken connections; they are allowed, and tried again."""

    def any(self) -> str:
        return self.chance.choice(self.urls)

    async def follow(self, http: aiohttp.ClientSession, watch: Watch, turn: int) -> None:
        """Watch until the turn has ended, going on elsewhere whenever a stream breaks."""
        while not watch.ended(turn):
            watch.connections += 1
            try:
                await _stream(http, f"{self.any()}/arena/battles/{watch.conversation}/events", watch, turn)
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                self.troubles[f"watching: {type(error).__name__}"] += 1
            if not watch.ended(turn):
                await asyncio.sleep(_PAUSE_S)


async def _stream(http: aiohttp.ClientSession, url: str, watch: Watch, turn: int) -> None:
    headers = {} if watch.last_id is None else {"Last-Event-ID": watch.last_id}
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=3, sock_read=_STREAM_IDLE_S)
    async with http.get(url, headers=headers, timeout=timeout) as response:
        if response.status in {429, 503}:
            return
        assert response.status == 200, f"{response.status}: {await response.text()}"
        rest = b""
        while chunk := await response.content.readany():
            *frames, rest = (rest + chunk).split(b"\n\n")
            now = time.monotonic()
            for frame in frames:
                if not frame.startswith(b":"):
                    watch.take(*parse(frame), now)
            if watch.ended(turn):
                return


def parse(frame: bytes) -> tuple[str, dict[str, Any], str | None]:
    """One event: its name, its data, its id."""
    fields = dict(line.split(": ", 1) for line in frame.decode().split("\n"))
    return fields["event"], json.loads(fields["data"]), fields.get("id")
