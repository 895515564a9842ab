"""Who is asking: a signed cookie for people, a key for admins."""

from typing import Annotated
from uuid import UUID, uuid4

from fastapi import Depends, Request, Response
from itsdangerous import BadSignature, URLSafeSerializer
from starlette.requests import HTTPConnection

from agon.bootstrap.gateway import Gateway
from agon.core.errors import NotAllowed

COOKIE = "agon_voter"
_COOKIE_AGE_S = 400 * 24 * 3600


def parts(connection: HTTPConnection) -> Gateway:
    return connection.app.state.gateway


Parts = Annotated[Gateway, Depends(parts)]


def known_person(connection: HTTPConnection, gateway: Gateway) -> UUID | None:
    """The person whose cookie this is; `None` without a cookie or with one that we did not sign."""
    try:
        return UUID(_signer(gateway).loads(connection.cookies.get(COOKIE, "")))
    except (BadSignature, ValueError, TypeError):
        return None


def cookie_header(gateway: Gateway, person: UUID) -> str:
    """The value of a Set-Cookie header that makes the caller this person from now on."""
    response = Response()
    _set_cookie(response, gateway, person)
    return response.headers["set-cookie"]


def _person(request: Request, response: Response, gateway: Parts) -> UUID:
    person = known_person(request, gateway)
    if person is None:
        person = uuid4()
        _set_cookie(response, gateway, person)
    return person


Person = Annotated[UUID, Depends(_person)]
"""The person who asks; a stranger becomes a new person and gets a cookie."""


async def _admin(request: Request, gateway: Parts) -> None:
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not await gateway.admin_keys.holds(key.strip()):
        raise NotAllowed("This needs an admin key, as `Authorization: Bearer …`.", code="admin_key_needed")


Admin = Depends(_admin)


def _signer(gateway: Gateway) -> URLSafeSerializer:
    return URLSafeSerializer(gateway.secret, salt=COOKIE)


def _set_cookie(response: Response, gateway: Gateway, person: UUID) -> None:
    response.set_cookie(
        COOKIE,
        _signer(gateway).dumps(str(person)),
        max_age=_COOKIE_AGE_S,
        httponly=True,
        samesite="lax",
        secure=gateway.settings.server.secure_cookies,
    )
