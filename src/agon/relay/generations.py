"""A request for a chat completion as an engine inside a runner understands it. PURE."""

from collections.abc import Mapping
from typing import Any, cast

from agon.core.errors import InvalidInput
from agon.core.generation import GenerationRequest, Message, Role, Sampling
from agon.relay.asks import Ask

_OURS = {
    "model", "messages", "stream", "stream_options", "max_tokens", "max_completion_tokens", "temperature", "top_p",
    "seed", "n",
}  # fmt: skip
_ROLES: Mapping[str, Role] = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_SEEDS = 1 << 31


def generation_of(ask: Ask, *, seed: int, max_tokens: int) -> GenerationRequest:
    """What to ask an engine. `seed` and `max_tokens` are for a client who gives none. Raises `InvalidInput`."""
    fields = ask.fields
    if fields.get("n") not in (None, 1):
        raise InvalidInput("This model gives one answer at a time.", field="n")
    own_seed = fields.get("seed")
    if own_seed is not None and (not isinstance(own_seed, int) or isinstance(own_seed, bool)):
        raise InvalidInput("seed is a whole number.", field="seed")
    sampling = Sampling(
        ask.max_tokens or max_tokens,
        temperature=_number(fields, "temperature", least=0.0, most=2.0),
        top_p=_number(fields, "top_p", least=0.0, most=1.0),
    )
    messages = tuple(_message(number, message) for number, message in enumerate(ask.messages))
    extra = {name: value for name, value in fields.items() if name not in _OURS}
    return GenerationRequest(messages, sampling, seed if own_seed is None else own_seed % _SEEDS, extra=extra)


def _message(number: int, message: Mapping[str, Any]) -> Message:
    role = _ROLES.get(message["role"])
    if role is None:
        raise InvalidInput("This model knows system, user and assistant.", field=f"messages[{number}].role")
    return Message(role, _text(number, message.get("content")))


def _text(number: int, content: object) -> str:
    if isinstance(content, str):
        return content
    parts = cast("list[object]", content) if isinstance(content, list) else [None]
    texts = [cast("dict[str, Any]", part).get("text") if isinstance(part, dict) else None for part in parts]
    if not all(isinstance(text, str) for text in texts):
        raise InvalidInput("This model reads text only.", field=f"messages[{number}].content")
    return "".join(cast("list[str]", texts))


def _number(fields: Mapping[str, Any], name: str, *, least: float, most: float) -> float | None:
    value: object = fields.get(name)
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not least <= value <= most:
        raise InvalidInput(f"{name} is a number from {least:g} to {most:g}.", field=name)
    return float(value)
