"""The client that passes requests on: every way a response may be framed, cut off, kept waiting or given up."""

import asyncio

import pytest
from tests.engines.bare_server import (
    CHUNKED,
    LIMIT,
    OK,
    Handler,
    Session,
    answer,
    asking,
    forever,
    once,
    serving,
    until,
)

from agon.core.errors import (
    EngineError,
    EngineRejected,
    EngineTimeout,
    EngineTruncated,
    EngineUnreachable,
    InvalidInput,
)
from agon.engines.upstream import Upstreams


@pytest.mark.parametrize(
    "parts",
    [
        [OK + b"Content-Length: 10\r\n\r\n0123456789"],
        [OK[:7], OK[7:] + b"content-LENGTH: 10\r", b"\n\r\n01234", b"56789"],
        [CHUNKED + b"4\r\n0123\r\n6\r\n456789\r\n0\r\n\r\n"],
        [CHUNKED, b"4;ext=1\r\n01", b"23\r\n6\r", b"\n456789\r\n0\r\nTrailer: x\r\n", b"\r\n"],
        [b"HTTP/1.1 100 Continue\r\n\r\n", OK + b"Content-Length: 10\r\n\r\n0123456789"],
        [b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789"],
    ],
    ids=["length", "length in pieces", "chunked", "chunked in pieces", "continue", "early hints"],
)
async def test_framed_responses_are_read_and_their_connection_kept(parts: list[bytes]) -> None:
    async with asking(forever(*parts)) as (upstream, server):
        for _ in range(3):
            assert await answer(upstream) == (200, b"0123456789")
        assert len(server.sessions) == 1
        assert (upstream.connections, upstream.busy) == (1, 0)


async def test_an_empty_response_is_one() -> None:
    async with asking(forever(b"HTTP/1.1 204 No Content\r\n\r\n")) as (upstream, server):
        assert await answer(upstream) == (204, b"")
        assert await answer(upstream) == (204, b"")
        assert len(server.sessions) == 1


async def test_a_response_without_a_length_ends_with_its_connection() -> None:
    async with asking(once(OK + b"\r\n01234", b"56789")) as (upstream, server):
        assert await answer(upstream) == (200, b"0123456789")
        assert await answer(upstream) == (200, b"0123456789")
        assert len(server.sessions) == 2


@pytest.mark.parametrize("head", [b"HTTP/1.0 200 OK\r\n", OK + b"Connection: close\r\n"])
async def test_a_connection_that_is_not_kept_is_not_used_again(head: bytes) -> None:
    async with asking(forever(head + b"Content-Length: 2\r\n\r\nok")) as (upstream, server):
        assert await answer(upstream) == (200, b"ok")
        assert await answer(upstream) == (200, b"ok")
        assert len(server.sessions) == 2


async def test_what_comes_unasked_spoils_the_connection() -> None:
    surplus = OK + b"Content-Length: 2\r\n\r\nok" + OK + b"Content-Length: 2\r\n\r\nno"
    async with asking(forever(surplus)) as (upstream, server):
        assert await answer(upstream) == (200, b"ok")
        assert await answer(upstream) == (200, b"ok")
        assert len(server.sessions) == 2


async def test_the_body_comes_as_it_comes() -> None:
    go = asyncio.Event()

    async def handle(session: Session) -> None:
        await session.request()
        await session.say(CHUNKED, b"3\r\none\r\n")
        await go.wait()
        await session.say(b"3\r\ntwo\r\n", b"0\r\n\r\n")

    async with asking(handle) as (upstream, _):
        exchange = await upstream.post(b"{}")
        assert await exchange.read() == b"one"
        assert not exchange.complete
        go.set()
        assert await exchange.read() == b"two"
        assert await exchange.read() == b""
        assert exchange.complete
        assert (exchange.content_type, exchange.retry_after) == (b"text/event-stream", b"")


async def test_the_request_is_what_was_given() -> None:
    seen: list[tuple[bytes, bytes]] = []

    async def handle(session: Session) -> None:
        seen.append(await session.request())
        await session.say(b"HTTP/1.1 429 Slow down\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n")

    body = '{"text": "光"}'.encode()
    async with asking(handle, key="sesame") as (upstream, server):
        exchange = await upstream.post(body)
        assert (exchange.status, exchange.retry_after, await exchange.whole(LIMIT)) == (429, b"7", b"")
    [(head, sent)] = seen
    assert sent == body
    assert head.startswith(b"POST /v1/chat/completions HTTP/1.1\r\n")
    assert b"\r\nAuthorization: Bearer sesame\r\n" in head
    assert f"\r\nHost: {server.url.removeprefix('http://')}\r\n".encode() in head


@pytest.mark.parametrize(
    "length", [b"Content-Length: 10\r\n\r\n01234", b"Transfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n"]
)
async def test_a_response_that_breaks_off_is_no_response(length: bytes) -> None:
    async with asking(once(OK + length)) as (upstream, _):
        exchange = await upstream.post(b"{}")
        assert await exchange.read() == b"01234"
        with pytest.raises(EngineTruncated):
            await exchange.read()
        await until(lambda: upstream.connections == 0)


@pytest.mark.parametrize(
    ("handle", "kind"),
    [
        (once(), EngineUnreachable),
        (once(b"HTTP/1.1 200"), EngineUnreachable),
        (once(b"SSH-2.0-dropbear\r\n"), EngineRejected),
        (once(OK + b"Content-Length: a lot\r\n\r\n"), EngineRejected),
    ],
)
async def test_no_response_is_an_error(handle: Handler, kind: type[EngineError]) -> None:
    async with asking(handle) as (upstream, server):
        with pytest.raises(kind):
            await upstream.post(b"{}")
        await until(lambda: upstream.connections == server.open == 0)


async def test_nobody_there_is_an_error() -> None:
    async with serving(once()) as server:
        url = server.url
    upstreams = Upstreams(silence_s=0)
    with pytest.raises(EngineUnreachable):
        await upstreams.get(url, None, 1).post(b"{}")
    assert upstreams.get(url, None, 1).busy == 0
    await upstreams.close()


async def test_a_kept_connection_that_the_server_gave_up_is_replaced() -> None:
    """The server closes as the second request is on its way: the client cannot have known."""

    async def handle(session: Session) -> None:
        await session.request()
        await session.say(OK + b"Content-Length: 1\r\n\r\n%d" % session.number)
        if session.number == 0:
            await session.request()

    async with asking(handle) as (upstream, server):
        assert await answer(upstream) == (200, b"0")
        assert await answer(upstream) == (200, b"1")
        assert len(server.sessions) == 2


async def test_a_server_that_is_silent_for_too_long_is_given_up() -> None:
    async def handle(session: Session) -> None:
        await session.request()
        await session.say(CHUNKED, b"2\r\nok\r\n")
        await session.closed()

    async with asking(handle, silence_s=0.3) as (upstream, server):
        exchange = await upstream.post(b"{}")
        assert await exchange.read() == b"ok"
        with pytest.raises(EngineTimeout):
            await exchange.read()
        await until(lambda: upstream.connections == server.open == 0)


async def test_closing_an_exchange_reaches_the_server_at_once() -> None:
    async def handle(session: Session) -> None:
        await session.request()
        await session.say(CHUNKED, b"2\r\nok\r\n")
        await session.closed()

    async with asking(handle) as (upstream, server):
        exchanges = [await upstream.post(b"{}") for _ in range(5)]
        assert server.open == 5
        for exchange in exchanges:
            exchange.close()
            exchange.close()
        await until(lambda: server.open == 0, 0.3)
        assert upstream.busy == 0


async def test_being_cancelled_while_waiting_reaches_the_server_at_once() -> None:
    async def handle(session: Session) -> None:
        await session.request()
        await session.closed()

    async with asking(handle) as (upstream, server):
        task = asyncio.create_task(upstream.post(b"{}"))
        await until(lambda: server.open == 1)
        task.cancel()
        await until(lambda: server.open == 0, 0.3)
        assert upstream.busy == 0
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_no_more_run_at_a_time_than_allowed_and_those_who_give_up_leave_no_gap() -> None:
    most = running = 0

    async def handle(session: Session) -> None:
        nonlocal most, running
        while True:
            await session.request()
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.01)
            running -= 1
            await session.say(OK + b"Content-Length: 2\r\n\r\nok")

    async with asking(handle, limit=3) as (upstream, _):
        tasks = [asyncio.create_task(answer(upstream)) for _ in range(30)]
        await asyncio.sleep(0.02)
        for task in tasks[12::3]:
            task.cancel()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        assert most == 3
        assert sum(one == (200, b"ok") for one in done) == 24
        assert upstream.busy == 0


async def test_everybody_hears_that_nobody_is_there_also_those_who_wait_for_a_place() -> None:
    async with serving(once()) as server:
        url = server.url
    upstreams = Upstreams(silence_s=0)
    asked = (upstreams.get(url, None, 1).post(b"{}") for _ in range(5))
    async with asyncio.timeout(2):
        answers = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(one) for one in answers] == [EngineUnreachable] * 5
    await upstreams.close()


async def test_a_place_that_comes_free_as_its_next_user_gives_up_goes_to_the_one_after() -> None:
    async def handle(session: Session) -> None:
        await session.request()
        await session.say(OK + b"Content-Length: 2\r\n\r\n" + (b"ok" if session.number else b"o"))
        await session.closed()

    async with asking(handle, limit=1) as (upstream, _):
        exchange = await upstream.post(b"{}")
        first = asyncio.create_task(answer(upstream))
        second = asyncio.create_task(answer(upstream))
        await asyncio.sleep(0)
        exchange.close()
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        async with asyncio.timeout(2):
            assert await second == (200, b"ok")


async def test_a_reader_who_lags_behind_makes_the_server_wait() -> None:
    sent = 0
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"

    async def handle(session: Session) -> None:
        nonlocal sent
        await session.request()
        await session.say(CHUNKED)
        for _ in range(400):
            session.writer.write(chunk)
            await session.writer.drain()
            sent += 1
        await session.say(b"0\r\n\r\n")

    async with asking(handle) as (upstream, _):
        exchange = await upstream.post(b"{}")
        await asyncio.sleep(0.2)
        assert sent < 300
        got = 0
        while data := await exchange.read():
            got += len(data)
        assert got == 400 * 0x10000


async def test_an_answer_that_nobody_reads_does_not_hold_up_the_next_on_its_connection() -> None:
    large = OK + b"Content-Length: 300000\r\n\r\n" + 300_000 * b"x"
    async with asking(forever(large), limit=1) as (upstream, server):
        unread = await upstream.post(b"{}")
        await until(lambda: unread.complete)
        async with asyncio.timeout(2):
            status, body = await answer(upstream)
        assert (status, len(body), len(server.sessions)) == (200, 300_000, 1)


async def test_a_whole_answer_is_bounded() -> None:
    body = b"x" * (6 << 20)
    async with asking(once(OK + b"Content-Length: %d\r\n\r\n" % len(body), body)) as (upstream, server):
        exchange = await upstream.post(b"{}")
        with pytest.raises(EngineRejected, match="over"):
            await exchange.whole(LIMIT)
        await until(lambda: server.open == 0)


async def test_many_at_once() -> None:
    async with asking(forever(CHUNKED, b"2\r\nok\r\n0\r\n\r\n"), limit=1000) as (upstream, server):
        assert await asyncio.gather(*(answer(upstream) for _ in range(200))) == 200 * [(200, b"ok")]
        assert upstream.busy == 0
        assert len(server.sessions) <= 200


@pytest.mark.parametrize(("url", "key"), [("ftp://host/v1", None), ("http://127.0.0.1:1/v1", "two\nlines")])
async def test_bad_addresses_and_keys_are_refused(url: str, key: str | None) -> None:
    with pytest.raises(InvalidInput):
        Upstreams(silence_s=0).get(url, key, 1)
