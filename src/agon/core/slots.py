"""Where the boards of rounds are: 16 slots, spread over the servers there are. PURE."""

import hashlib
from collections.abc import Sequence
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

SLOTS = 16


def slot_of(round_id: UUID) -> int:
    """The slot of a round, the same in every process and for ever."""
    return hashlib.blake2b(round_id.bytes, digest_size=2).digest()[0] % SLOTS


def tag_of(slot: int) -> str:
    """The slot as a hash tag: a cluster keeps keys with the same tag together."""
    return f"{{r{slot:02d}}}"


def server_of(slot: int, urls: Sequence[str]) -> str:
    """The server that a slot is on, by rendezvous hashing: the one that draws the highest number wins.

    The order of the servers does not matter. Another server takes only the slots that it wins; one that goes leaves
    only its own. Raises `ValueError` without any.
    """
    return max(urls, key=lambda url: _drawn(slot, url))


def _drawn(slot: int, url: str) -> tuple[bytes, str]:
    return hashlib.blake2b(f"{slot} {_place(url)}".encode(), digest_size=8).digest(), url


def _place(url: str) -> str:
    """What of an address says where its server is: a new password moves no board."""
    parts = urlsplit(url)
    database = parse_qs(parts.query).get("db", [""])[0]
    return f"{parts.netloc.rpartition('@')[2]}{parts.path}?{database}"
