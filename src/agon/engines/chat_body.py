"""The fields of an OpenAI chat request, as every engine is sent them. Does no I/O."""

from collections.abc import Sequence

from agon.core.generation import GenerationRequest, Message

OWN_FIELDS = frozenset({"model", "messages", "stream", "stream_options", "seed", "max_tokens", "max_completion_tokens"})
"""What Agon decides by itself, whatever a request says."""


def chat_body(request: GenerationRequest, messages: Sequence[Message] | None = None) -> dict[str, object]:
    """The body that asks for a stream. Fields that are passed on come as they are, zeros too, and give way to ours."""
    fields = {name: value for name, value in request.extra.items() if name not in OWN_FIELDS}
    said = [Message("assistant", request.said)] if request.said else []
    asked = [*(request.messages if messages is None else messages), *said]
    sampling = request.sampling
    fields |= {
        "messages": [{"role": message.role, "content": message.content} for message in asked],
        "stream": True,
        "stream_options": {"include_usage": True},
        "seed": request.seed,
        "max_tokens": sampling.max_tokens,
    }
    if sampling.temperature is not None:
        fields["temperature"] = sampling.temperature
    if sampling.top_p is not None:
        fields["top_p"] = sampling.top_p
    return fields
