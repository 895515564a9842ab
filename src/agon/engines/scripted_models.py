"""How a scripted model behaves: the words of `POST /control`."""

import json
from collections.abc import Iterator
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agon.core.errors import InvalidInput

FailureKind = Literal[
    "http_500", "http_503", "http_429", "disconnect", "truncate", "error_event", "garbage", "stall", "empty"
]
Share = Annotated[float, Field(ge=0, le=1)]
Point = Annotated[int, Field(ge=0)] | Literal["random"]
"""So many tokens behind the beginning of an answer, or anywhere in it, as the key of the text draws it."""


class _Words(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class HeavyTail(_Words):
    """Lengths of answers as people see them: most short, some very long. A bounded Pareto distribution."""

    low: Annotated[int, Field(ge=2)] = 20
    high: Annotated[int, Field(ge=2)] = 800
    alpha: Annotated[float, Field(gt=0)] = 1.2


class PerPrompt(_Words):
    """Lengths that grow with the prompt: the median, times a log-normal factor."""

    per_prompt_token: Annotated[float, Field(gt=0)]
    """Tokens of the answer for each of the prompt."""
    spread: Annotated[float, Field(ge=0)] = 0.5
    """Standard deviation of the factor's logarithm."""
    low: Annotated[int, Field(ge=2)] = 2
    high: Annotated[int, Field(ge=2)] = 4000


Length = Annotated[int, Field(ge=2)] | Literal["max_tokens"] | HeavyTail | PerPrompt
"""`max_tokens` is as long as each request allows."""


class SlowTail(_Words):
    """Seconds, most few, some many. A bounded Pareto distribution."""

    low: Annotated[float, Field(gt=0)] = 0.1
    high: Annotated[float, Field(gt=0)] = 5.0
    alpha: Annotated[float, Field(gt=0)] = 1.2


class Failure(_Words):
    kind: FailureKind
    """http_500, http_503, http_429, disconnect, truncate, error_event, garbage, stall or empty."""
    at_token: Point = 0
    """How many tokens come before it, or "random"; the HTTP kinds and `empty` fail before the first."""
    times: Annotated[int, Field(ge=1)] | None = None
    """How many requests fail; `None` for all of them."""
    share: Share = 1.0
    """Of all requests."""


class Pause(_Words):
    at_token: Point = "random"  # noqa: S105 - no password
    seconds: Annotated[float, Field(gt=0)] = 1.0
    share: Share = 1.0


class Saying(_Words):
    """An answer of given words, in place of checked text: for judges and the like."""

    text: Annotated[str, Field(min_length=1)]
    when: str = ""
    """A regular expression that the question holds."""


class Dialect(_Words):
    """Lawful oddities of servers' event streams."""

    crlf: bool = False
    no_space: bool = False
    """`data:{…}` rather than `data: {…}`."""
    comments: bool = False
    split_utf8: bool = False
    """Cut writes in the middle of characters."""
    role_delta: bool = True
    """Begin with a delta that names the role and carries no text."""
    reasoning_deltas: Annotated[int, Field(ge=0)] = 0
    """Hidden thoughts before the first token."""
    finish_reason: str | None = "auto"
    """`auto` is `stop` or `length`; `None` leaves it to `[DONE]`."""
    done: bool = True
    usage_chunk: bool = True
    """A last chunk with usage and no choices, if the request asks for usage."""


class ScriptedModel(_Words):
    rate_tokens_per_s: Annotated[float, Field(ge=0)] = 0.0
    """0 is as fast as it goes."""
    first_token_delay_s: Annotated[float, Field(ge=0)] | SlowTail = 0.0
    """Seconds, or drawn from most few and some many."""
    read_tokens_per_s: Annotated[float, Field(ge=0)] = 0.0
    """How fast what is not cached of a prompt is read, before the first token; 0 takes no time."""
    tokens: Length = 64
    """Length of an answer, "max_tokens" for what each request allows, or one of these."""
    tick_ms: Annotated[float, Field(gt=0)] = 10.0
    """Tokens due within one tick share one write; widen it to drive thousands of streams."""
    max_running: Annotated[int, Field(ge=1)] | None = None
    """Answers at a time; further ones wait in a queue, as at vLLM."""
    max_active: Annotated[int, Field(ge=1)] | None = None
    """Refuse with 429 beyond so many answers, running or waiting."""
    prefill: bool = False
    """Go on behind a begun answer that is the last message. One that is not this script's text is refused."""
    fail: Failure | None = None
    """How requests fail."""
    pause: Pause | None = None
    """A stall that ends: nothing is said for a while, and then the answer goes on."""
    says: tuple[Saying, ...] = ()
    """Given words to some questions; the first that fits. Their length is their own, and `stop` and `prefill` are
    not heeded."""
    dialect: Dialect = Dialect()
    """Lawful oddities of servers' event streams."""
    refuse_fields: tuple[str, ...] = ()
    """Request fields to refuse with a 400 that names them."""
    whole_json: bool = False
    """Answer in one JSON body even if a stream is asked for."""

    def changed(self, patch: dict[str, object]) -> "ScriptedModel":
        """Return a copy with some words changed. Raises `InvalidInput`."""
        try:
            return ScriptedModel.model_validate({**self.model_dump(), **patch})
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(str(part) for part in first["loc"])
            raise InvalidInput(f"{field}: {first['msg']}.", field=field) from None


def describe() -> str:
    """The words of a script with their defaults, for `--help`."""
    return "\n".join(_describe(ScriptedModel))


def _describe(words: type[_Words], indent: str = "  ") -> Iterator[str]:
    for name, field in words.model_fields.items():
        silent = field.is_required() or isinstance(field.default, _Words)
        default = "" if silent else f" ({json.dumps(field.default)})"
        yield f"{indent}{name}{default}{': ' if field.description else ''}{' '.join((field.description or '').split())}"
        kinds = (field.annotation, *get_args(field.annotation))
        for kind in kinds:
            if isinstance(kind, type) and issubclass(kind, _Words):
                yield from _describe(kind, indent + "    ")
