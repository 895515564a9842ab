"""How the scripted engine puts an answer on the wire."""

import json
import math
from collections.abc import Iterator, Mapping

from aiohttp import web

from agon.engines.scripted_plan import Plan
from agon.engines.scripted_text import chance


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

    def say(self, first: int, end: int) -> bytes:
        """The tokens from one number to before another, each a chunk."""
        plan = self._plan
        if plan.logprobs:
            logprobs = (logprobs_body(plan, number) for number in range(first, end))
            chunks = (self._chunk({"content": one["token"]}, None, [one]) for one in logprobs)
            return b"".join(map(self.event, chunks))
        return b"".join(self.delta({"content": plan.text(number)}) for number in range(first, end))

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

    def _chunk(self, delta: object, finish_reason: str | None, logprobs: object = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
        if logprobs is not None:
            choice["logprobs"] = {"content": logprobs}
        return json.dumps(self._frame | {"choices": [choice]})


def _cut_characters(data: bytes) -> Iterator[bytes]:
    start = 0
    for position, byte in enumerate(data):
        if byte & 0xC0 == 0x80:  # a continuation byte: the cut before it is inside a character
            yield data[start:position]
            start = position
    yield data[start:]


def whole_body(plan: Plan) -> dict[str, object]:
    message = {"role": "assistant", "content": plan.whole()}
    choice: dict[str, object] = {"index": 0, "message": message, "finish_reason": plan.finish_reason}
    if plan.logprobs:
        choice["logprobs"] = {"content": [logprobs_body(plan, number) for number in range(plan.first, plan.end)]}
    return {
        "id": f"chatcmpl-{plan.key}",
        "object": "chat.completion",
        "created": 0,
        "model": plan.model,
        "choices": [choice],
        "usage": plan.usage_body(plan.tokens),
    }


def logprobs_body(plan: Plan, number: int) -> dict[str, object]:
    """A made-up certainty of one token, the same each time, with as many others as were asked for."""
    text = plan.text(number)
    certainty = chance(plan.key, f"logprob:{number}")

    def entry(token: str, share: float) -> dict[str, object]:
        return {"token": token, "logprob": round(math.log(share), 6), "bytes": list(token.encode())}

    likely = 0.5 + certainty / 2.5
    others = (entry(f" other{rank}", (1 - likely) / 2**rank) for rank in range(1, plan.top_logprobs))
    top = [entry(text, likely), *others] if plan.top_logprobs else []
    return {**entry(text, likely), "top_logprobs": top}
