"""The one place where foreign errors of the HTTP client become `EngineError`s."""

import aiohttp
from aiohttp import http_exceptions

from agon.core.errors import EngineError, EngineRejected, EngineTimeout, EngineTruncated, EngineUnreachable
from agon.core.generation import BUSY_CODE

FOREIGN = (aiohttp.ClientError, http_exceptions.HttpProcessingError, OSError)
"""Everything that talking HTTP to an engine may raise (`TimeoutError` is an `OSError`)."""

# The base classes `ClientError` and `Exception` are left out on purpose: a family that nobody thought of must fail
# the test that walks the client's exceptions, not slip through as something it is not.
_FAMILIES: tuple[tuple[type[Exception], type[EngineError]], ...] = (
    (TimeoutError, EngineTimeout),
    (aiohttp.ClientPayloadError, EngineTruncated),
    (aiohttp.UploadAbortedError, EngineUnreachable),
    (aiohttp.ServerFingerprintMismatch, EngineRejected),
    (aiohttp.ClientSSLError, EngineRejected),
    (aiohttp.ClientResponseError, EngineRejected),
    (aiohttp.InvalidURL, EngineRejected),
    (aiohttp.NonHttpUrlClientError, EngineRejected),
    (aiohttp.RedirectClientError, EngineRejected),
    (aiohttp.ClientConnectionError, EngineUnreachable),
    (http_exceptions.HttpProcessingError, EngineRejected),
    (OSError, EngineUnreachable),
)

_SENTENCES: dict[type[EngineError], str] = {
    EngineTimeout: "The engine made no progress in time",
    EngineTruncated: "The engine's answer broke off",
    EngineRejected: "The engine and its client could not agree",
    EngineUnreachable: "The engine cannot be reached",
}


def family_of(foreign: type[BaseException]) -> type[EngineError] | None:
    """Return what a foreign exception class becomes, or None for one that was never thought of."""
    return next((ours for theirs, ours in _FAMILIES if issubclass(foreign, theirs)), None)


def translate(foreign: Exception, *, started: bool) -> EngineError:
    """Say in our own words what the HTTP client raised; `started` says whether the answer had begun.

    Only the foreign class's name is kept: its text may carry the request's headers, and with them the key.
    """
    ours = family_of(type(foreign)) or EngineError
    if started and ours is EngineUnreachable:
        ours = EngineTruncated
    if not started and ours is EngineTruncated:
        ours = EngineUnreachable
    when = "after it had begun to answer" if started else "before it began to answer"
    return ours(f"{_SENTENCES.get(ours, 'The engine failed')} {when} ({type(foreign).__name__}).")


def refused(status: int, detail: str) -> EngineError:
    """Say what an HTTP status other than 200 means."""
    tail = f": {detail}" if detail else "."
    if status in {401, 403}:
        # The body is left out: some servers repeat parts of the key in it.
        return EngineRejected(f"The engine denied access ({status}): check its key.", code="engine_denied")
    if status in {429, 529}:
        return EngineRejected(f"The engine is busy ({status}){tail}", code=BUSY_CODE)
    if status == 404:
        return EngineRejected(f"The engine has no such model or path (404){tail}", code="engine_not_found")
    if status in {408, 504}:
        return EngineTimeout(f"The engine gave up waiting ({status}){tail}")
    if status in {502, 503}:
        return EngineUnreachable(f"The engine is not up ({status}){tail}")
    kind, verb = (EngineError, "failed") if status >= 500 else (EngineRejected, "refused the request")
    return kind(f"The engine {verb} ({status}){tail}")


def hide(text: str, secret: str | None) -> str:
    """Take a secret out of words that came from an engine."""
    return text.replace(secret, "***") if secret else text
