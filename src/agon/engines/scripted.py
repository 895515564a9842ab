"""A scriptable engine server that speaks OpenAI's chat-completions protocol.

It says deterministic, checkable text at the pace, in the dialect and with the failures it is told, and counts what its
clients do. It holds no model: it is for tests, load, and trying the arena without weights.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Self, cast

from aiohttp import web

from agon.core.errors import AgonError, InvalidInput, NotAllowed, NotFound
from agon.core.generation import Message, Role
from agon.engines.scripted_models import Failure, FailureKind, HeavyTail, ScriptedModel
from agon.engines.scripted_text import heavy_tail, text_key
from agon.engines.scripted_wire import Plan, Wire, whole_body

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_BODY_LIMIT = 16 << 20
_STATUSES: dict[FailureKind, int] = {"http_500": 500, "http_503": 503, "http_429": 429}


@dataclass(slots=True)
class Counters:
    active: int = 0
    started: int = 0
    finished: int = 0
    failed: int = 0
    """Ended by a failure that was asked for."""
    cancelled: int = 0
    """The client went away first."""
    tokens: int = 0


@dataclass(slots=True)
class _State:
    script: ScriptedModel
    counters: Counters = field(default_factory=Counters)
    failures_left: int | None = None

    def next_failure(self) -> Failure | None:
        fail = self.script.fail
        if fail is None or fail.times is None:
            return fail
        if self.failures_left == 0:
            return None
        self.failures_left = (self.failures_left or fail.times) - 1
        return fail


class ScriptedServer:
    """One server with several models. Use it as an async context manager, or `start` and `stop` it."""

    def __init__(
        self,
        models: Iterable[str] = ("scripted",),
        *,
        script: ScriptedModel | None = None,
        api_key: str | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        self._states = {name: _State(script or ScriptedModel()) for name in models}
        self._api_key = api_key
        self._host = host
        self._port = port
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        return f"http://{self._host}:{self._port}"

    async def start(self) -> None:
        app = web.Application(client_max_size=_BODY_LIMIT, middlewares=[_errors_as_json])
        app.router.add_get("/v1/models", self._list_models)
        app.router.add_post("/v1/chat/completions", self._complete)
        app.router.add_get("/control", self._show)
        app.router.add_post("/control", self._control)
        # The cancellation of a handler is how a client that goes away is noticed even while nothing is written.
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.5)
        await self._runner.setup()
        await web.TCPSite(self._runner, self._host, self._port, backlog=1024).start()
        self._port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def configure(self, model: str, **patch: object) -> None:
        """Change a model's script, or every model's with `*`. Raises `InvalidInput`, `NotFound`."""
        for state in self._states.values() if model == "*" else (self._state(model),):
            state.script = state.script.changed(patch)
            state.failures_left = None

    def counters(self, model: str) -> Counters:
        """Return the live counters of a model."""
        return self._state(model).counters

    def _state(self, model: str) -> _State:
        if model not in self._states:
            raise NotFound(f"The model '{model}' does not exist.")
        return self._states[model]

    async def _list_models(self, _: web.Request) -> web.Response:
        models = [{"id": name, "object": "model", "owned_by": "agon"} for name in self._states]
        return web.json_response({"object": "list", "data": models})

    async def _show(self, _: web.Request) -> web.Response:
        return web.json_response(
            {
                name: {"script": state.script.model_dump(mode="json"), "counters": asdict(state.counters)}
                for name, state in self._states.items()
            }
        )

    async def _control(self, request: web.Request) -> web.Response:
        patch = dict(await _read_object(request))
        self.configure(str(patch.pop("model", "*")), **patch)
        return await self._show(request)

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        if self._api_key and request.headers.get("Authorization") != f"Bearer {self._api_key}":
            raise NotAllowed(f"Incorrect API key provided: {request.headers.get('Authorization')}")
        body = await _read_object(request)
        state = self._state(str(body.get("model")))
        refused = [name for name in state.script.refuse_fields if name in body]
        if refused:
            raise InvalidInput(f"Unsupported parameter: '{refused[0]}'{_instead(refused[0])}.", field=refused[0])
        plan = _make_plan(body, state)
        state.counters.started += 1
        state.counters.active += 1
        try:
            response = await self._answer(request, plan, state.counters)
        except (asyncio.CancelledError, ConnectionError):
            state.counters.cancelled += 1
            raise
        finally:
            state.counters.active -= 1
        if plan.fail is None:
            state.counters.finished += 1
        else:
            state.counters.failed += 1
        return response

    async def _answer(self, request: web.Request, plan: Plan, counters: Counters) -> web.StreamResponse:
        too_many = plan.script.max_active is not None and counters.active > plan.script.max_active
        status = 429 if too_many else _STATUSES.get(plan.fail.kind) if plan.fail else None
        if status is not None:
            return _error_response(status, "The script asks for this failure.", code=None)
        if plan.stream and not plan.script.whole_json:
            return await _stream(request, plan, counters)
        await _sleep_until(_now() + plan.script.first_token_delay_s)
        counters.tokens += plan.tokens
        return web.json_response(whole_body(plan))


def _make_plan(body: Mapping[str, object], state: _State) -> Plan:
    script, messages = state.script, _read_messages(body.get("messages"))
    seed, limit = body.get("seed", 0), body.get("max_tokens", body.get("max_completion_tokens"))
    if not isinstance(seed, int):
        raise InvalidInput("seed is a whole number.", field="seed")
    if limit is not None and not (isinstance(limit, int) and limit > 0):
        raise InvalidInput("max_tokens is a whole number above 0.", field="max_tokens")
    model, options = str(body["model"]), body.get("stream_options")
    key, length = text_key(model, messages, seed), script.tokens
    if isinstance(length, HeavyTail):
        length = heavy_tail(key, low=length.low, high=length.high, alpha=length.alpha)
    fail = state.next_failure()
    return Plan(
        model=model,
        key=key,
        tokens=0 if fail and fail.kind == "empty" else min(length, limit or length),
        length_limited=limit is not None and limit < length,
        stream=body.get("stream") is True,
        usage=isinstance(options, dict) and bool(cast("dict[str, object]", options).get("include_usage")),
        prompt_tokens=sum(len(message.content.split()) for message in messages),
        fail=fail,
        script=script,
    )


async def _stream(request: web.Request, plan: Plan, counters: Counters) -> web.StreamResponse:
    script, fail = plan.script, plan.fail
    fail_at = fail.at_token if fail and fail.kind != "empty" else None
    await _sleep_until(_now() + script.first_token_delay_s)
    if fail and fail.kind == "disconnect" and fail_at == 0:
        return _break_off(request, web.Response())
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
    await response.prepare(request)
    wire = Wire(response, plan)
    await wire.send(wire.opening())
    start, sent, until = _now(), 0, plan.tokens if fail_at is None else min(fail_at, plan.tokens)
    while sent < until:
        due = until
        if script.rate_tokens_per_s:
            due = min(until, 1 + int((_now() - start) * script.rate_tokens_per_s))
        if due > sent:
            await wire.send(b"".join(wire.delta({"content": plan.text(number)}) for number in range(sent, due)))
            counters.tokens += due - sent
            sent = due
        else:
            await _sleep_until(_next_tick(start + sent / script.rate_tokens_per_s, script.tick_ms / 1000))
    if fail_at is None:
        await wire.send(wire.ending(sent))
        return response
    assert fail is not None
    return await _fail(request, wire, fail.kind)


async def _fail(request: web.Request, wire: Wire, kind: FailureKind) -> web.StreamResponse:
    match kind:
        case "error_event":
            await wire.send(wire.event(json.dumps({"error": {"message": "The script asks for this.", "code": 500}})))
        case "garbage":
            await wire.send(wire.event('{"choices": [{"delta": {"content": "half'))
        case "stall":
            await asyncio.Event().wait()
        case "disconnect":
            return _break_off(request, wire.response)
        case _:  # truncate: the stream ends in good order, and says nothing of the answer's end
            pass
    return wire.response


def _break_off(request: web.Request, response: web.StreamResponse) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.abort()
    return response


def _now() -> float:
    return asyncio.get_running_loop().time()


def _next_tick(when: float, tick_s: float) -> float:
    """Round up to a grid shared by all streams, so that many wake in one turn of the loop."""
    return -(-when // tick_s) * tick_s


async def _sleep_until(when: float) -> None:
    if (wait := when - _now()) > 0:
        await asyncio.sleep(wait)


def _read_messages(value: object) -> list[Message]:
    if not isinstance(value, list) or not value:
        raise InvalidInput("messages is a list with at least one message.", field="messages")
    messages: list[Message] = []
    for item in cast("list[object]", value):
        fields = cast("dict[str, object]", item) if isinstance(item, dict) else {}
        role, content = fields.get("role"), fields.get("content")
        if role not in {"system", "user", "assistant"} or not isinstance(content, str):
            raise InvalidInput("A message has a role and its content is text.", field="messages")
        messages.append(Message(cast("Role", role), content))
    return messages


async def _read_object(request: web.Request) -> Mapping[str, object]:
    try:
        body: object = json.loads(await request.read())
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise InvalidInput("The body is a JSON object.")
    return cast("dict[str, object]", body)


def _instead(name: str) -> str:
    return " is not supported with this model. Use 'max_completion_tokens' instead" if name == "max_tokens" else ""


def _error_response(status: int, message: str, *, code: str | None) -> web.Response:
    return web.json_response({"error": {"message": message, "type": "error", "code": code}}, status=status)


@web.middleware
async def _errors_as_json(request: web.Request, handler: _Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except AgonError as error:
        status = 404 if isinstance(error, NotFound) else 401 if isinstance(error, NotAllowed) else 400
        return _error_response(status, error.message, code=error.code)
