"""The answers of rounds as the last level of caches: found by what decided them."""

import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any, cast

from agon.core.rounds import from_units
from agon.core.scoring import Score
from agon.rounds.messages import encode_answer, encode_score
from agon.stores.postgres.database import Database, Record

_KEYS_AT_ONCE = 5_000
_KEY_BYTES = 32


class PostgresShelf:
    """`Shelf` on PostgreSQL, by two statements and how their rows become values."""

    def __init__(self, database: Database, *, values: str, keys: str, value: Callable[[Record], bytes]) -> None:
        self._database = database
        self._values = values
        self._keys = keys
        self._value = value

    async def find(self, keys: Sequence[bytes]) -> Mapping[bytes, bytes]:
        return {row["key"]: self._value(row) for row in await self._database.rows(self._values, list(keys))}

    async def every_key(self) -> AsyncGenerator[Sequence[bytes]]:
        last = b""
        while True:
            page = [cast("bytes", row["key"]) for row in await self._database.rows(self._keys, last, _KEYS_AT_ONCE)]
            # Told apart here: a condition on the length would have the server sort the whole table for each page.
            if keys := [key for key in page if len(key) == _KEY_BYTES]:
                yield keys
            if len(page) < _KEYS_AT_ONCE:
                return
            last = page[-1]


def scores_of(database: Database) -> PostgresShelf:
    """Scores by the key of what was scored."""
    return PostgresShelf(database, values="cached_scores", keys="score_keys", value=_score)


def answers_of(database: Database) -> PostgresShelf:
    """Answers by the key of their request."""
    return PostgresShelf(database, values="cached_answers", keys="request_keys", value=_answer)


def _score(row: Record) -> bytes:
    detail = cast("Mapping[str, Any] | None", None if row["detail"] is None else json.loads(row["detail"]))
    return encode_score(Score(from_units(row["score"]), detail), row["revision"] or "")


def _answer(row: Record) -> bytes:
    return encode_answer(row["texts"])
