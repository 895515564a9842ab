import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from agon.core.generation import Engine, Finish, GenerationRequest, Message, Piece, Sampling


def ask(
    prompt: str = "Hello?", *, max_tokens: int = 1000, seed: int = 7, system: str | None = None
) -> GenerationRequest:
    messages = [Message("system", system)] if system else []
    return GenerationRequest((*messages, Message("user", prompt)), Sampling(max_tokens), seed)


async def collect_into(said: list[str], engine: Engine, request: GenerationRequest) -> None:
    """Keep what was said before an error, too."""
    async for item in engine.generate(request):
        said.extend([item.text] if isinstance(item, Piece) else [])


async def collect(engine: Engine, request: GenerationRequest) -> tuple[str, Finish]:
    """The whole answer; checks on the way that it keeps to the port's contract."""
    pieces: list[Piece] = []
    finish: Finish | None = None
    async for item in engine.generate(request):
        assert finish is None, "something came after the finish"
        if isinstance(item, Finish):
            finish = item
        else:
            assert item.text
            pieces.append(item)
    assert finish is not None, "the answer ended without a finish"
    return "".join(piece.text for piece in pieces), finish


async def until(condition: Callable[[], bool], *, within_s: float) -> float:
    """Wait for something to become true; returns how long it took."""
    loop = asyncio.get_running_loop()
    start = loop.time()
    while not condition():
        assert loop.time() - start < within_s, f"still not so after {within_s} s"
        await asyncio.sleep(0.005)
    return loop.time() - start


@asynccontextmanager
async def raw_server(body: bytes, *, pulse: bytes) -> AsyncGenerator[str, None]:
    """An HTTP server that answers 200 with `body` as an event stream and then sends `pulse` for ever."""
    gone = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" + body)
        try:
            while True:
                writer.write(pulse)
                await writer.drain()
                await asyncio.sleep(0.02)
        except ConnectionError:
            writer.close()
            gone.set()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with asyncio.timeout(2):
            await gone.wait()
