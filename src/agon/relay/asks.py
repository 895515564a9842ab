"""A request for a chat completion, as much of it as has to be understood. PURE."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from agon.core.errors import InvalidInput, NotFound
from agon.core.placement import Cost
from agon.dispatch.costs import turn_cost

_NO_LIMIT = 1 << 30
_MODEL = re.compile(rb'"model"\s*:\s*"([^"\\]*)"')


@dataclass(frozen=True, slots=True)
class Ask:
    raw: bytes
    """The whole body as it came."""
    fields: Mapping[str, Any]
    model: str
    messages: tuple[Mapping[str, Any], ...]
    stream: bool
    max_tokens: int | None
    client: str
    key: str | None = None
    """The client's `Idempotency-Key`."""

    @property
    def usage(self) -> bool:
        """Whether a stream is to end with a chunk of usage."""
        options = self.fields.get("stream_options")
        return isinstance(options, dict) and bool(cast("dict[str, Any]", options).get("include_usage"))

    def cost(self) -> Cost:
        """What the answer will take. What images and tools take is guessed by their length."""
        *history, last = [_text(message) for message in self.messages]
        cost = turn_cost(last, self.max_tokens or _NO_LIMIT, history=history)
        # Of a first turn, nobody has read more than perhaps the system's words.
        return cost if len(history) > 1 else replace(cost, cached=0)

    def prefix(self) -> str:
        """Names the conversation by how it begins: up to the first words of the user, which no later turn changes."""
        digest = hashlib.blake2b(self.model.encode("utf-8", "surrogatepass"), digest_size=12)
        for message in self.messages:
            digest.update(repr((message.get("role"), message.get("content"))).encode("utf-8", "surrogatepass"))
            if message.get("role") == "user":
                break
        return f"v1:{digest.hexdigest()}"

    def body_for(self, model: bytes, seed: int | None) -> bytes:
        """The body with the name that the server knows (as JSON), and a seed where the client has given none."""
        add = seed is not None and self.fields.get("seed") is None
        found = _MODEL.search(self.raw) if not add and self.raw.count(b'"model"') == 1 else None
        if found is not None and found[1].decode("utf-8", "replace") == self.model:
            start, end = found.span()
            return b'%b"model":%b%b' % (self.raw[:start], model, self.raw[end:])
        fields = {**self.fields, "model": json.loads(model)}
        if add:
            fields["seed"] = seed
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def read(raw: bytes, client: str, key: str | None = None) -> Ask:
    """Understand a body. Raises `InvalidInput`, naming the field; what is not needed here is the server's to judge."""
    try:
        value: object = json.loads(raw)
    except (ValueError, RecursionError):
        raise InvalidInput("The body is not valid JSON.", code="invalid_json") from None
    if not isinstance(value, dict):
        raise InvalidInput("The body is a JSON object.", field="body")
    fields = cast("dict[str, Any]", value)
    model = fields.get("model")
    if model is None:
        raise InvalidInput("You must provide a model.", code="missing_field", field="model")
    if not isinstance(model, str):
        raise InvalidInput("model is a text.", field="model")
    stream = fields.get("stream")
    if stream is not None and not isinstance(stream, bool):
        raise InvalidInput("stream is true or false.", field="stream")
    return Ask(raw, fields, model, _messages(fields), stream is True, _max_tokens(fields), client, key)


def _messages(fields: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    messages = fields.get("messages")
    if messages is None:
        raise InvalidInput("You must provide messages.", code="missing_field", field="messages")
    if not isinstance(messages, list) or not messages:
        raise InvalidInput("messages is a list with at least one message.", field="messages")
    for number, message in enumerate(cast("list[object]", messages)):
        if not isinstance(message, dict) or not isinstance(cast("dict[str, Any]", message).get("role"), str):
            raise InvalidInput("A message is an object with a role.", field=f"messages[{number}]")
    return tuple(cast("list[Mapping[str, Any]]", messages))


def _max_tokens(fields: Mapping[str, Any]) -> int | None:
    for name in ("max_completion_tokens", "max_tokens"):
        value: object = fields.get(name)
        if value is None:
            continue
        if not isinstance(value, int) or isinstance(value, bool):
            raise InvalidInput(f"{name} is a whole number.", field=name)
        if value < 1:
            raise InvalidInput(f"{name} is at least 1, and was {value}.", field=name)
        return value
    return None


def unknown(model: str) -> NotFound:
    return NotFound(f"The model '{model}' does not exist.", code="model_not_found", field="model")


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else json.dumps(content)
