"""Answers of a model inside a runner, in the words of OpenAI's API. PURE."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agon.core.events import Usage

DONE = b"data: [DONE]\n\n"
_NO_USAGE = Usage()


@dataclass(frozen=True, slots=True)
class Words:
    """What every part of one answer says."""

    id: str
    model: str
    created: int

    def chunk(
        self,
        delta: Mapping[str, Any],
        *,
        reason: str | None = None,
        logprobs: Sequence[Mapping[str, Any]] | None = None,
    ) -> bytes:
        shown = {} if logprobs is None else {"logprobs": {"content": [*logprobs], "refusal": None}}
        return self._event({"choices": [{"index": 0, "delta": delta, **shown, "finish_reason": reason}]})

    def usage_chunk(self, usage: Usage | None) -> bytes:
        return self._event({"choices": [], "usage": _usage(usage)})

    def whole(
        self, text: str, reason: str | None, usage: Usage | None, logprobs: Sequence[Mapping[str, Any]] | None
    ) -> bytes:
        message = {"role": "assistant", "content": text, "refusal": None}
        shown = None if logprobs is None else {"content": [*logprobs], "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": shown, "finish_reason": reason}
        body = self._head("chat.completion") | {"choices": [choice], "usage": _usage(usage)}
        return _dump(body)

    def _event(self, fields: Mapping[str, Any]) -> bytes:
        return b"data: %b\n\n" % _dump({**self._head("chat.completion.chunk"), **fields})

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}


def _usage(usage: Usage | None) -> dict[str, Any]:
    usage = usage or _NO_USAGE
    prompt, completion = usage.prompt_tokens or 0, usage.completion_tokens or 0
    counts: dict[str, Any] = {"prompt_tokens": prompt, "completion_tokens": completion}
    counts["total_tokens"] = prompt + completion
    if usage.cached_tokens is not None:
        counts["prompt_tokens_details"] = {"cached_tokens": usage.cached_tokens}
    return counts


def _dump(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
