"""The contract of `ContestantLedger`, and admin keys."""

import asyncio
from dataclasses import replace

import pytest
from tests.contract.ledger import Ledger, contestant

from agon.core.contestants import Contestant, ContestantKind, ContestantState, Origin
from agon.core.errors import Conflict
from agon.stores.postgres.contestants import PostgresAdminKeys
from agon.stores.postgres.database import Database


async def names(ledger: Ledger) -> list[str]:
    return [one.name for one in await ledger.contestants.contestants()]


async def test_contestants_are_kept_as_they_were_given(ledger: Ledger) -> None:
    given = Contestant(
        name="zeta 光",
        kind=ContestantKind.EMBEDDED,
        model="/models/zeta.gguf",
        weight=2.5,
        max_concurrent=3,
        draining=("zeta 光@runner-1", "zeta 光@http://127.0.0.1:1/v1"),
        draft="smollm2-135m-instruct",
        state=ContestantState.PAUSED,
        origin=Origin.DEFAULT,
    )
    await ledger.contestants.put_contestant(given, replace=False)
    assert given in await ledger.contestants.contestants()
    assert await names(ledger) == sorted(await names(ledger))


async def test_one_that_is_there_is_only_replaced_on_purpose(ledger: Ledger) -> None:
    heavy = replace(contestant("south"), weight=9.0)
    with pytest.raises(Conflict) as refused:
        await ledger.contestants.put_contestant(heavy, replace=False)
    assert (refused.value.code, refused.value.field) == ("contestant_exists", "name")
    await ledger.contestants.put_contestant(heavy, replace=True)
    assert heavy in await ledger.contestants.contestants()


async def test_one_that_was_removed_is_gone_and_can_come_back(ledger: Ledger) -> None:
    await ledger.contestants.put_contestant(replace(contestant("east"), state=ContestantState.REMOVED), replace=True)
    assert "east" not in await names(ledger)
    await ledger.contestants.put_contestant(contestant("east"), replace=False)
    assert "east" in await names(ledger)


async def test_one_of_many_adds_a_name(ledger: Ledger) -> None:
    added = await asyncio.gather(
        *(ledger.contestants.put_contestant(contestant("west"), replace=False) for _ in range(10)),
        return_exceptions=True,
    )
    assert sum(isinstance(result, Conflict) for result in added) == 9


async def test_admin_keys_are_known_until_they_are_revoked(database: Database) -> None:
    keys = PostgresAdminKeys(database)
    assert not await keys.any()
    await keys.add("one")
    await keys.add("two")
    assert await keys.any()
    assert await keys.holds("one")
    assert not await keys.holds("three")
    assert not await keys.holds("")
    rows = await database.rows("check_admin_key", b"one")
    assert not rows[0]["found"], "the key itself must not be what is stored"
    await keys.drop_all()
    assert not await keys.any()
    assert not await keys.holds("two")
