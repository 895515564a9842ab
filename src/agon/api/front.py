"""What the paths in front of the framework share: plain ASGI, for routes where every step counts."""

import hashlib
import ipaddress
import json
import time
from collections.abc import Mapping, Sequence

from prometheus_client import Counter, Histogram

from agon.api.middleware import Receive, Scope, Send, too_large
from agon.core.errors import NotAllowed
from agon.telemetry import Metrics

JSON_HEADERS = [(b"content-type", b"application/json"), (b"x-content-type-options", b"nosniff")]
_OTHER_SITES = (b"cross-site", b"same-site")
_GONE = 499
"""Counted for a client who went away before there was anything to send."""
HeaderLines = Sequence[tuple[bytes, bytes]]


class Senders:
    """Tells who asks: by one of the API keys where there are any, otherwise by address."""

    def __init__(self, api_keys: Sequence[str]) -> None:
        self._by_key = {_digest(key.encode()): f"key:{_digest(key.encode()).hex()[:24]}" for key in api_keys}

    def name(self, headers: Mapping[bytes, bytes], address: tuple[str, int] | None) -> str:
        """Raises `NotAllowed`."""
        if headers.get(b"sec-fetch-site") in _OTHER_SITES:
            raise NotAllowed("Another site may not act in your name.", code="cross_site")
        if not self._by_key:
            return f"address:{_network(address[0]) if address else ''}"
        scheme, _, key = headers.get(b"authorization", b"").partition(b" ")
        sender = self._by_key.get(_digest(key.strip())) if scheme.lower() == b"bearer" else None
        if sender is None:
            raise NotAllowed("This arena wants one of its API keys.", code="invalid_api_key")
        return sender


async def read_body(receive: Receive, headers: Mapping[bytes, bytes], most_bytes: int) -> bytes | None:
    """The whole body; `None` where the client went away over it. Raises `LimitExceeded`."""
    length = headers.get(b"content-length", b"")
    if length.isdigit() and int(length) > most_bytes:
        raise too_large(most_bytes)
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        part: bytes = message.get("body", b"")
        parts.append(part)
        size += len(part)
        if size > most_bytes:
            raise too_large(most_bytes)
        if not message.get("more_body"):
            return parts[0] if len(parts) == 1 else b"".join(parts)


def allow_method(method: str, allowed: str) -> None:
    """Raises `NotAllowed` (`method_not_allowed`) for any other."""
    if method != allowed:
        raise NotAllowed(f"Only {allowed} is known here.", code="method_not_allowed")


class Meters:
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


class Call:
    """One request on its way to a response."""

    __slots__ = ("_begun_s", "_meters", "_send", "_status", "route", "scope")

    def __init__(self, scope: Scope, send: Send, meters: Meters, route: str = "other") -> None:
        self.scope = scope
        self.route = route
        self._send = send
        self._meters = meters
        self._begun_s = time.perf_counter()
        self._status = 0

    async def say(self, body: object, status: int = 200, headers: HeaderLines = ()) -> None:
        await self.whole(json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass"), status, headers)

    async def whole(self, body: bytes, status: int = 200, headers: HeaderLines = ()) -> None:
        await self._start(status, [*JSON_HEADERS, (b"content-length", b"%d" % len(body)), *headers])
        await self._send({"type": "http.response.body", "body": body})

    def count(self) -> None:
        self._meters.of(self.route, self.scope["method"], self._status or _GONE).inc()

    async def _start(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        self._status = status
        self._meters.latency(self.route, self.scope["method"]).observe(time.perf_counter() - self._begun_s)
        await self._send({"type": "http.response.start", "status": status, "headers": headers})


def header_lines(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """Headers as ASGI writes them."""
    return [(name.lower().encode(), value.encode()) for name, value in headers.items()]


def _network(address: str) -> str:
    """The address; of IPv6 the network of 64 bits, since whoever has one address there has all of them."""
    if ":" not in address:
        return address
    try:
        return str(ipaddress.IPv6Network((address.partition("%")[0], 64), strict=False))
    except ValueError:
        return address


def _digest(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()
