"""What `/v1` takes and gives, for the OpenAPI document. At run time a model's server judges most fields."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import models_json_schema

from agon.api.openai import COMPLETIONS, MODEL, MODELS

_REFS = "#/components/schemas/{model}"


class _Open(BaseModel):
    """Further fields go on as they are."""

    model_config = ConfigDict(extra="allow")


class ChatMessageIn(_Open):
    """One message of a dialogue."""

    role: str
    """`system`, `user` or `assistant`; others where the model's server knows them."""
    content: str | list[Any] | None = None


class ChatCompletionBody(_Open):
    """A request as OpenAI's API takes it. What is not listed here goes to the model's server as it is."""

    model: str
    """A contestant's name."""
    messages: list[ChatMessageIn] = Field(min_length=1)
    stream: bool | None = None
    stream_options: dict[str, Any] | None = None
    max_tokens: int | None = Field(default=None, ge=1)
    max_completion_tokens: int | None = Field(default=None, ge=1)
    temperature: float | None = None
    top_p: float | None = None
    stop: str | list[str] | None = None
    seed: int | None = None
    logprobs: bool | None = None


class ChatChoiceOut(_Open):
    """One answer."""

    index: int
    message: dict[str, Any]
    finish_reason: str | None


class ChatCompletionOut(_Open):
    """An answer as OpenAI's API gives it."""

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[ChatChoiceOut]
    usage: dict[str, Any] | None = None


class OpenAiModelOut(BaseModel):
    """A contestant that can be asked."""

    id: str
    object: Literal["model"]
    created: int
    owned_by: str


class OpenAiModelsOut(BaseModel):
    """The contestants that can be asked."""

    object: Literal["list"]
    data: list[OpenAiModelOut]


class OpenAiErrorDetail(BaseModel):
    """What went wrong."""

    message: str
    type: str
    param: str | None
    """The field that it speaks of."""
    code: str | None


class OpenAiErrorBody(BaseModel):
    """Every error of `/v1`, in OpenAI's shape."""

    error: OpenAiErrorDetail


_SCHEMAS = (ChatCompletionBody, ChatCompletionOut, OpenAiModelOut, OpenAiModelsOut, OpenAiErrorBody)
_MODEL: dict[str, Any] = {"id": "smollm2-135m-instruct", "object": "model", "created": 0, "owned_by": "agon"}
_USAGE = {"prompt_tokens": 31, "completion_tokens": 8, "total_tokens": 39}
_MESSAGE = {"role": "assistant", "content": "2 + 2 equals 4."}
OPENAI_EXAMPLES: dict[str, dict[str, Any]] = {
    "ChatCompletionBody": {
        "model": "smollm2-135m-instruct",
        "messages": [{"role": "user", "content": "What is 2 + 2?"}],
        "max_tokens": 64,
        "temperature": 0,
        "stream": False,
    },
    "ChatCompletionOut": {
        "id": "chatcmpl-0198c1de7c1f4c559a5e4f3f3d0e8a11",
        "object": "chat.completion",
        "created": 1769860800,
        "model": "smollm2-135m-instruct",
        "choices": [{"index": 0, "message": _MESSAGE, "finish_reason": "stop"}],
        "usage": _USAGE,
    },
    "OpenAiModelOut": _MODEL,
    "OpenAiModelsOut": {"object": "list", "data": [_MODEL]},
    "OpenAiErrorBody": {
        "error": {
            "message": "The model 'gpt-2' does not exist.",
            "type": "invalid_request_error",
            "param": "model",
            "code": "model_not_found",
        }
    },
}


def add_openai(document: dict[str, Any]) -> dict[str, Any]:
    """The OpenAPI document with `/v1` in it."""
    _, definitions = models_json_schema([(one, "validation") for one in _SCHEMAS], ref_template=_REFS)
    schemas = definitions["$defs"]
    for name, example in OPENAI_EXAMPLES.items():
        schemas[name]["examples"] = [example]
    document["components"]["schemas"].update(schemas)
    document["paths"].update(
        {
            COMPLETIONS: {"post": _completions()},
            MODELS: {"get": _operation("openai_models", "Every contestant that can be asked.", _ok("OpenAiModelsOut"))},
            MODEL: {
                "get": _operation("openai_model", "One contestant.", _ok("OpenAiModelOut"))
                | {"parameters": [{"name": "model", "in": "path", "required": True, "schema": {"type": "string"}}]}
            },
        }
    )
    return document


def _completions() -> dict[str, Any]:
    ok = _ok("ChatCompletionOut")
    ok["content"]["text/event-stream"] = {"schema": {"type": "string"}}
    words = "Ask a contestant, as OpenAI's API does it. With `stream` the answer comes as server-sent events."
    operation = _operation("chat_completions", words, ok)
    key = {"name": "Idempotency-Key", "in": "header", "schema": {"type": "string", "maxLength": 200}}
    body = {"required": True, "content": _json("ChatCompletionBody")}
    return operation | {"parameters": [key], "requestBody": body}


def _operation(name: str, words: str, ok: dict[str, Any]) -> dict[str, Any]:
    refused = {"description": "Refused", "content": _json("OpenAiErrorBody")}
    failed = {"description": "Failed", "content": _json("OpenAiErrorBody")}
    responses = {"200": ok, "4XX": refused, "5XX": failed}
    return {
        "operationId": name,
        "summary": words.split(",", maxsplit=1)[0].rstrip("."),
        "description": words,
        "responses": responses,
    }


def _ok(schema: str) -> dict[str, Any]:
    return {"description": "OK", "content": _json(schema)}


def _json(schema: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": _REFS.format(model=schema)}}}
