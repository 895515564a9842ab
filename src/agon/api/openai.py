"""`/v1`: the arena's models behind OpenAI's API. Plain ASGI in front of the framework, since here every step counts."""

import hashlib
import json
import logging
import time
from collections.abc import Sequence

from prometheus_client import Counter, Histogram

from agon.api.departure import Departure
from agon.api.middleware import Application, Receive, Scope, Send
from agon.api.openai_errors import encoded, openai_headers, openai_status
from agon.bootstrap.gateway import Gateway
from agon.config import Settings
from agon.core.errors import AgonError, LimitExceeded, NotAllowed, NotFound
from agon.relay.answers import Answer
from agon.relay.asks import Ask, read, unknown
from agon.telemetry import Metrics

log = logging.getLogger(__name__)

COMPLETIONS = "/v1/chat/completions"
MODELS = "/v1/models"
MODEL = "/v1/models/{model}"

_JSON = [(b"content-type", b"application/json"), (b"x-content-type-options", b"nosniff")]
_EVENTS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
    (b"x-content-type-options", b"nosniff"),
]
_OTHER_SITES = (b"cross-site", b"same-site")
_MAX_KEY_CHARS = 200
_GONE = 499
"""Counted for a client who went away before there was anything to send."""
_Headers = Sequence[tuple[bytes, bytes]]


class OpenAi:
    """Answers what is under `/v1` and hands everything else on."""

    def __init__(self, app: Application, *, settings: Settings, metrics: Metrics) -> None:
        self._app = app
        self._body_bytes = settings.limits.body_bytes
        self._clients = {
            _digest(key.encode()): f"key:{_digest(key.encode()).hex()[:24]}" for key in settings.server.api_keys
        }
        self._metrics = metrics
        self._meters = _Meters(metrics)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith("/v1/"):
            await self._app(scope, receive, send)
            return
        call = _Call(scope, send, self._meters)
        try:
            await self._answer(call, receive)
        except AgonError as error:
            await call.refuse(error)
        except Exception:
            log.exception("%s %s failed", scope["method"], scope["path"])
            await call.refuse(AgonError("Something went wrong inside the arena.", code="internal_error"))
        finally:
            call.count()

    async def _answer(self, call: "_Call", receive: Receive) -> None:
        scope = call.scope
        headers = dict[bytes, bytes](scope["headers"])
        client = self._client(headers, scope["client"])
        gateway: Gateway = scope["app"].state.gateway
        path, method = scope["path"], scope["method"]
        if path == COMPLETIONS:
            call.route = COMPLETIONS
            _allow(method, "POST")
            body = await self._body(receive, headers)
            if body is not None:
                await self._complete(call, receive, gateway, read(body, client, _idempotency_key(headers)))
        elif path == MODELS:
            call.route = MODELS
            _allow(method, "GET")
            names = await gateway.relay.names()
            await call.say({"object": "list", "data": [_model(name) for name in names]})
        elif path.startswith(f"{MODELS}/"):
            call.route = MODEL
            _allow(method, "GET")
            name = path.removeprefix(f"{MODELS}/")
            if name not in await gateway.relay.names():
                raise unknown(name)
            await call.say(_model(name))
        else:
            raise NotFound("There is nothing at this address.")

    async def _complete(self, call: "_Call", receive: Receive, gateway: Gateway, ask: Ask) -> None:
        with Departure(receive):
            answer = await gateway.relay.answer(ask)
            try:
                if ask.stream:
                    await call.stream(answer, self._metrics)
                else:
                    await call.whole(await answer.next())
            finally:
                answer.close()

    async def _body(self, receive: Receive, headers: dict[bytes, bytes]) -> bytes | None:
        """The whole body; `None` where the client went away over it."""
        length = headers.get(b"content-length", b"")
        if length.isdigit() and int(length) > self._body_bytes:
            raise self._too_large()
        body = b""
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            body += message.get("body", b"")
            if len(body) > self._body_bytes:
                raise self._too_large()
            if not message.get("more_body"):
                return body

    def _too_large(self) -> LimitExceeded:
        return LimitExceeded(f"The body is over {self._body_bytes} bytes.", code="body_too_large", field="body")

    def _client(self, headers: dict[bytes, bytes], address: tuple[str, int] | None) -> str:
        """Who asks, for admission. Raises `NotAllowed`."""
        if headers.get(b"sec-fetch-site") in _OTHER_SITES:
            raise NotAllowed("Another site may not act in your name.", code="cross_site")
        if not self._clients:
            return f"address:{address[0] if address else ''}"
        scheme, _, key = headers.get(b"authorization", b"").partition(b" ")
        client = self._clients.get(_digest(key.strip())) if scheme.lower() == b"bearer" else None
        if client is None:
            raise NotAllowed("This arena wants one of its API keys.", code="invalid_api_key")
        return client


class _Meters:
    """The metrics' series, found once each."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._requests: dict[tuple[str, str, int], Counter] = {}
        self._latencies: dict[tuple[str, str], Histogram] = {}

    def of(self, route: str, method: str, status: int) -> Counter:
        found = self._requests.get((route, method, status))
        if found is None:
            found = self._requests[route, method, status] = self._metrics.requests.labels(route, method, str(status))
        return found

    def latency(self, route: str, method: str) -> Histogram:
        found = self._latencies.get((route, method))
        if found is None:
            found = self._latencies[route, method] = self._metrics.latency_s.labels(route, method)
        return found


class _Call:
    """One request on its way to a response."""

    __slots__ = ("_begun_s", "_meters", "_send", "_status", "route", "scope")

    def __init__(self, scope: Scope, send: Send, meters: "_Meters") -> None:
        self.scope = scope
        self.route = "other"
        self._send = send
        self._meters = meters
        self._begun_s = time.perf_counter()
        self._status = 0

    async def say(self, body: object) -> None:
        await self.whole(json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass"))

    async def whole(self, body: bytes, status: int = 200, headers: _Headers = ()) -> None:
        await self._start(status, [*_JSON, (b"content-length", b"%d" % len(body)), *headers])
        await self._send({"type": "http.response.body", "body": body})

    async def stream(self, answer: Answer, metrics: Metrics) -> None:
        send = self._send
        metrics.streams.inc()
        try:
            chunk = await answer.next()
            await self._start(200, _EVENTS)
            while chunk:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
                chunk = await answer.next()
            await send({"type": "http.response.body", "body": b""})
        finally:
            metrics.streams.dec()

    async def refuse(self, error: AgonError) -> None:
        """Answer with an error; within a stream, end it with one."""
        body = encoded(error)
        if self._status:
            await self._send({"type": "http.response.body", "body": b"data: %b\n\n" % body})
            return
        headers = [(name.lower().encode(), value.encode()) for name, value in openai_headers(error).items()]
        await self.whole(body, openai_status(error), headers)

    def count(self) -> None:
        self._meters.of(self.route, self.scope["method"], self._status or _GONE).inc()

    async def _start(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        self._status = status
        self._meters.latency(self.route, self.scope["method"]).observe(time.perf_counter() - self._begun_s)
        await self._send({"type": "http.response.start", "status": status, "headers": headers})


def _allow(method: str, allowed: str) -> None:
    if method != allowed:
        raise NotAllowed(f"Only {allowed} is known here.", code="method_not_allowed")


def _idempotency_key(headers: dict[bytes, bytes]) -> str | None:
    key = headers.get(b"idempotency-key")
    return None if not key else key.decode("latin-1")[:_MAX_KEY_CHARS]


def _model(name: str) -> dict[str, object]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "agon"}


def _digest(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()
