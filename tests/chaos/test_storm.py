"""A short storm: one repeat for each kind of process. `make chaos` runs a long one."""

from pathlib import Path

import pytest
from tests.chaos.cluster import running_cluster
from tests.chaos.storm import Plan, storm

pytestmark = [pytest.mark.crash, pytest.mark.timeout(300)]


async def test_every_turn_ends_once_and_whole(tmp_path: Path) -> None:
    kinds = [["killed runner"], ["killed gateway", "killed engine"], ["lost valkey"]]
    async with running_cluster(tmp_path) as cluster:
        repeats = await storm(
            cluster, Plan(seed=1, repeats=len(kinds), battles=40, chats=8, programs=4, kinds=kinds), print
        )
    assert all(repeat.live > 10 for repeat in repeats)
