"""What passing requests on needs from the outside."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from agon.core.contestants import Contestant
from agon.core.errors import EngineError
from agon.core.roster import Roster


class Exchange(Protocol):
    """A response that has begun. Its connection is dropped when it is closed before its end."""

    status: int
    content_type: bytes
    retry_after: bytes

    async def read(self) -> bytes:
        """Whatever has come of the body; empty at its end. Raises `EngineError`."""
        ...

    async def whole(self, limit: int) -> bytes:
        """What is left of the body. Raises `EngineError`, also where there is more than the limit."""
        ...

    async def refused(self, secret: str | None) -> EngineError:
        """What its status means, with the secret kept out of the words."""
        ...

    def leave(self) -> None:
        """Nobody reads on; if the response is about to end, its connection is kept."""
        ...

    def close(self) -> None:
        """Drop the connection, and with it the work at the server, unless the response is over."""
        ...


class Server(Protocol):
    """Where a replica answers."""

    async def post(self, body: bytes) -> Exchange:
        """Ask for a chat completion. Raises `EngineError` where no response begins."""
        ...


class Rosters(Protocol):
    async def roster(self) -> Roster:
        """Who takes part, as it was at most a moment ago."""
        ...


@dataclass(frozen=True, slots=True)
class Access:
    """How this process reaches a contestant's servers."""

    servers: Mapping[str, Server] = field(default_factory=dict[str, Server])
    """By replica. Empty for a contestant that is reached through its runner."""
    secret: str | None = field(default=None, repr=False)
    """Its key, to be kept out of whatever a server says."""


Reach = Callable[[Contestant], Access]
