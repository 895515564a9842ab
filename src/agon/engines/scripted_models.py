"""How a scripted model behaves: the words of `POST /control`."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agon.core.errors import InvalidInput

FailureKind = Literal[
    "http_500", "http_503", "http_429", "disconnect", "truncate", "error_event", "garbage", "stall", "empty"
]


class _Words(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class HeavyTail(_Words):
    """Lengths of answers as people see them: most short, some very long. A bounded Pareto distribution."""

    low: Annotated[int, Field(ge=2)] = 20
    high: Annotated[int, Field(ge=2)] = 800
    alpha: Annotated[float, Field(gt=0)] = 1.2


class Failure(_Words):
    kind: FailureKind
    at_token: Annotated[int, Field(ge=0)] = 0
    """How many tokens come before it; the HTTP kinds and `empty` fail before the first."""
    times: Annotated[int, Field(ge=1)] | None = None
    """How many requests fail; `None` for all of them."""


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
    first_token_delay_s: Annotated[float, Field(ge=0)] = 0.0
    tokens: Annotated[int, Field(ge=2)] | HeavyTail = 64
    tick_ms: Annotated[float, Field(gt=0)] = 10.0
    """Tokens due within one tick share one write; widen it to drive thousands of streams."""
    fail: Failure | None = None
    dialect: Dialect = Dialect()
    refuse_fields: tuple[str, ...] = ()
    """Request fields to refuse with a 400 that names them."""
    whole_json: bool = False
    """Answer in one JSON body even if a stream is asked for."""
    max_active: Annotated[int, Field(ge=1)] | None = None
    """Refuse with 429 beyond so many answers at a time."""

    def changed(self, patch: dict[str, object]) -> "ScriptedModel":
        """Return a copy with some words changed. Raises `InvalidInput`."""
        try:
            return ScriptedModel.model_validate({**self.model_dump(), **patch})
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(str(part) for part in first["loc"])
            raise InvalidInput(f"{field}: {first['msg']}.", field=field) from None
