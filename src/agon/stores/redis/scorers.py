"""How far scorers agree with people: a page a scorer. All of it may vanish; then it is measured anew."""

from collections.abc import Mapping
from typing import Any

from agon.stores.redis.client import Keys, connect, translated


class RedisAgreements:
    """`AgreementPages` on Redis."""

    def __init__(self, url: str, *, prefix: str = "agon") -> None:
        self._client = connect(url)
        self._keys = Keys(prefix)

    async def close(self) -> None:
        await self._client.aclose()

    async def pages(self) -> Mapping[str, str]:
        client: Any = self._client
        with translated():
            return await client.hgetall(self._keys.agreements)

    async def put(self, scorer: str, page: str) -> None:
        client: Any = self._client
        with translated():
            await client.hset(self._keys.agreements, scorer, page)

    async def mine(self, seconds: float) -> bool:
        client: Any = self._client
        with translated():
            return bool(await client.set(f"{self._keys.agreements}:taken", "", nx=True, px=max(1, int(seconds * 1000))))
