"""Commands for slots that may be on several nodes of a cluster."""

import asyncio
import re
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from agon.stores.redis.wire import RefusedError, Wire, Word

_MOVES = 3
_ADDRESS = re.compile(r"^MOVED \d+ (?P<host>.*):(?P<port>\d+)$")


class SlottedWire:
    """One server, or the nodes of a cluster that it belongs to: where it says that a slot has moved, we go there."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._wires = {url: Wire(url)}
        self._moved: dict[int, str] = {}

    async def close(self) -> None:
        await asyncio.gather(*(wire.close() for wire in self._wires.values()))

    async def several(self, slot: int, *commands: tuple[Word, ...]) -> list[Any]:
        """As `Wire.several`. All keys of the commands carry the slot's tag."""
        for _ in range(_MOVES):
            url = self._moved.get(slot, self._url)
            if url not in self._wires:
                self._wires[url] = Wire(url)
            try:
                return await self._wires[url].several(*commands)
            except RefusedError as error:
                # All keys are on one node, so none of the commands was carried out.
                if error.code != "MOVED":
                    raise
                self._moved[slot] = self._there(str(error))
            except OSError:
                # Whoever has taken its place is known to the others.
                self._moved.pop(slot, None)
                raise
        raise ConnectionError(f"the cluster does not know where slot {slot} is")

    def _there(self, refusal: str) -> str:
        found = _ADDRESS.match(refusal)
        parts = urlsplit(self._url)
        if found is None or not parts.hostname:
            raise ConnectionError(f"the cluster names no address that can be reached: {refusal}")
        user, at, _ = parts.netloc.rpartition("@")
        host = found["host"] or parts.hostname
        host = f"[{host}]" if ":" in host else host
        return urlunsplit(parts._replace(netloc=f"{user}{at}{host}:{found['port']}"))
