"""Connections to Redis, the names of keys, and the one place where Redis' errors become ours."""

from dataclasses import dataclass
from types import TracebackType
from typing import Any
from uuid import UUID

from redis.asyncio import Redis
from redis.exceptions import RedisError

from agon.core.errors import Unavailable
from agon.stores.redis.wire import RefusedError

Client = Redis


class _Translated:
    """Not made by a generator: this is around calls that take a few microseconds."""

    __slots__ = ()

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if isinstance(error, _GONE):
            raise Unavailable("The bus cannot be reached; try again in a moment.", code="bus_unavailable") from error


_GONE = (RedisError, RefusedError, OSError, TimeoutError)
_TRANSLATED = _Translated()


def translated() -> _Translated:
    """For `with`: what goes wrong in its block with Redis becomes `Unavailable`."""
    return _TRANSLATED


def connect(url: str, *, blocking: bool = False) -> Client:
    """A client with a pool of its own. A blocking one waits without a socket time-out, for reads that block."""
    client: Any = Redis.from_url(  # pyright: ignore[reportUnknownMemberType]
        url,
        decode_responses=True,
        max_connections=1024,
        socket_timeout=None if blocking else 5,
        socket_connect_timeout=5,
    )
    return client


@dataclass(frozen=True, slots=True)
class Keys:
    """Every key and channel, under one prefix."""

    prefix: str = "agon"

    def stream(self, conversation: UUID) -> str:
        return f"{self.prefix}:stream:{conversation}"

    def inbox(self, executor: str) -> str:
        return f"{self.prefix}:inbox:{executor}"

    def replica(self, replica: str) -> str:
        return f"{self.prefix}:replica:{replica}"

    @property
    def replicas(self) -> str:
        return f"{self.prefix}:replicas"

    def seed(self, conversation: UUID, turn: int) -> str:
        return f"{self.prefix}:seed:{conversation}:{turn}"

    def watched(self, conversation: UUID, turn: int) -> str:
        return f"{self.prefix}:watched:{conversation}:{turn}"

    def board(self, name: str) -> str:
        return f"{self.prefix}:board:{name}"

    @property
    def boards(self) -> str:
        """The channel that says which page has changed."""
        return f"{self.prefix}:boards"

    def round_board(self, tag: str, round_id: UUID, part: str) -> str:
        return f"{self.prefix}:{tag}:round:{round_id}:{part}"

    @property
    def round_boards(self) -> str:
        """The channel that says which round's board has changed."""
        return f"{self.prefix}:round-boards"

    @property
    def agreements(self) -> str:
        """How far scorers agree with people, by scorer."""
        return f"{self.prefix}:agreements"

    @property
    def wanted(self) -> str:
        """Pages by when they will no longer be wanted; also the channel that says that one is missing."""
        return f"{self.prefix}:wanted"

    def wake(self, watcher: str) -> str:
        return f"{self.prefix}:wake:{watcher}"

    def cached(self, cache: str, part: str) -> str:
        return f"{self.prefix}:cache:{cache}:{part}"

    def made(self, cache: str) -> str:
        """The channel that says what a cache has from now on."""
        return f"{self.prefix}:cache:{cache}:made"

    def making(self, cache: str, key: str) -> str:
        """The lease of whoever makes a value."""
        return f"{self.prefix}:cache:{cache}:making:{key}"

    @property
    def answers(self) -> str:
        """The channel that says that answers of rounds came."""
        return f"{self.prefix}:answers"

    @property
    def stops(self) -> str:
        return f"{self.prefix}:stops"
