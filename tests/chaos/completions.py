"""Programs that use the OpenAI-compatible API while the storm goes on."""

import asyncio
import json
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from tests.chaos.cluster import ANSWER_TOKENS, LENGTHS, PLAYERS
from tests.chaos.watcher import Door

from agon.core.generation import Message
from agon.engines.scripted_text import check_text, full_text, heavy_tail, text_key, token

_REFUSED = frozenset({429, 502, 503, 504})
_RETRY_S = 0.3
_SILENCE_S = 20.0


@dataclass(slots=True)
class Completion:
    """One request, and the answer that it was given in the end."""

    model: str
    prompt: str
    seed: int
    stream: bool
    max_tokens: int
    text: str = ""
    finish_reason: str | None = None
    torn: list[str] = field(default_factory=list[str])
    """What came of it before a stream broke: a program has to ask again."""

    @property
    def body(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "messages": [{"role": "user", "content": self.prompt}],
            "seed": self.seed,
            "stream": self.stream,
            "max_tokens": self.max_tokens,
        }

    def check(self) -> None:
        """What it was given is the answer to this very request, whole; what broke off is the start of it."""
        key = text_key(self.model, [Message("user", self.prompt)], self.seed)
        length = heavy_tail(key, low=LENGTHS.low, high=LENGTHS.high, alpha=LENGTHS.alpha)
        if length <= self.max_tokens:
            wanted = full_text(key, length), "stop"
        else:
            wanted = "".join(token(key, number) for number in range(self.max_tokens)), "length"
        assert (self.text, self.finish_reason) == wanted, self
        for torn in self.torn:
            assert not torn or check_text(torn).key == key, self


def draw(chance: random.Random) -> Completion:
    return Completion(
        model=chance.choice(PLAYERS).name,
        prompt=f"Question {chance.random()}",
        seed=chance.getrandbits(30),
        stream=chance.random() < 0.7,
        max_tokens=chance.choice((24, ANSWER_TOKENS)),
    )


async def complete(http: aiohttp.ClientSession, door: Door, completion: Completion) -> None:
    """Ask until there is a whole answer."""
    while completion.finish_reason is None:
        completion.text = ""
        try:
            await _ask(http, door, completion)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            door.troubles[f"completing: {type(error).__name__}"] += 1
        if completion.finish_reason is None:
            completion.torn.append(completion.text)
            await asyncio.sleep(_RETRY_S)


async def _ask(http: aiohttp.ClientSession, door: Door, completion: Completion) -> None:
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=3, sock_read=_SILENCE_S)
    async with http.post(f"{door.any()}/v1/chat/completions", json=completion.body, timeout=timeout) as response:
        if response.status in _REFUSED:
            error = (await response.json())["error"]
            door.troubles[f"completing: {response.status} {error['code']}"] += 1
            return
        assert response.status == 200, f"{response.status}: {await response.text()}"
        if completion.stream:
            await _read(response, door, completion)
            return
        choice = (await response.json())["choices"][0]
        completion.text, completion.finish_reason = choice["message"]["content"], choice["finish_reason"]


async def _read(response: aiohttp.ClientResponse, door: Door, completion: Completion) -> None:
    finish_reason = None
    async for data in _events(response):
        if data == "[DONE]":
            completion.finish_reason = finish_reason
            return
        chunk = json.loads(data)
        if "error" in chunk:
            door.troubles[f"completing: {chunk['error']['code']}"] += 1
            return
        for choice in chunk["choices"]:
            completion.text += choice["delta"].get("content") or ""
            finish_reason = choice["finish_reason"] or finish_reason


async def _events(response: aiohttp.ClientResponse) -> AsyncIterator[str]:
    rest = b""
    while chunk := await response.content.readany():
        *frames, rest = (rest + chunk).split(b"\n\n")
        for frame in frames:
            if frame.startswith(b"data: "):
                yield frame.decode().removeprefix("data: ")
