import asyncio
import ssl

import aiohttp
import pytest
from aiohttp import client_exceptions, http_exceptions

from agon.core.errors import EngineError, EngineRejected, EngineTimeout, EngineTruncated, EngineUnreachable
from agon.engines.answer import error_detail, parse_object
from agon.engines.faults import FOREIGN, family_of, hide, refused, translate

# Bases of the families: nothing raises them as such.
_ABSTRACT = {aiohttp.ClientError}
# Web sockets are not spoken to engines.
_ELSEWHERE = {aiohttp.WebSocketError, aiohttp.WSMessageTypeError, aiohttp.EofStream}


def foreign_classes() -> list[type[Exception]]:
    found = {
        thing
        for module in (aiohttp, client_exceptions, http_exceptions)
        for thing in vars(module).values()
        if isinstance(thing, type) and issubclass(thing, Exception) and not issubclass(thing, Warning)
    }
    return sorted(found - _ABSTRACT - _ELSEWHERE, key=lambda cls: cls.__name__)


def test_the_walk_over_the_client_library_finds_its_errors() -> None:
    assert len(foreign_classes()) > 30


@pytest.mark.parametrize("foreign", foreign_classes())
def test_every_error_of_the_client_has_a_family_and_is_caught(foreign: type[Exception]) -> None:
    family = family_of(foreign)
    assert family is not None
    assert issubclass(family, EngineError)
    assert issubclass(foreign, FOREIGN)


@pytest.mark.parametrize(
    ("foreign", "before", "after"),
    [
        (aiohttp.ServerDisconnectedError, EngineUnreachable, EngineTruncated),
        (aiohttp.ClientConnectorError, EngineUnreachable, EngineTruncated),
        (aiohttp.ClientPayloadError, EngineUnreachable, EngineTruncated),
        (aiohttp.SocketTimeoutError, EngineTimeout, EngineTimeout),
        (aiohttp.ConnectionTimeoutError, EngineTimeout, EngineTimeout),
        (asyncio.TimeoutError, EngineTimeout, EngineTimeout),
        (ConnectionResetError, EngineUnreachable, EngineTruncated),
        (aiohttp.InvalidURL, EngineRejected, EngineRejected),
        (aiohttp.ClientConnectorCertificateError, EngineRejected, EngineRejected),
        (ssl.SSLError, EngineUnreachable, EngineTruncated),
        (http_exceptions.LineTooLong, EngineRejected, EngineRejected),
    ],
)
def test_what_an_error_becomes(foreign: type[Exception], before: type[EngineError], after: type[EngineError]) -> None:
    error = foreign.__new__(foreign)
    assert type(translate(error, started=False)) is before
    assert type(translate(error, started=True)) is after


def test_an_unknown_family_is_not_taken_for_a_known_one() -> None:
    class NeverHeardOfError(aiohttp.ClientError):
        pass

    assert family_of(NeverHeardOfError) is None
    assert type(translate(NeverHeardOfError(), started=False)) is EngineError


@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [
        (400, EngineRejected, "engine_rejected"),
        (401, EngineRejected, "engine_denied"),
        (403, EngineRejected, "engine_denied"),
        (404, EngineRejected, "engine_not_found"),
        (307, EngineRejected, "engine_rejected"),
        (408, EngineTimeout, "engine_timeout"),
        (429, EngineRejected, "engine_busy"),
        (500, EngineError, "engine_error"),
        (503, EngineUnreachable, "engine_unreachable"),
        (504, EngineTimeout, "engine_timeout"),
        (529, EngineRejected, "engine_busy"),
    ],
)
def test_what_a_status_becomes(status: int, kind: type[EngineError], code: str) -> None:
    error = refused(status, "because")
    assert (type(error), error.code) == (kind, code)
    assert ("because" in error.message) == (status not in {401, 403})


def test_a_secret_is_taken_out() -> None:
    assert hide("key sk-1 and sk-1", "sk-1") == "key *** and ***"
    assert hide("no key", None) == "no key"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"a":' + "[" * 50_000])
def test_what_is_no_object_is_garbage(text: str) -> None:
    with pytest.raises(EngineRejected) as refused_:
        parse_object(text)
    assert refused_.value.code == "engine_garbage"


def test_an_engines_words_about_an_error_can_be_shown_anywhere() -> None:
    assert error_detail({"error": {"message": "no\n\x1b[31m\x00 \ud800 光"}}) == "no \ufffd[31m\ufffd \ufffd 光"


def test_no_part_of_a_secret_is_left_where_the_words_are_cut() -> None:
    secret = "sk-0123456789abcdef"
    for before in range(270, 310):
        assert "sk-0" not in error_detail({"message": "x" * before + secret}, secret=secret)
