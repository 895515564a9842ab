"""The fixtures that all tests share."""

import asyncpg


async def test_each_database_is_migrated_and_its_own(database_url: str) -> None:
    connection = await asyncpg.connect(database_url)
    try:
        assert await connection.fetchval("select count(*) from migrations") > 0
        assert await connection.fetchval("select current_database()") not in {"agon", "agon_template"}
    finally:
        await connection.close()
