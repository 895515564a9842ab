"""The client that many tasks share: each gets its own reply, whatever the others and the server do."""

import asyncio
import random
import shutil
import signal
import socket
import ssl
import subprocess
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import hiredis
import pytest

from agon.embedded.binaries import valkey_server
from agon.embedded.valkey import ValkeyServer
from agon.stores.redis.wire import BrokenError, RefusedError, Wire

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture
async def wire(redis_url: str) -> AsyncIterator[Wire]:
    wire = Wire(redis_url)
    yield wire
    await wire.close()


@asynccontextmanager
async def served(answer: Answer, secure: ssl.SSLContext | None = None) -> AsyncGenerator[int]:
    """A server of the test's own; yields its port."""
    open_ones: set[asyncio.StreamWriter] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        open_ones.add(writer)
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            await answer(reader, writer)
        writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=secure)
    yield server.sockets[0].getsockname()[1]
    server.close()
    for writer in open_ones:
        writer.transport.abort()
    await server.wait_closed()


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers as Redis' ECHO does, one read at a time, with the number of commands in that read behind it."""
    commands = hiredis.Reader(encoding="utf-8")
    while data := await reader.read(1 << 20):
        commands.feed(data)
        asked: list[list[str]] = []
        while (command := commands.gets()) is not False:
            asked.append(command)
        for _, word in asked:
            reply = f"{word} {len(asked)}"
            writer.write(f"${len(reply)}\r\n{reply}\r\n".encode())


async def test_each_of_many_gets_its_own_reply(wire: Wire) -> None:
    words = [f"{number} 光 \r\n" * (number % 7) for number in range(2000)]
    assert await asyncio.gather(*(wire.call("ECHO", word) for word in words)) == words


async def test_every_kind_of_word_and_reply(wire: Wire, key_prefix: str) -> None:
    key = f"{key_prefix}:kinds"
    assert await wire.call("RPUSH", key, "a", b"b", 3, 0.25) == 4
    assert await wire.call("LRANGE", key, 0, -1) == ["a", "b", "3", "0.25"]
    assert await wire.call("GET", f"{key}:none") is None
    assert await wire.call("SET", f"{key}:bytes", b"\xff") == "OK"
    assert await wire.call("GET", f"{key}:bytes") == "\N{REPLACEMENT CHARACTER}"
    assert await wire.several(("LLEN", key), ("LPOP", key), ("LLEN", key)) == [4, "a", 3]
    assert await wire.several() == []


async def test_half_a_character_is_no_reason_to_fail(wire: Wire) -> None:
    assert await wire.several(("ECHO", "a\ud800光"), ("ECHO", b"\x00")) == ["a?光", "\x00"]


async def test_all_commands_of_a_tick_leave_at_once() -> None:
    async with served(echo) as port:
        wire = Wire(f"redis://127.0.0.1:{port}")
        assert await wire.call("ECHO", "x") == "x 1"
        replies = await asyncio.gather(*(wire.call("ECHO", str(number)) for number in range(100)))
        assert replies == [f"{number} 100" for number in range(100)]
        await wire.close()


async def test_an_error_reaches_only_who_asked(wire: Wire, key_prefix: str) -> None:
    key = f"{key_prefix}:text"
    await wire.call("SET", key, "text")
    calls = [wire.call(*("LLEN", key) if number % 2 else ("ECHO", str(number))) for number in range(100)]
    for number, reply in enumerate(await asyncio.gather(*calls, return_exceptions=True)):
        if number % 2:
            assert isinstance(reply, RefusedError)
            assert reply.code == "WRONGTYPE"
        else:
            assert reply == str(number)
    with pytest.raises(RefusedError):
        await wire.several(("LLEN", key), ("LLEN", key), ("ECHO", "fine"))
    assert await wire.call("ECHO", "still here") == "still here"


async def test_one_who_gives_up_takes_no_reply_from_another(wire: Wire) -> None:
    chance = random.Random(5)

    async def ask(number: int) -> None:
        for step in range(20):
            word = f"{number}.{step}"
            task = asyncio.create_task(wire.call("ECHO", word))
            if chance.random() < 0.5:
                for _ in range(chance.randrange(4)):
                    await asyncio.sleep(0)
                task.cancel()
            with suppress(asyncio.CancelledError):
                assert await task == word

    identity = await wire.call("CLIENT", "ID")
    await asyncio.gather(*(ask(number) for number in range(300)))
    assert await wire.call("CLIENT", "ID") == identity, "the connection is the same"


async def test_a_command_whose_caller_has_gone_is_carried_out(wire: Wire, key_prefix: str) -> None:
    key = f"{key_prefix}:count"
    await wire.call("SET", key, 0)
    task = asyncio.create_task(wire.call("INCR", key))
    await asyncio.sleep(0)
    task.cancel()
    wire.post("INCR", key)
    wire.post("LPUSH", key, "refused, which nobody hears")
    assert await wire.call("GET", key) == "2"


async def test_cancelling_the_first_caller_does_not_fail_those_who_wait_for_the_same_connection(redis_url: str) -> None:
    wire = Wire(redis_url)
    calls = [asyncio.create_task(wire.call("ECHO", str(number))) for number in range(10)]
    await asyncio.sleep(0)
    calls[0].cancel()
    assert await asyncio.gather(*calls[1:]) == [str(number) for number in range(1, 10)]
    await wire.close()


async def test_a_server_that_was_killed_and_comes_back(tmp_path: Path) -> None:
    server = ValkeyServer(tmp_path)
    wire = Wire(server.start())
    stop = asyncio.Event()
    outcomes = {"answered": 0, "broken": 0}

    async def ask(number: int) -> None:
        step = 0
        while not stop.is_set():
            step += 1
            try:
                assert await wire.call("ECHO", f"{number}.{step}") == f"{number}.{step}"
                outcomes["answered"] += 1
            except (OSError, RefusedError):
                outcomes["broken"] += 1
                await asyncio.sleep(0.01)

    async with asyncio.timeout(30):
        tasks = [asyncio.create_task(ask(number)) for number in range(50)]
        await asyncio.sleep(0.1)
        assert server.child is not None
        server.child.send_signal(signal.SIGKILL)
        await asyncio.to_thread(server.child.wait)
        before = outcomes["answered"]
        assert before > 100
        await asyncio.sleep(0.05)
        assert outcomes["broken"] >= 50
        await asyncio.to_thread(server.start)
        assert await wire.call("ECHO", "back") == "back"
        await asyncio.sleep(0.1)
        assert outcomes["answered"] > before + 100
        stop.set()
        await asyncio.gather(*tasks)
    await wire.close()
    server.stop()


async def test_a_server_that_falls_silent_is_given_up_in_time(tmp_path: Path) -> None:
    server = ValkeyServer(tmp_path)
    wire = Wire(server.start(), timeout_s=0.3)
    await wire.call("PING")
    await asyncio.sleep(0.4)
    assert server.child is not None
    server.child.send_signal(signal.SIGSTOP)
    try:
        begun = asyncio.get_running_loop().time()
        replies = await asyncio.gather(*(wire.call("PING") for _ in range(5)), return_exceptions=True)
        assert all(isinstance(reply, BrokenError) for reply in replies)
        assert 0.25 < asyncio.get_running_loop().time() - begun < 2.0
    finally:
        server.child.send_signal(signal.SIGCONT)
    assert await wire.call("ECHO", "back") == "back"
    await wire.close()
    server.stop()


async def test_a_server_that_is_slow_but_answers_is_not_given_up(wire: Wire, redis_url: str) -> None:
    del wire
    patient = Wire(redis_url, timeout_s=0.6)
    await asyncio.gather(*(patient.call("BLPOP", "nothing:there", 0.3) for _ in range(3)))
    assert await patient.call("ECHO", "same") == "same"
    await patient.close()


@pytest.mark.parametrize("garbage", [b"HTTP/1.1 200 OK\r\n\r\n", b"+OK\r\n+OK\r\n+OK\r\n"])
async def test_what_is_no_reply_of_ours_ends_the_connection(garbage: bytes) -> None:
    connections = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        if connections > 1:
            await echo(reader, writer)
            return
        await reader.read(1000)
        writer.write(garbage)
        await reader.read()

    async with served(answer) as port:
        wire = Wire(f"redis://127.0.0.1:{port}")
        with suppress(OSError):
            assert await wire.call("ECHO", "x") == "OK"
        assert await wire.call("ECHO", "x") == "x 1"
        await wire.close()


async def test_passwords_and_databases(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = {"port": str(port), "bind": "127.0.0.1", "requirepass": "p@ss/word", "save": "", "dir": str(tmp_path)}
    words = [word for key, value in options.items() for word in (f"--{key}", value)]
    server = subprocess.Popen([str(valkey_server()), *words], stdout=subprocess.DEVNULL)  # noqa: ASYNC220
    try:
        place = f"p%40ss%2Fword@127.0.0.1:{port}"
        good = [Wire(f"redis://:{place}/0"), Wire(f"redis://default:{place}/1")]
        async with asyncio.timeout(10):
            while True:
                with suppress(OSError, RefusedError):
                    await good[0].call("SET", "where", "zero")
                    break
                await asyncio.sleep(0.02)
        assert await good[1].call("GET", "where") is None
        assert await good[0].call("GET", "where") == "zero"
        for password, code in (("wrong@", "WRONGPASS"), ("", "NOAUTH")):
            bad = Wire(f"redis://{':' * bool(password)}{password}127.0.0.1:{port}/0")
            with pytest.raises(RefusedError) as refused:
                await bad.call("PING")
            assert refused.value.code == code
            await bad.close()
        for wire in good:
            await wire.close()
    finally:
        server.terminate()
        server.wait(10)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make a certificate")
async def test_tls(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    make += ["-days", "1", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    subprocess.run([*make, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)  # noqa: ASYNC221
    secure = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    secure.load_cert_chain(certificate, key)
    async with served(echo, secure) as port:
        for query in (f"ssl_ca_certs={certificate}", "ssl_cert_reqs=none"):
            wire = Wire(f"rediss://localhost:{port}?{query}")
            assert await wire.call("ECHO", "secret") == "secret 1"
            await wire.close()
        stranger = Wire(f"rediss://localhost:{port}")
        with pytest.raises(OSError, match="certificate"):
            await stranger.call("ECHO", "secret")
        await stranger.close()


async def test_where_nobody_listens(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    for url in (f"unix://{tmp_path}/none.sock", f"redis://127.0.0.1:{port}"):
        wire = Wire(url)
        wire.post("PING")
        replies = await asyncio.gather(*(wire.call("PING") for _ in range(3)), return_exceptions=True)
        assert all(isinstance(reply, OSError) for reply in replies)
        await wire.close()
