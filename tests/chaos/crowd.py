"""A crowd that battles, chats and stops, and insists on what it was promised."""

import asyncio
import random
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from tests.chaos.completions import Completion, complete, draw
from tests.chaos.watcher import Door, Watch

PATIENCE_S = 90.0
"""An answer has 15 s, and everything after a kill is over long before; a person who waits longer hangs."""
_RETRY_S = 0.2


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that started something, and what came of it: asked again, it must give the same."""

    path: str
    body: Mapping[str, Any]
    headers: Mapping[str, str]
    """With its idempotency key."""
    conversation: str


@dataclass(slots=True)
class Person:
    """One of the crowd, with a cookie of their own on every gateway."""

    number: int
    http: aiohttp.ClientSession
    jar: aiohttp.CookieJar
    """One cookie holds for every port of this host."""
    asked: list[Asked] = field(default_factory=list[Asked])
    watches: list[Watch] = field(default_factory=list[Watch])
    chats: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    completions: list[Completion] = field(default_factory=list[Completion])
    stops: bool = False
    """Whether they stop what they have started."""


@dataclass(slots=True)
class Crowd:
    """What people saw in one wave."""

    door: Door
    people: list[Person] = field(default_factory=list[Person])

    async def wave(self, *, battles: int, chats: int, programs: int) -> None:
        """Everybody comes at about the same time, and goes when they have all they asked for."""
        async with asyncio.TaskGroup() as group:
            for work, many in ((self._battles, battles), (self._chats, chats), (self._completions, programs)):
                for number in range(many):
                    group.create_task(self._person(number, work))

    @property
    def _chance(self) -> random.Random:
        return self.door.chance

    @property
    def watches(self) -> list[Watch]:
        return [watch for person in self.people for watch in person.watches]

    async def _person(self, number: int, work: Callable[[Person], Coroutine[None, None, None]]) -> None:
        await asyncio.sleep(self._chance.random() * 0.5)
        jar = aiohttp.CookieJar(unsafe=True)
        timeout = aiohttp.ClientTimeout(total=30, sock_connect=3)
        async with aiohttp.ClientSession(cookie_jar=jar, timeout=timeout) as http:
            person = Person(number, http, jar)
            self.people.append(person)
            try:
                async with asyncio.timeout(PATIENCE_S):
                    await self._enter(person)
                    await work(person)
            except TimeoutError:
                seen = [(watch.conversation, watch.last_id, watch.connections) for watch in person.watches]
                raise AssertionError(f"person {number} waits in vain: {seen}, {self.door.troubles}") from None

    async def _enter(self, person: Person) -> None:
        """Become somebody first: a key is worth nothing to a person whom the next gateway does not know."""
        while not len(person.jar):
            try:
                async with person.http.get(self.door.any() + "/arena/battles") as response:
                    await response.read()
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                self.door.troubles[f"entering: {type(error).__name__}"] += 1
                await asyncio.sleep(_RETRY_S)

    async def _battles(self, person: Person) -> None:
        """A battle; some ask once more, some stop it, some watch it twice."""
        conversation = await self._start(person, "/arena/battles", {"prompt": f"Question {self._chance.random()}"})
        watch, second = Watch(conversation, ("a", "b")), Watch(conversation, ("a", "b"))
        person.watches.append(watch)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow(person, watch, 1))
            person.stops = person.number % 7 == 3
            if person.stops:
                group.create_task(self._stop_later(person, watch))
            if person.number % 4 == 2:
                person.watches.append(second)
                group.create_task(self._follow(person, second, 1))
        if person.number % 5 == 1 and all(seen.whole for seen in watch.seen.values()):
            await self._ask_again(person, watch)

    async def _ask_again(self, person: Person, watch: Watch) -> None:
        path = f"/arena/battles/{watch.conversation}/turns"
        await self._start(person, path, {"prompt": f"And then? {self._chance.random()}"})
        await self._follow(person, watch, 2)

    async def _stop_later(self, person: Person, watch: Watch) -> None:
        await asyncio.sleep(self._chance.random() * 3)
        await self._insist(person, f"/arena/battles/{watch.conversation}/stop", {}, {}, {200})

    async def _chats(self, person: Person) -> None:
        """Every other person waits for the answer; the others come for it later."""
        body = {"prompt": f"Question {self._chance.random()}", "max_tokens": 24 + person.number % 40}
        if person.number % 2:
            headers = {"Idempotency-Key": self._key()}
            answer = await self._insist(person, "/chat", body, headers, {200, 503})
            if "text" in answer:
                person.chats.append(answer)
                person.asked.append(Asked("/chat", body, headers, answer["session_id"]))
            return
        conversation = await self._start(person, "/chat", body, prefer="respond-async")
        watch = Watch(conversation, ("a",))
        person.watches.append(watch)
        await self._follow(person, watch, 1)

    async def _completions(self, person: Person) -> None:
        for _ in range(2):
            person.completions.append(draw(self._chance))
            await complete(person.http, self.door, person.completions[-1])

    async def _follow(self, person: Person, watch: Watch, turn: int) -> None:
        await self.door.follow(person.http, watch, turn)

    async def _start(self, person: Person, path: str, body: dict[str, Any], prefer: str = "") -> str:
        headers = {"Idempotency-Key": self._key()} | ({"Prefer": prefer} if prefer else {})
        answer = await self._insist(person, path, body, headers, {201, 202})
        person.asked.append(Asked(path, body, headers, answer["id"]))
        return answer["id"]

    async def _insist(
        self, person: Person, path: str, body: dict[str, Any], headers: dict[str, str], wanted: set[int]
    ) -> dict[str, Any]:
        """Try, on any gateway, with one key, until it is accepted."""
        while True:
            status, answer = await self.post(person, self.door.any(), path, body, headers)
            if status in wanted and not (status == 503 and answer["error"]["code"] != "answer_failed"):
                return answer
            await asyncio.sleep(_RETRY_S)

    async def post(
        self, person: Person, url: str, path: str, body: Mapping[str, Any], headers: Mapping[str, str]
    ) -> tuple[int, dict[str, Any]]:
        """Status and body; status 0 when the connection broke."""
        try:
            async with person.http.post(url + path, json=body, headers=headers) as response:
                answer = await response.json()
                assert response.status in {200, 201, 202, 429, 503}, f"{path}: {response.status} {answer}"
                if response.status in {429, 503}:
                    self.door.troubles[answer["error"]["code"]] += 1
                return response.status, answer
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            self.door.troubles[f"asking: {type(error).__name__}"] += 1
            return 0, {}

    def _key(self) -> str:
        return f"key-{self._chance.getrandbits(64):016x}"
