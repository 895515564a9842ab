"""Errors as people and programs get them: one JSON shape, and the only table of status codes."""

import logging
import math
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from agon.core.errors import (
    AgonError,
    Busy,
    Conflict,
    InvalidInput,
    NotAllowed,
    NotFound,
    Unavailable,
)

log = logging.getLogger(__name__)

# The first that fits counts, so Busy comes before what it is a kind of.
_STATUS: tuple[tuple[type[AgonError], int], ...] = (
    (InvalidInput, 422),
    (NotFound, 404),
    (Conflict, 409),
    (NotAllowed, 401),
    (Busy, 429),
    (Unavailable, 503),
)
_STATUS_BY_CODE = {"cross_site": 403, "body_too_large": 413, "method_not_allowed": 405}
_HTTP_CODES = {400: "invalid_body", 404: "not_found", 405: "method_not_allowed", 413: "body_too_large"}
_BODY_CODES = {"invalid_body", "body_too_large"}
_RETRY_UNAVAILABLE_S = 2.0


class ErrorDetail(BaseModel):
    """What went wrong."""

    code: str
    """Stable, for programs."""
    message: str
    """A sentence, for people."""
    field: str | None = None
    """The part of the request it speaks of."""


class ErrorBody(BaseModel):
    """Every error of every route."""

    error: ErrorDetail


def status_of(error: AgonError) -> int:
    by_code = _STATUS_BY_CODE.get(error.code)
    return by_code or next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def body_of(error: AgonError) -> dict[str, Any]:
    return {"error": {"code": error.code, "message": error.message, "field": error.field}}


def headers_of(error: AgonError) -> dict[str, str]:
    if isinstance(error, Busy):
        return {"Retry-After": str(max(1, math.ceil(error.retry_after_s)))}
    if isinstance(error, Unavailable):
        return {"Retry-After": str(math.ceil(_RETRY_UNAVAILABLE_S))}
    return {"WWW-Authenticate": "Bearer"} if isinstance(error, NotAllowed) and status_of(error) == 401 else {}


def response_of(error: AgonError) -> JSONResponse:
    return JSONResponse(body_of(error), status_of(error), headers_of(error))


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The error responses of a route, for the OpenAPI document."""
    return {status: {"model": ErrorBody} for status in statuses}


def install(app: FastAPI) -> None:
    """Make every error leave in our shape."""
    app.add_exception_handler(AgonError, _on_agon_error)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(HTTPException, _on_http)
    app.add_exception_handler(Exception, _on_bug)


async def _on_agon_error(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, AgonError)
    return response_of(error)


async def _on_invalid(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    return response_of(invalid_from(error.errors()[0]))


def invalid_from(first: Mapping[str, Any]) -> InvalidInput:
    """Our error for the first thing that a schema found wrong."""
    if first["type"] == "json_invalid":
        return InvalidInput("The body is not valid JSON.", code="invalid_json")
    location = [str(part) for part in first["loc"] if part not in ("body", "query", "path", "header")]
    field = ".".join(location) or "body"
    rule = str(first["msg"]).removeprefix("Value error, ")
    code = "missing_field" if first["type"] == "missing" else "invalid_input"
    return InvalidInput(f"{field}: {rule}.", code=code, field=field)


async def _on_http(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    code = _HTTP_CODES.get(error.status_code, "http_error")
    message = "There is nothing at this address." if error.status_code == 404 else f"{error.detail}."
    body = {"error": {"code": code, "message": message, "field": "body" if code in _BODY_CODES else None}}
    return JSONResponse(body, error.status_code, error.headers)


async def _on_bug(request: Request, error: Exception) -> JSONResponse:
    log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    message = "Something went wrong inside the arena; the log has the details."
    return JSONResponse({"error": {"code": "internal_error", "message": message, "field": None}}, 500)
