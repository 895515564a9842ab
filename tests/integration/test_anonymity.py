"""Before the vote nothing that a voter can get tells who answers: every byte is looked at."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from urllib.parse import quote

import pytest
from tests.integration.stage import ENGINE_KEY, KEY_ENV, NAMES, Stage
from tests.integration.voter import Json, Voter, expect
from websockets.asyncio.client import connect

pytestmark = pytest.mark.asyncio(loop_scope="session")

ENGINES_WORDS = ("The script asks for", "aiohttp", "EngineError", "engine_error", "engine_truncated", "Traceback")


class Tap:
    """Passes a voter's connections on to the arena and keeps every byte that comes back."""

    def __init__(self, stage: Stage) -> None:
        self._port = int(stage.url.rpartition(":")[2])
        self.heard = bytearray()
        self.url = ""

    @asynccontextmanager
    async def open(self) -> AsyncGenerator["Tap"]:
        async with await asyncio.start_server(self._pass_on, "127.0.0.1", 0) as server:
            self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            yield self

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inward, outward = await asyncio.open_connection("127.0.0.1", self._port)
        asking = asyncio.create_task(self._pump(reader, outward, keep=False))
        await self._pump(inward, writer, keep=True)
        asking.cancel()
        for side in (writer, outward):
            side.close()
            with suppress(ConnectionError):
                await side.wait_closed()

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, keep: bool) -> None:
        with suppress(ConnectionError):
            while data := await source.read(65536):
                if keep:
                    self.heard += data
                sink.write(data)
                await sink.drain()
            if sink.can_write_eof():
                sink.write_eof()


def secrets(stage: Stage) -> list[str]:
    """What would tell, in every spelling that could be on the wire."""
    plain = [*NAMES, *NAMES.values(), stage.engine.url, stage.engine.url.removeprefix("http://"), KEY_ENV, ENGINE_KEY]
    plain += [word for name in NAMES for word in name.split() if len(word) > 3]
    return [*plain, *(quote(word) for word in plain), *(json.dumps(word)[1:-1] for word in plain)]


def assert_silent(stage: Stage, heard: bytes | bytearray) -> None:
    text = heard.decode(errors="replace").lower()
    for secret in [*secrets(stage), *ENGINES_WORDS]:
        assert secret.lower() not in text, secret


async def pry(voter: Voter, battle: Json) -> None:
    """Everything one may try with a battle of one's own before the vote."""
    where = f"/arena/battles/{battle['id']}"
    for after in (None, "1", "1-a1.3-b1.3", "1-a9.9.s", "bad id"):
        headers = {} if after is None else {"Last-Event-ID": after}
        await voter.http.get(f"{where}/events", headers=headers)
    await voter.find(battle)
    await voter.http.get("/arena/battles")
    for method, path, body in (
        ("POST", f"{where}/vote", {"winner": "x"}),
        ("POST", f"{where}/turns/1/regenerate", {"side": "a"}),
        ("POST", f"{where}/turns/9/regenerate", {"side": "b"}),
        ("POST", f"{where}/turns", {"prompt": ""}),
        ("POST", f"{where}/stop", None),
        ("POST", "/chat", {"prompt": "Who are you?", "session_id": battle["id"]}),
        ("PATCH", where, None),
        ("GET", f"{where}/nothing", None),
        ("GET", f"/arena/votes/{battle['id']}", None),
    ):
        await voter.http.request(method, path, json=body)


async def test_nothing_tells_before_the_vote(stage: Stage) -> None:
    async with Tap(stage).open() as tap, Voter(tap.url) as voter:
        battle = await voter.start()
        await pry(voter, battle)
        battle = await voter.answered()
        await voter.add_turn(battle)
        await voter.watch(battle)
        await pry(voter, battle)
        for path in ("/healthz", "/readyz", "/metrics", "/arena/status", "/", "/openapi.json"):
            await voter.http.get(path)
        await voter.http.get("/admin/contestants")
        cookie = f"agon_voter={voter.http.cookies['agon_voter']}"
        async with connect(tap.url.replace("http", "ws") + "/chat", additional_headers={"Cookie": cookie}) as socket:
            await socket.send(json.dumps({"prompt": "Who?", "session_id": battle["id"]}))
            assert json.loads(await socket.recv())["event"] == "error"
        assert len(tap.heard) > 10_000, "the tap must have heard something"
        assert_silent(stage, tap.heard)
        expect(await voter.vote(battle), 200)
        with pytest.raises(AssertionError):
            assert_silent(stage, tap.heard)


@pytest.mark.parametrize("kind", ["http_500", "error_event", "disconnect"])
async def test_a_failing_engine_tells_nothing(stage: Stage, kind: str) -> None:
    broken, _ = NAMES
    stage.script(broken, fail={"kind": kind, "at_token": 4})
    async with Tap(stage).open() as tap, Voter(tap.url) as voter:
        battle = await voter.start()
        await voter.watch(battle)
        assert (await voter.find(battle))["state"] == "void"
        await pry(voter, battle)
        await voter.http.get("/metrics")
        await voter.http.get("/arena/status")
        assert_silent(stage, tap.heard)


async def test_an_engine_that_is_down_tells_nothing(stage: Stage) -> None:
    """Its key is refused and its address is wrong; what one may name in a chat is named, and nothing more of it."""
    async with stage.admin() as admin:
        body = {"name": "Amber Lynx", "url": "http://127.0.0.1:9/v1", "model": "hidden-model", "key_env": "HIDDEN_KEY"}
        expect(await admin.post("/admin/contestants", json=body), 201)
        try:
            async with asyncio.timeout(20):
                while (await stage.contestants())["Amber Lynx"]["engine"] != "failed":  # noqa: ASYNC110
                    await asyncio.sleep(0.1)
            async with Tap(stage).open() as tap, Voter(tap.url) as voter:
                for path in ("/arena/models", "/arena/status", "/arena/boards/main", "/readyz", "/metrics"):
                    await voter.http.get(path)
                await voter.http.post("/chat", json={"prompt": "Hello?", "model": "Amber Lynx"})
                await voter.answered()
                heard = tap.heard.decode(errors="replace").lower()
            for secret in ("127.0.0.1:9", "hidden-model", "hidden_key", "cannot be reached", *NAMES.values(), KEY_ENV):
                assert secret.lower() not in heard, secret
        finally:
            await admin.delete("/admin/contestants/Amber Lynx")
