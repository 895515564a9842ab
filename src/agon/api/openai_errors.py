"""Errors in the shape and with the statuses of OpenAI's API."""

import json
import math
from collections.abc import Mapping
from typing import Any

from agon.api.errors import headers_of, status_of
from agon.core.errors import AgonError, EngineError, EngineTimeout, InvalidInput
from agon.relay.answers import Overloaded, Refused

_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_BUSY = "engine_busy"
_BUSY_RETRY_S = 1.0


def openai_status(error: AgonError) -> int:
    """As elsewhere, but for what OpenAI's clients know under another number."""
    if isinstance(error, Refused):
        return error.status
    if isinstance(error, EngineError):
        return 429 if error.code == _BUSY else 504 if isinstance(error, EngineTimeout) else 502
    status = status_of(error)
    return 400 if isinstance(error, InvalidInput) and status == 422 else status


def openai_body(error: AgonError) -> dict[str, Any]:
    status = openai_status(error)
    kind = _TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
    return {"error": {"message": error.message, "type": kind, "param": error.field, "code": error.code}}


def openai_headers(error: AgonError) -> Mapping[str, str]:
    if isinstance(error, EngineError):
        if openai_status(error) != 429:
            return {}
        return {"Retry-After": str(math.ceil(error.retry_after_s if isinstance(error, Overloaded) else _BUSY_RETRY_S))}
    return headers_of(error)


def encoded(error: AgonError) -> bytes:
    return json.dumps(openai_body(error), ensure_ascii=False).encode("utf-8", "surrogatepass")
