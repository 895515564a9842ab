"""How the scripted engine puts an answer on the wire."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from aiohttp import web

from agon.engines.scripted_models import Failure, ScriptedModel
from agon.engines.scripted_text import token


@dataclass(frozen=True, slots=True)
class Plan:
    """All that is decided about one answer before its first byte."""

    model: str
    key: str
    tokens: int
    length_limited: bool
    stream: bool
    usage: bool
    prompt_tokens: int
    fail: Failure | None
    script: ScriptedModel

    @property
    def finish_reason(self) -> str | None:
        asked = self.script.dialect.finish_reason
        return ("length" if self.length_limited else "stop") if asked == "auto" else asked

    def text(self, number: int) -> str:
        return token(self.key, number, last=number == self.tokens - 1 and not self.length_limited)

    def usage_body(self, sent: int) -> dict[str, int]:
        return {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": sent,
            "total_tokens": self.prompt_tokens + sent,
        }


class Wire:
    """Puts one answer's chunks on the wire in its dialect."""

    def __init__(self, response: web.StreamResponse, plan: Plan) -> None:
        self.response = response
        self._plan = plan
        self._dialect = plan.script.dialect
        self._end = "\r\n" if self._dialect.crlf else "\n"
        frame: dict[str, object] = {"id": f"chatcmpl-{plan.key}", "object": "chat.completion.chunk", "created": 0}
        self._frame = frame | {"model": plan.model}
        # One template for all deltas: building each from scratch is most of the cost of a fast stream.
        self._before, self._after = self._chunk("\0", None).split('"\\u0000"')

    def event(self, data: str) -> bytes:
        colon = "data:" if self._dialect.no_space else "data: "
        comment = f": keep-alive{self._end}{self._end}" if self._dialect.comments else ""
        return f"{comment}{colon}{data}{self._end}{self._end}".encode()

    def delta(self, delta: Mapping[str, object]) -> bytes:
        return self.event(f"{self._before}{json.dumps(delta, ensure_ascii=False)}{self._after}")

    def opening(self) -> bytes:
        deltas: list[dict[str, object]] = []
        if self._dialect.role_delta:
            deltas.append({"role": "assistant", "content": None})
        deltas.extend({"reasoning_content": "hmm "} for _ in range(self._dialect.reasoning_deltas))
        return b"".join(map(self.delta, deltas))

    def ending(self, sent: int) -> bytes:
        events: list[str] = []
        if self._plan.finish_reason is not None:
            events.append(self._chunk({}, self._plan.finish_reason))
        if self._plan.usage and self._dialect.usage_chunk:
            events.append(json.dumps(self._frame | {"choices": [], "usage": self._plan.usage_body(sent)}))
        if self._dialect.done:
            events.append("[DONE]")
        return b"".join(map(self.event, events))

    async def send(self, data: bytes) -> None:
        if not data:
            return
        for part in _cut_characters(data) if self._dialect.split_utf8 else (data,):
            await self.response.write(part)

    def _chunk(self, delta: object, finish_reason: str | None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
        return json.dumps(self._frame | {"choices": [choice]})


def _cut_characters(data: bytes) -> Iterator[bytes]:
    start = 0
    for position, byte in enumerate(data):
        if byte & 0xC0 == 0x80:  # a continuation byte: the cut before it is inside a character
            yield data[start:position]
            start = position
    yield data[start:]


def whole_body(plan: Plan) -> dict[str, object]:
    text = "".join(plan.text(number) for number in range(plan.tokens))
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": plan.finish_reason}
    return {
        "id": f"chatcmpl-{plan.key}",
        "object": "chat.completion",
        "model": plan.model,
        "choices": [choice],
        "usage": plan.usage_body(plan.tokens),
    }
