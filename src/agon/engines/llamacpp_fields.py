"""Which fields of a request reach llama.cpp in this process. Does no I/O.

What a stranger asks for must not end the process or take its memory: a grammar that is nested deeply overruns the
native stack, and a window of many tokens is allocated at once. So what is passed on is named here; all else is left
out, as it is where an engine does not know a field.
"""

import json
from collections.abc import Mapping

from agon.core.errors import EngineRejected

_OURS = frozenset({"messages", "stream", "stream_options", "seed", "max_tokens", "temperature", "top_p"})
_HARMLESS = frozenset(
    {
        "frequency_penalty",
        "ignore_eos",
        "logit_bias",
        "logprobs",
        "min_p",
        "mirostat",
        "mirostat_eta",
        "mirostat_tau",
        "presence_penalty",
        "repeat_penalty",
        "stop",
        "top_k",
        "top_logprobs",
        "typical_p",
        "xtc_probability",
        "xtc_threshold",
    }
)
_SHAPING = frozenset({"chat_template_kwargs", "response_format", "tool_choice", "tools"})
"""A grammar or a prompt is made of these: what that takes grows faster than their length."""
_MOST_SHAPING_CHARS = 8192


def known_fields(body: Mapping[str, object]) -> dict[str, object]:
    """The body without what llama.cpp is not to see. Raises `EngineRejected` for fields that are too large."""
    shaping = {name: value for name, value in body.items() if name in _SHAPING}
    if shaping and len(json.dumps(shaping)) > _MOST_SHAPING_CHARS:
        names = " and ".join(sorted(shaping))
        raise EngineRejected(f"{names} may take {_MOST_SHAPING_CHARS} characters here, and take more.")
    return shaping | {name: value for name, value in body.items() if name in _OURS or name in _HARMLESS}
