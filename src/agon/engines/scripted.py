"""A scriptable engine server that speaks OpenAI's chat-completions protocol.

It says deterministic, checkable text at the pace, in the dialect and with the failures it is told, and counts what its
clients do. It holds no model: it is for tests, load, and trying the arena without weights.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self, cast

from aiohttp import web

from agon.core.errors import AgonError, InvalidInput, NotAllowed, NotFound
from agon.engines.scripted_cache import Places, PrefixCache
from agon.engines.scripted_models import FailureKind, ScriptedModel
from agon.engines.scripted_plan import Chances, Plan, make_plan
from agon.engines.scripted_wire import Wire, whole_body

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_BODY_LIMIT = 16 << 20
_STATUSES: dict[FailureKind, int] = {"http_500": 500, "http_503": 503, "http_429": 429}


@dataclass(slots=True)
class Counters:
    active: int = 0
    """Running or waiting."""
    waiting: int = 0
    started: int = 0
    finished: int = 0
    failed: int = 0
    """Ended by a failure that was asked for."""
    cancelled: int = 0
    """The client went away first."""
    tokens: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0


@dataclass(slots=True)
class _State:
    script: ScriptedModel
    tally: Counters = field(default_factory=Counters)
    chances: Chances = field(default_factory=Chances)
    cache: PrefixCache = field(default_factory=PrefixCache)
    places: Places = field(default_factory=Places)
    seen: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def follow(self, script: ScriptedModel) -> None:
        self.script = script
        self.chances.failures_left = None
        self.places.allow(script.max_running)

    @property
    def counters(self) -> Counters:
        self.tally.waiting = self.places.waiting
        return self.tally

    def note(self, plan: Plan) -> None:
        self.tally.started += 1
        self.tally.prompt_tokens += plan.prompt_tokens
        self.tally.cached_tokens += plan.cached_tokens

    def ended(self, plan: Plan) -> None:
        if plan.fail is not None:
            self.tally.failed += 1
            return
        self.tally.finished += 1
        self.cache.keep(plan.messages, plan.begun + plan.whole())


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
        for state in self._states.values():
            state.follow(state.script)
        self._api_key = api_key
        self._host = host
        self._port = port
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        return f"http://{self._host}:{self._port}"

    async def start(self) -> None:
        app = web.Application(client_max_size=_BODY_LIMIT, middlewares=[_errors_as_json])
        app.router.add_get("/health", self._health)
        app.router.add_get("/metrics", self._metrics)
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
            state.follow(state.script.changed(patch))

    def counters(self, model: str) -> Counters:
        """Return the live counters of a model."""
        return self._state(model).counters

    def seen(self, model: str) -> Mapping[str, Any]:
        """Return the last request to a model, with whatever fields it had."""
        return self._state(model).seen

    def _state(self, model: str) -> _State:
        if model not in self._states:
            raise NotFound(f"The model '{model}' does not exist.")
        return self._states[model]

    async def _list_models(self, _: web.Request) -> web.Response:
        models = [{"id": name, "object": "model", "owned_by": "agon"} for name in self._states]
        return web.json_response({"object": "list", "data": models})

    async def _health(self, _: web.Request) -> web.Response:
        return web.Response()

    async def _metrics(self, _: web.Request) -> web.Response:
        return web.Response(text="".join(_metric_lines(self._states)), content_type="text/plain")

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
        state.seen = body
        plan = make_plan(body, state.script, state.chances, state.cache)
        state.note(plan)
        state.tally.active += 1
        try:
            response = await self._answer(request, plan, state)
        except (asyncio.CancelledError, ConnectionError):
            state.tally.cancelled += 1
            raise
        finally:
            state.tally.active -= 1
        state.ended(plan)
        return response

    async def _answer(self, request: web.Request, plan: Plan, state: _State) -> web.StreamResponse:
        too_many = plan.script.max_active is not None and state.tally.active > plan.script.max_active
        status = 429 if too_many else _STATUSES.get(plan.fail.kind) if plan.fail else None
        if status is not None:
            return _error_response(status, "The script asks for this failure.", code=None)
        async with state.places.place():
            if plan.stream and not plan.script.whole_json:
                return await _stream(request, plan, state.tally)
            return await _whole(request, plan, state.tally)


async def _whole(request: web.Request, plan: Plan, counters: Counters) -> web.StreamResponse:
    rate = 0.0 if plan.stream else plan.script.rate_tokens_per_s
    await _sleep_until(_now() + plan.first_token_delay_s + (plan.tokens / rate if rate else 0.0))
    if plan.fail and plan.fail.kind == "stall":
        await asyncio.Event().wait()
    match plan.fail.kind if plan.fail else None:
        case "disconnect":
            return _break_off(request, web.Response())
        case "error_event":
            return _error_response(500, "The script asks for this failure.", code=None)
        case "garbage" | "truncate":
            return web.Response(text=json.dumps(whole_body(plan))[:-20], content_type="application/json")
        case _:
            counters.tokens += plan.tokens
            return web.json_response(whole_body(plan))


async def _stream(request: web.Request, plan: Plan, counters: Counters) -> web.StreamResponse:
    fail = plan.fail
    await _sleep_until(_now() + plan.first_token_delay_s)
    if fail and fail.kind == "disconnect" and plan.fail_at == plan.first:
        return _break_off(request, web.Response())
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
    await response.prepare(request)
    wire = Wire(response, plan)
    await wire.send(wire.opening())
    until = plan.end if plan.fail_at is None else min(plan.fail_at, plan.end)
    spoken = plan.first
    if plan.pause_at is not None and plan.script.pause is not None and plan.pause_at < until:
        spoken = await _say(wire, plan, counters, spoken, plan.pause_at)
        await asyncio.sleep(plan.script.pause.seconds)
    await _say(wire, plan, counters, spoken, until)
    if plan.fail_at is None:
        await wire.send(wire.ending(plan.tokens))
        return response
    assert fail is not None
    return await _fail(request, wire, fail.kind)


async def _say(wire: Wire, plan: Plan, counters: Counters, first: int, until: int) -> int:
    """Say the tokens from one number to before another, at the script's pace."""
    rate, tick_s = plan.script.rate_tokens_per_s, plan.script.tick_ms / 1000
    start, sent = _now(), first
    while sent < until:
        due = min(until, first + 1 + int((_now() - start) * rate)) if rate else until
        if due > sent:
            await wire.send(wire.say(sent, due))
            counters.tokens += due - sent
            sent = due
        else:
            await _sleep_until(_next_tick(start + (sent - first) / rate, tick_s))
    return until


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


async def _read_object(request: web.Request) -> Mapping[str, object]:
    try:
        body: object = json.loads(await request.read())
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise InvalidInput("The body is a JSON object.")
    return cast("dict[str, object]", body)


def _metric_lines(states: Mapping[str, _State]) -> Iterable[str]:
    """What vLLM tells of itself, by its names."""
    gauges: dict[str, Callable[[_State], float]] = {
        "vllm:num_requests_running": lambda state: state.places.running,
        "vllm:num_requests_waiting": lambda state: state.places.waiting,
        "vllm:kv_cache_usage_perc": lambda state: state.places.running / (state.script.max_running or 256),
    }
    for name, read in gauges.items():
        yield f"# TYPE {name} gauge\n"
        for model, state in states.items():
            yield f'{name}{{engine="0",model_name={json.dumps(model)}}} {float(read(state))}\n'


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
