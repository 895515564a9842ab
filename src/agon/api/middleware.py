"""Pure ASGI middleware: sizes, security headers, metrics."""

import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

from starlette.exceptions import HTTPException

from agon.api.errors import response_of
from agon.core.errors import LimitExceeded, NotAllowed
from agon.telemetry import Metrics

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_POLICY = (
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
_SECURITY_HEADERS = [
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
]
_SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}


class Guard:
    """Refuses bodies over the limit and changes asked for by other sites; adds security headers."""

    def __init__(self, app: Application, *, body_bytes: int, bodies: Mapping[str, int] | None = None) -> None:
        """`bodies` has the limits of addresses with ones of their own."""
        self._app = app
        self._body_bytes = body_bytes
        self._bodies = bodies or {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        most_bytes = self._bodies.get(scope["path"], self._body_bytes)
        refusal = self._refusal(scope["method"], headers, most_bytes)
        if refusal is not None:
            await response_of(refusal)(scope, receive, _with_headers(send))
            return
        await self._app(scope, self._bounded(receive, most_bytes), _with_headers(send))

    def _refusal(self, method: str, headers: dict[bytes, bytes], most_bytes: int) -> LimitExceeded | NotAllowed | None:
        length = headers.get(b"content-length", b"")
        if length.isdigit() and int(length) > most_bytes:
            return too_large(most_bytes)
        if method not in _SAFE_METHODS and headers.get(b"sec-fetch-site") in (b"cross-site", b"same-site"):
            return NotAllowed("Another site may not act in your name.", code="cross_site")
        return None

    def _bounded(self, receive: Receive, most_bytes: int) -> Receive:
        """For bodies that do not say their length."""
        seen = 0

        async def bounded() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > most_bytes:
                # The framework turns whatever else is raised here into a 400.
                raise HTTPException(413, too_large(most_bytes).message.rstrip("."))
            return message

        return bounded


def too_large(most_bytes: int) -> LimitExceeded:
    return LimitExceeded(f"The body is over {most_bytes} bytes.", code="body_too_large", field="body")


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", []), *_SECURITY_HEADERS]
        await send(message)

    return sending


class Measure:
    """Counts requests and times them to the start of the response, by route template."""

    def __init__(self, app: Application, *, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun_s = time.perf_counter()
        status = 500

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                self._metrics.latency_s.labels(_route(scope), scope["method"]).observe(time.perf_counter() - begun_s)
            await send(message)

        try:
            await self._app(scope, receive, sending)
        finally:
            self._metrics.requests.labels(_route(scope), scope["method"], str(status)).inc()


def _route(scope: Scope) -> str:
    """The route's template; whatever matched no route shares one label, so strangers cannot make new ones."""
    return getattr(scope.get("route"), "path", "other")
