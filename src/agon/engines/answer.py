"""Reads the chunks of one OpenAI-style answer, whichever engine sent them. Does no I/O."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from agon.core.errors import EngineError, EngineRejected, EngineTruncated
from agon.core.generation import BUSY_CODE, EMPTY_CODE, Finish, FinishReason, Piece
from agon.core.text import printable
from agon.engines.faults import hide

DONE = "[DONE]"

_REASONS = {
    "stop": FinishReason.STOP,
    "eos": FinishReason.STOP,
    "eos_token": FinishReason.STOP,
    "end_turn": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP,
    "length": FinishReason.LENGTH,
    "max_tokens": FinishReason.LENGTH,
    "model_length": FinishReason.LENGTH,
}

_DETAIL_CHARS = 300
_NOTHING: Mapping[str, object] = {}


class AnswerReader:
    """The state of one answer: feed it chunks in order, then ask for its `finish`.

    `secret` is kept out of every error, whatever the engine says. An answer that was `begun` before may end at once.
    """

    def __init__(self, *, secret: str | None = None, begun: bool = False) -> None:
        self._secret = secret
        self.done = False
        """The server said that nothing follows."""
        self.progressed = False
        """The model has produced something, be it text or hidden reasoning."""
        self._has_words = begun
        self._started = False
        self._reason: FinishReason | None = None
        self._usage: Mapping[str, object] = {}
        self._timings: Mapping[str, object] = {}
        self._logprobs: list[Mapping[str, Any]] = []

    @property
    def started(self) -> bool:
        """Text was read."""
        return self._started

    @property
    def ended(self) -> bool:
        """The answer is whole, even if nothing more arrives."""
        return self.done or self._reason is not None

    def take(self, data: str) -> Piece | None:
        """Read the data of one server-sent event."""
        if data.strip() == DONE:
            self.done = True
            return None
        return self.take_chunk(parse_object(data))

    def take_chunk(self, chunk: Mapping[str, object]) -> Piece | None:
        """Read one streamed chunk."""
        return self._take_part(chunk, "delta")

    def take_whole(self, body: Mapping[str, object]) -> Piece | None:
        """Read an answer that came in one piece."""
        piece = self._take_part(body, "message")
        self.done = True
        tokens = count(self._usage, "completion_tokens")
        return replace(piece, tokens=tokens) if piece and tokens else piece

    def finish(self) -> Finish:
        """Return how the answer ended. Raises `EngineTruncated`, or `EngineRejected` for an answer without a word."""
        if not self.ended:
            raise EngineTruncated("The engine's stream stopped without saying that the answer is complete.")
        if not self._has_words:
            raise EngineRejected("The engine ended its answer without a word.", code=EMPTY_CODE)
        return Finish(
            self._reason or FinishReason.STOP,
            prompt_tokens=count(self._usage, "prompt_tokens"),
            completion_tokens=count(self._usage, "completion_tokens"),
            cached_tokens=self._cached(),
            drafted_tokens=count(self._timings, "draft_n"),
            accepted_tokens=count(self._timings, "draft_n_accepted"),
        )

    def _cached(self) -> int | None:
        """As OpenAI says it, else as llama.cpp does."""
        told = count(as_object(self._usage.get("prompt_tokens_details")), "cached_tokens")
        return count(self._timings, "cache_n") if told is None else told

    def _take_part(self, chunk: Mapping[str, object], part: str) -> Piece | None:
        if chunk.get("error") is not None or chunk.get("object") == "error":
            raise self._failure(chunk)
        self._usage = as_object(chunk.get("usage")) or self._usage
        self._timings = as_object(chunk.get("timings")) or self._timings
        choice = _first_choice(chunk)
        self._logprobs += _logprobs(choice)
        content = as_object(choice.get(part))
        self._take_reason(choice.get("finish_reason"))
        if content.get("reasoning_content") or content.get("reasoning"):
            self.progressed = True
        return self._piece(content.get("content") or content.get("refusal"))

    def _piece(self, text: object) -> Piece | None:
        if not text:
            return None
        if not isinstance(text, str):
            raise EngineRejected("The engine sent content that is not text.")
        self.progressed = self._started = True
        self._has_words = self._has_words or not text.isspace()
        logprobs, self._logprobs = tuple(self._logprobs), []
        return Piece(text, max(1, len(logprobs)), logprobs or None)

    def _take_reason(self, reason: object) -> None:
        if reason is None or reason == "":
            return
        if reason == "content_filter":
            raise EngineRejected("The engine's content filter stopped the answer.", code="engine_filtered")
        if not isinstance(reason, str) or reason not in _REASONS:
            raise EngineRejected(f"The engine ended its answer for a reason of its own: {str(reason)[:60]}.")
        self._reason = _REASONS[reason]

    def _failure(self, chunk: Mapping[str, object]) -> EngineError:
        if is_busy(chunk):
            return EngineRejected("The engine is busy.", code=BUSY_CODE)
        detail = error_detail(chunk, secret=self._secret)
        if self._started:
            return EngineError(f"The engine failed while it answered: {detail}")
        return EngineRejected(f"The engine refused the request: {detail}")


def parse_object(text: str | bytes) -> Mapping[str, object]:
    """Parse a JSON object. Raises `EngineRejected` for anything else."""
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        raise EngineRejected("The engine sent something that is not JSON.", code="engine_garbage") from None
    if not isinstance(value, dict):
        raise EngineRejected("The engine sent JSON that is not an object.", code="engine_garbage")
    return cast("dict[str, object]", value)


def as_object(value: object) -> Mapping[str, object]:
    """Return a JSON object as it is, and an empty one for anything else."""
    return cast("dict[str, object]", value) if isinstance(value, dict) else _NOTHING


def error_detail(body: Mapping[str, object], *, secret: str | None = None) -> str:
    """Find the sentence in an error body: servers put it in one of three places. The secret is kept out of it."""
    error = body.get("error")
    words = as_object(error).get("message") or (error if isinstance(error, str) else None) or body.get("message")
    # Hidden before it is cut, or a part of the secret might be left at the end.
    return printable(hide(" ".join(str(words or "no reason given").split()), secret))[:_DETAIL_CHARS]


def is_busy(body: Mapping[str, object]) -> bool:
    """Return whether an error body means that there is too much to do."""
    error = as_object(body.get("error"))
    signs = {str(error.get(key)) for key in ("code", "type", "status")}
    return bool(signs & {"429", "529", "rate_limit_exceeded", "rate_limit_error", "overloaded_error"})


def _first_choice(chunk: Mapping[str, object]) -> Mapping[str, object]:
    choices = chunk.get("choices")
    if not isinstance(choices, list):
        return _NOTHING
    objects = map(as_object, cast("list[object]", choices))
    return next((choice for choice in objects if choice.get("index", 0) == 0), _NOTHING)


def _logprobs(choice: Mapping[str, object]) -> list[Mapping[str, Any]]:
    content = as_object(choice.get("logprobs")).get("content")
    return [as_object(one) for one in cast("list[object]", content)] if isinstance(content, list) else []


def count(usage: Mapping[str, object], key: str) -> int | None:
    """Return a number of tokens that an engine tells, or None."""
    value = usage.get(key)
    return value if isinstance(value, int) and value >= 0 else None
