"""`/v1`: the arena's models behind OpenAI's API. Plain ASGI in front of the framework, since here every step counts."""

import logging

from agon.api.departure import Departure
from agon.api.front import Call, Meters, Senders, allow_method, header_lines, read_body
from agon.api.middleware import Application, Receive, Scope, Send
from agon.api.openai_errors import encoded, openai_headers, openai_status
from agon.bootstrap.gateway import Gateway
from agon.config import Settings
from agon.core.errors import AgonError, NotFound
from agon.relay.answers import Answer
from agon.relay.asks import Ask, read, unknown
from agon.telemetry import Metrics

log = logging.getLogger(__name__)

COMPLETIONS = "/v1/chat/completions"
MODELS = "/v1/models"
MODEL = "/v1/models/{model}"

_EVENTS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
    (b"x-content-type-options", b"nosniff"),
]
_MAX_KEY_CHARS = 200


class OpenAi:
    """Answers what is under `/v1` and hands everything else on."""

    def __init__(self, app: Application, *, settings: Settings, metrics: Metrics) -> None:
        self._app = app
        self._body_bytes = settings.limits.body_bytes
        self._senders = Senders(settings.server.api_keys)
        self._metrics = metrics
        self._meters = Meters(metrics)

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
        client = self._senders.name(headers, scope["client"])
        gateway: Gateway = scope["app"].state.gateway
        path, method = scope["path"], scope["method"]
        if path == COMPLETIONS:
            call.route = COMPLETIONS
            allow_method(method, "POST")
            body = await read_body(receive, headers, self._body_bytes)
            if body is not None:
                await self._complete(call, receive, gateway, read(body, client, _idempotency_key(headers)))
        elif path == MODELS:
            call.route = MODELS
            allow_method(method, "GET")
            names = await gateway.relay.names()
            await call.say({"object": "list", "data": [_model(name) for name in names]})
        elif path.startswith(f"{MODELS}/"):
            call.route = MODEL
            allow_method(method, "GET")
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


class _Call(Call):
    """One request on its way to a response, or to a stream of events."""

    __slots__ = ()

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
        await self.whole(body, openai_status(error), header_lines(openai_headers(error)))


def _idempotency_key(headers: dict[bytes, bytes]) -> str | None:
    key = headers.get(b"idempotency-key")
    return None if not key else key.decode("latin-1")[:_MAX_KEY_CHARS]


def _model(name: str) -> dict[str, object]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "agon"}
