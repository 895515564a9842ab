"""What the relay knows of the models that can be asked."""

from typing import Any, cast

from agon.core.contestants import Contestant, ContestantKind
from agon.core.errors import InvalidInput
from agon.core.roster import Roster, RosterEntry
from agon.relay.ports import Access
from agon.relay.relay import Relay


class Rosters:
    async def roster(self) -> Roster:
        names = ("bad", "good")
        return Roster(
            tuple(RosterEntry(Contestant(name, ContestantKind.OPENAI, name, ("http://a",))) for name in names)
        )


async def test_one_that_is_configured_badly_leaves_the_others_alone() -> None:
    def reach(contestant: Contestant) -> Access:
        if contestant.name == "bad":
            raise InvalidInput("An engine's key is one line of plain letters.", field="api_key")
        return Access({"good@http://a": cast("Any", None)})

    nothing = cast("Any", None)
    relay = Relay(
        Rosters(),
        reach=reach,
        direct=nothing,
        bused=nothing,
        dispatch=nothing,
        draw_seed=lambda: 0,
        monotonic_s=lambda: 0.0,
    )
    assert await relay.names() == ["bad", "good"]
    assert [report.id for report in relay.reports()] == ["good@http://a"]
    await relay.close()
