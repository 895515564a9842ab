"""Who sends, and what they send, as the paths in front of the framework see it."""

import pytest

from agon.api.front import Senders, read_body
from agon.api.middleware import Message
from agon.core.errors import LimitExceeded, NotAllowed

KEY = "a-key-of-sixteen-or-more"


def test_without_keys_senders_are_told_by_address() -> None:
    name = Senders(()).name
    assert name({}, ("192.0.2.1", 1)) == name({}, ("192.0.2.1", 2)) != name({}, ("192.0.2.2", 1))
    assert name({b"authorization": b"Bearer x"}, ("192.0.2.1", 1)) == name({}, ("192.0.2.1", 1))
    assert name({}, None) == "address:"


def test_of_ipv6_a_network_is_one_sender() -> None:
    name = Senders(()).name
    one, same, other = (f"2001:db8:0:{part}" for part in ("1::1", "1:ffff::9", "2::1"))
    assert name({}, (one, 1)) == name({}, (same, 1)) != name({}, (other, 1))
    assert name({}, ("fe80::1%eth0", 1)) == name({}, ("fe80::2", 1))
    assert name({}, ("not:an:address", 1)) == "address:not:an:address"


@pytest.mark.parametrize("header", [b"", b"Bearer", b"Bearer wrong", f"Basic {KEY}".encode(), KEY.encode()])
def test_with_keys_nobody_else_sends(header: bytes) -> None:
    with pytest.raises(NotAllowed) as refused:
        Senders((KEY,)).name({b"authorization": header}, ("192.0.2.1", 1))
    assert refused.value.code == "invalid_api_key"


def test_with_keys_senders_are_told_by_key() -> None:
    other = KEY + "-2"
    name = Senders((KEY, other)).name
    sent = f"bearer  {KEY} ".encode()
    assert name({b"authorization": sent}, ("192.0.2.1", 1)) == name({b"authorization": sent}, None)
    assert name({b"authorization": sent}, None) != name({b"authorization": f"Bearer {other}".encode()}, None)
    assert KEY not in name({b"authorization": sent}, None)


class Body:
    def __init__(self, *parts: bytes, gone: bool = False) -> None:
        self._messages: list[Message] = [{"type": "http.request", "body": part, "more_body": True} for part in parts]
        self._messages.append({"type": "http.disconnect"} if gone else {"type": "http.request"})
        self.read = 0

    async def __call__(self) -> Message:
        self.read += 1
        return self._messages.pop(0)


async def test_a_body_is_read_whole() -> None:
    assert await read_body(Body(b"ab", b"", b"cd"), {}, 4) == b"abcd"
    assert await read_body(Body(), {b"content-length": b"0"}, 4) == b""
    assert await read_body(Body(b"ab", gone=True), {}, 4) is None


async def test_no_more_of_a_body_is_read_than_may_be() -> None:
    body = Body(b"abc", b"de", b"fg")
    with pytest.raises(LimitExceeded):
        await read_body(body, {}, 4)
    assert body.read == 2
    with pytest.raises(LimitExceeded):
        await read_body(body, {b"content-length": b"5"}, 4)
    assert body.read == 2
