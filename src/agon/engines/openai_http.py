"""An engine behind any server that speaks OpenAI's chat-completions protocol: vLLM, llama.cpp, Ollama, vendors."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass

import aiohttp
from yarl import URL

from agon.core.errors import EngineRejected, EngineUnreachable, InvalidInput
from agon.core.generation import EMPTY_CODE, Finish, GenerationRequest, Message, Piece, Sampling
from agon.engines.answer import AnswerReader, error_detail, parse_object
from agon.engines.chat_body import chat_body
from agon.engines.faults import FOREIGN, refused, translate
from agon.engines.server_load import ServerLoad
from agon.engines.sse import SseParser

WARM_UP = GenerationRequest((Message("user", "Say hello."),), Sampling(max_tokens=8), seed=0)

_GOING_ON: Mapping[str, object] = {"continue_final_message": True, "add_generation_prompt": False}
"""Tells vLLM that the last message is begun; llama.cpp knows by itself."""
_MAX_PROBLEM_BYTES = 64 << 10
_MAX_WHOLE_BYTES = 8 << 20
_KEEPALIVE_S = 3.0
"""Under the 5 s after which common servers drop idle connections: a POST on a dying connection would be lost."""
_DRAIN_S = 0.1
"""How long the empty end of a finished stream is waited for, so that its connection can be used again."""


@dataclass(frozen=True, slots=True)
class HttpPatience:
    """How long an engine may be silent, in seconds."""

    connect_s: float = 5.0
    first_token_s: float = 30.0
    idle_s: float = 15.0
    """Between two signs of progress; comments that keep the connection alive are none."""
    ending_s: float = 2.0
    """For usage and the end of the stream, once the answer is whole."""


def chat_url(url: str) -> URL:
    """Work out where to post.

    An address without a path means `/v1`; any other path is taken as it is, with `/chat/completions` added unless it
    is there. Slashes at the end do not matter. Raises `InvalidInput` for what is no plain HTTP address: queries,
    fragments and passwords have no place in it.
    """
    try:
        base = URL(url.strip())
    except ValueError:
        base = URL()
    if base.scheme not in {"http", "https"} or not base.host:
        raise InvalidInput("An engine's address looks like http://host:port/v1.", field="url")
    if base.query_string or base.fragment or base.user or base.password:
        raise InvalidInput(
            "An engine's address has no query, fragment or password; give the key by itself.", field="url"
        )
    path = base.path.rstrip("/").removesuffix("/chat/completions") or "/v1"
    return base.with_path(f"{path}/chat/completions")


def clean_key(api_key: str | None) -> str | None:
    key = (api_key or "").strip()
    if not key.isascii() or not key.isprintable():
        raise InvalidInput("An engine's key is one line of plain letters.", field="api_key")
    return key or None


class OpenAiEngine:
    """The `Engine` port over HTTP. `url` is read as `chat_url` says; `api_key` is only ever put into the header."""

    def __init__(
        self,
        url: str,
        model: str,
        *,
        api_key: str | None = None,
        patience: HttpPatience | None = None,
        max_connections: int = 256,
    ) -> None:
        self._url = chat_url(url)
        self._model = model
        self._api_key = clean_key(api_key)
        self._patience = patience or HttpPatience()
        self._max_connections = max_connections
        self._refused_fields: set[str] = set()
        self._session: aiohttp.ClientSession | None = None
        self._load = ServerLoad(self._url, model)
        self._closed = False

    async def warm_up(self) -> None:
        try:
            async with aclosing(self.generate(WARM_UP)) as answer:
                async for _ in answer:
                    pass
        except EngineRejected as error:
            # A model that thinks first may spend these few tokens on thoughts: it works all the same.
            if error.code != EMPTY_CODE:
                raise

    async def close(self) -> None:
        self._closed = True
        if self._session is not None:
            await self._session.close()

    async def others(self) -> int | None:
        """Requests that run or wait at the server, ours among them; `None` if it does not tell. Asks once a second."""
        return None if self._closed else await self._load.requests(self._opened_session())

    async def generate(self, request: GenerationRequest) -> AsyncGenerator[Piece | Finish, None]:
        reader = AnswerReader(secret=self._api_key, begun=bool(request.said))
        clock = _Clock(self._patience)
        try:
            async with self._opened(request, clock) as response:
                if response.content_type == "application/json":
                    piece = await _read_whole(response, reader, clock)
                    if piece is not None:
                        yield piece
                else:
                    async with aclosing(_read_stream(response, reader, clock)) as pieces:
                        async for piece in pieces:
                            yield piece
            yield reader.finish()
        except FOREIGN as error:
            raise translate(error, started=reader.started) from None

    @asynccontextmanager
    async def _opened(
        self, request: GenerationRequest, clock: "_Clock"
    ) -> AsyncGenerator[aiohttp.ClientResponse, None]:
        dropped: set[str] = set()
        while True:
            body = self._body(request, dropped)
            async with clock.limit():
                response = await self._post(body)
            try:
                if response.status == 200:
                    # Learned only now: the words of a refusal may be the asker's own.
                    self._refused_fields |= dropped
                    yield response
                    return
                async with clock.limit():
                    problem = await _read_bounded(response, _MAX_PROBLEM_BYTES)
            finally:
                # Drops the connection unless the answer was read to its end, and with it the work in the engine.
                response.close()
            named = _refused_in(problem, body) if response.status in {400, 422} else set[str]()
            if not named:
                raise refused(response.status, _problem_detail(problem, self._api_key))
            dropped |= named

    async def _post(self, body: Mapping[str, object]) -> aiohttp.ClientResponse:
        headers = {
            "Accept": "text/event-stream, application/json",
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
        }
        if self._api_key:
            headers["Authorization"] = f"Bearer {self._api_key}"
        # A redirect would carry the prompt elsewhere: it is refused as any other status.
        return await self._opened_session().post(
            self._url, data=json.dumps(body), headers=headers, allow_redirects=False
        )

    def _opened_session(self) -> aiohttp.ClientSession:
        if self._closed:
            raise EngineUnreachable("This engine was closed.", code="engine_closed")
        if self._session is None:
            self._session = aiohttp.ClientSession(
                # One more: what the server tells of its load is wanted most when every other connection is taken.
                connector=aiohttp.TCPConnector(limit=self._max_connections + 1, keepalive_timeout=_KEEPALIVE_S),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._patience.connect_s),
            )
        return self._session

    def _body(self, request: GenerationRequest, dropped: set[str]) -> dict[str, object]:
        fields = chat_body(request) | {"model": self._model}
        dropped = self._refused_fields | dropped
        if "max_tokens" in dropped:
            fields["max_completion_tokens"] = fields["max_tokens"]
        if request.said:
            fields |= _GOING_ON
        return {name: value for name, value in fields.items() if name not in dropped}


class _Clock:
    """When patience with one answer ends."""

    def __init__(self, patience: HttpPatience) -> None:
        self._patience = patience
        self._deadline = asyncio.get_running_loop().time() + patience.first_token_s
        self._ending = False

    def limit(self) -> asyncio.Timeout:
        return asyncio.timeout_at(self._deadline)

    def note(self, reader: AnswerReader) -> None:
        if reader.progressed and not self._ending:
            self._ending = reader.ended
            seconds = self._patience.ending_s if reader.ended else self._patience.idle_s
            self._deadline = asyncio.get_running_loop().time() + seconds


async def _read_stream(
    response: aiohttp.ClientResponse, reader: AnswerReader, clock: _Clock
) -> AsyncGenerator[Piece, None]:
    if response.content_type == "text/html":
        raise EngineRejected("The engine's address leads to a web page.", code="engine_garbage")
    parser = SseParser()
    while not reader.done:
        try:
            async with clock.limit():
                chunk = await response.content.readany()
        except FOREIGN:
            if reader.ended:
                return
            raise
        if not chunk:
            return
        for event in parser.feed(chunk):
            piece = reader.take(event.data)
            clock.note(reader)
            if piece is not None:
                yield piece
    await _drain(response)


async def _drain(response: aiohttp.ClientResponse) -> None:
    try:
        async with asyncio.timeout(_DRAIN_S):
            while await response.content.readany():
                pass
    except FOREIGN:
        return


async def _read_whole(response: aiohttp.ClientResponse, reader: AnswerReader, clock: _Clock) -> Piece | None:
    async with clock.limit():
        body = await _read_bounded(response, _MAX_WHOLE_BYTES)
    return reader.take_whole(parse_object(body))


async def _read_bounded(response: aiohttp.ClientResponse, limit: int) -> bytes:
    body = bytearray()
    while len(body) <= limit and (chunk := await response.content.readany()):
        body += chunk
    if len(body) > limit:
        raise EngineRejected(f"The engine sent an answer over {limit} bytes.", code="engine_stream_too_large")
    return bytes(body)


def _refused_in(problem: bytes, body: Mapping[str, object]) -> set[str]:
    """Fields of ours that a refusal speaks of, so that it may be worth trying without them."""
    known = {name for name in ("stream_options", "seed", "max_tokens", *_GOING_ON) if name in body}
    named = {name for name in known if name.encode() in problem}
    # "max_tokens" is complained of for its value, too: it is given up only for a server that names the other field.
    if b"max_completion_tokens" not in problem:
        named.discard("max_tokens")
    if b"template" in problem:
        named -= _GOING_ON.keys()  # it knows them, and cannot go on behind this text: without them it would not
    elif named & _GOING_ON.keys():
        named |= _GOING_ON.keys()  # one of them alone would mean something else
    return named


def _problem_detail(problem: bytes, secret: str | None) -> str:
    try:
        return error_detail(parse_object(problem), secret=secret)
    except EngineRejected:
        return ""
