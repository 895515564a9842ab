"""What one scripted answer will be, decided before its first byte. Does no I/O."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from agon.core.errors import InvalidInput
from agon.core.generation import Message, Role
from agon.engines.scripted_cache import PrefixCache, words
from agon.engines.scripted_models import Failure, HeavyTail, Pause, PerPrompt, Point, ScriptedModel, SlowTail
from agon.engines.scripted_text import Place, chance, heavy_tail, log_normal, pareto, place_behind, text_key, token

_DEFAULT_LENGTH = 64
_LEAST_LENGTH = 2


@dataclass(frozen=True, slots=True)
class Plan:
    """All that is decided about one answer before its first byte."""

    model: str
    key: str
    first: int
    """Number of the first token to be said: above 0 where an answer is begun."""
    skip: int
    """Characters of the first token that are said already."""
    end: int
    """Number behind the last token."""
    keep: int | None
    """Characters of the last token that stand before a stop word."""
    marked: bool
    """The last token is the end mark."""
    length_limited: bool
    stream: bool
    usage: bool
    logprobs: bool
    top_logprobs: int
    messages: tuple[Message, ...]
    begun: str
    prompt_tokens: int
    cached_tokens: int
    fail: Failure | None
    fail_at: int | None
    """Number of the token that does not come any more."""
    pause_at: int | None
    script: ScriptedModel
    own: tuple[str, ...] = ()
    """What is said in place of checked text, by token."""

    @property
    def tokens(self) -> int:
        return self.end - self.first

    @property
    def finish_reason(self) -> str | None:
        asked = self.script.dialect.finish_reason
        return ("length" if self.length_limited else "stop") if asked == "auto" else asked

    @property
    def first_token_delay_s(self) -> float:
        delay, rate = self.script.first_token_delay_s, self.script.read_tokens_per_s
        if isinstance(delay, SlowTail):
            delay = pareto(chance(self.key, "delay"), low=delay.low, high=delay.high, alpha=delay.alpha)
        return delay + ((self.prompt_tokens - self.cached_tokens) / rate if rate else 0.0)

    def text(self, number: int) -> str:
        if self.own:
            return self.own[number]
        last = number == self.end - 1
        said = token(self.key, number, last=last and self.marked)
        return said[self.skip if number == self.first else 0 : self.keep if last else None]

    def whole(self) -> str:
        return "".join(map(self.text, range(self.first, self.end)))

    def usage_body(self, sent: int) -> dict[str, object]:
        return {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": sent,
            "total_tokens": self.prompt_tokens + sent,
            "prompt_tokens_details": {"cached_tokens": self.cached_tokens},
        }


@dataclass(slots=True)
class Chances:
    """Which requests fail: the one word of a script that remembers."""

    failures_left: int | None = None
    asked: int = 0

    def next_failure(self, script: ScriptedModel, key: str) -> Failure | None:
        fail = script.fail
        self.asked += 1
        if fail is None or (fail.share < 1 and chance(f"{key}:{self.asked}", "fail") >= fail.share):
            return None
        if fail.times is None:
            return fail
        if self.failures_left == 0:
            return None
        self.failures_left = (self.failures_left or fail.times) - 1
        return fail


@dataclass(frozen=True, slots=True)
class _Request:
    """The fields of a request that mean something here; all others are let pass."""

    messages: tuple[Message, ...]
    seed: int
    limit: int | None
    stop: tuple[str, ...]


def make_plan(body: Mapping[str, object], script: ScriptedModel, chances: Chances, cache: PrefixCache) -> Plan:
    """Decide what the answer to a request will be. Raises `InvalidInput` for a request that makes no sense."""
    request = _read(body)
    messages, begun = _split(request.messages) if script.prefill else (request.messages, "")
    model = str(body["model"])
    key = text_key(model, messages, request.seed)
    own = _own_words(script, messages[-1].content)
    place = Place(0, 0, complete=False) if own else _place(key, begun)
    prompt_tokens = words(request.messages)
    length = len(own) or _length(script, key, place, prompt_tokens, request.limit)
    end = place.number if place.complete else min(length, place.number + (request.limit or length))
    fail = chances.next_failure(script, key)
    if fail and fail.kind == "empty":
        end = place.number
    stopped = None if own else _stop(key, place, end, request.stop, marked=end == length)
    marked = end == length and (stopped is None or stopped.number == end)
    whole = end == length or place.complete or stopped is not None or (fail is not None and fail.kind == "empty")
    end = stopped.number if stopped else end
    pause = script.pause if script.pause and _meets(script.pause, key) else None
    options = body.get("stream_options")
    top = body.get("top_logprobs")
    return Plan(
        model=model,
        key=key,
        first=place.number,
        skip=place.chars,
        end=end,
        keep=stopped.chars if stopped else None,
        marked=marked,
        length_limited=not whole,
        stream=body.get("stream") is True,
        usage=isinstance(options, dict) and bool(cast("dict[str, object]", options).get("include_usage")),
        logprobs=body.get("logprobs") is True,
        top_logprobs=top if isinstance(top, int) else 0,
        messages=messages,
        begun=begun,
        prompt_tokens=prompt_tokens,
        cached_tokens=cache.known(messages, begun),
        fail=fail,
        fail_at=_number(fail.at_token, key, "fail", place, end) if fail and fail.kind != "empty" else None,
        pause_at=_number(pause.at_token, key, "pause", place, end) if pause else None,
        script=script,
        own=own,
    )


def _own_words(script: ScriptedModel, question: str) -> tuple[str, ...]:
    text = next((saying.text for saying in script.says if re.search(saying.when, question, re.DOTALL)), "")
    return tuple(re.findall(r"\s*\S+|\s+\Z", text))


def _split(messages: tuple[Message, ...]) -> tuple[tuple[Message, ...], str]:
    """The question, and what of its answer is begun."""
    *before, last = messages
    return (tuple(before), last.content) if before and last.role == "assistant" else (messages, "")


def _place(key: str, begun: str) -> Place:
    try:
        return place_behind(key, begun) if begun else Place(0, 0, complete=False)
    except ValueError as error:
        raise InvalidInput(f"The begun answer is not this script's. {error}", field="messages") from None


def _length(script: ScriptedModel, key: str, place: Place, prompt_tokens: int, limit: int | None) -> int:
    match script.tokens:
        case int(length):
            return length
        case HeavyTail(low=low, high=high, alpha=alpha):
            return heavy_tail(key, low=low, high=high, alpha=alpha)
        case PerPrompt() as per:
            drawn = log_normal(key, median=per.per_prompt_token * prompt_tokens, spread=per.spread)
            return int(min(per.high, max(per.low, drawn)))
        case "max_tokens":
            return max(_LEAST_LENGTH, place.number + (limit or _DEFAULT_LENGTH))


def _stop(key: str, place: Place, end: int, stops: tuple[str, ...], *, marked: bool) -> Place | None:
    """Where the first of the stop words cuts the answer: within the token before `number`, behind `chars` of it."""
    if not stops:
        return None
    tokens = [token(key, number, last=marked and number == end - 1) for number in range(place.number, end)]
    text = "".join(tokens)
    found = [at for stop in stops if (at := text.find(stop, place.chars)) >= 0]
    if not found:
        return None
    left = min(found)
    for number, one in enumerate(tokens, place.number + 1):
        if left <= len(one):
            return Place(number, left, complete=True)
        left -= len(one)
    raise AssertionError("unreachable")


def _meets(pause: Pause, key: str) -> bool:
    return pause.share == 1 or chance(key, "pauses") < pause.share


def _number(at: Point, key: str, what: str, place: Place, end: int) -> int:
    offset = int(chance(key, f"{what}:{place.number}") * (end - place.number)) if at == "random" else at
    return place.number + offset


def _read(body: Mapping[str, object]) -> _Request:
    seed, stop = body.get("seed"), body.get("stop")
    limit = body.get("max_tokens", body.get("max_completion_tokens"))
    if seed is not None and not isinstance(seed, int):
        raise InvalidInput("seed is a whole number.", field="seed")
    if limit is not None and not (isinstance(limit, int) and limit > 0):
        raise InvalidInput("max_tokens is a whole number above 0.", field="max_tokens")
    stops = [stop] if isinstance(stop, str) else cast("list[object]", stop) if isinstance(stop, list) else []
    return _Request(_read_messages(body.get("messages")), seed or 0, limit, tuple(str(one) for one in stops if one))


def _read_messages(value: object) -> tuple[Message, ...]:
    if not isinstance(value, list) or not value:
        raise InvalidInput("messages is a list with at least one message.", field="messages")
    return tuple(map(_read_message, cast("list[object]", value)))


def _read_message(item: object) -> Message:
    fields = cast("dict[str, object]", item) if isinstance(item, dict) else {}
    role, content = fields.get("role"), fields.get("content")
    if isinstance(content, list):
        parts = [cast("dict[str, object]", part) for part in cast("list[object]", content) if isinstance(part, dict)]
        content = "".join(str(part.get("text", "")) for part in parts)
    if role not in {"system", "developer", "user", "assistant"} or not isinstance(content, str):
        raise InvalidInput("A message has a role and its content is text.", field="messages")
    return Message(cast("Role", "system" if role == "developer" else role), content)
