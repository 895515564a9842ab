"""What others ask of our engines' servers, so that it counts in the balance as our own turns do."""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence

from agon.core.generation import Shared
from agon.core.ports import Dispatch
from agon.dispatch.pool import Member

_LOOKS = 3
"""The least of so many looks counts: our own turns come and go between one and the other."""
_TOKENS_PER_REQUEST = 150
_MOST_TOKENS_PER_REQUEST = 1500


class ForeignLoad:
    """Asks the servers how much they have to do, and takes off what is ours."""

    def __init__(self, dispatch: Dispatch) -> None:
        self._dispatch = dispatch
        self._seen: dict[str, deque[int]] = {}

    async def look(self, members: Sequence[Member]) -> None:
        """Note the tokens that others have outstanding at each replica. Raises `Unavailable`."""
        told = await self._ask(members)
        ours = {status.id: status for status in await self._dispatch.replicas()} if told else {}
        for member in members:
            status = ours.get(member.replica)
            if member.replica not in told or status is None:
                self._seen.pop(member.replica, None)
                member.foreign = 0
            else:
                seen = self._seen.setdefault(member.replica, deque(maxlen=_LOOKS))
                seen.append(max(0, told[member.replica] - max(status.turns, status.active)))
                own = status.outstanding_tokens - member.foreign
                member.foreign = foreign_tokens(min(seen) if len(seen) == _LOOKS else 0, own, status.turns)

    async def _ask(self, members: Sequence[Member]) -> Mapping[str, int]:
        """Requests at each server that tells."""

        async def ask(member: Member) -> tuple[str, int | None]:
            engine = member.engine
            return member.replica, await engine.others() if isinstance(engine, Shared) else None

        answers = await asyncio.gather(*(ask(member) for member in members if member.usable))
        return {replica: requests for replica, requests in answers if requests is not None}


def foreign_tokens(requests: int, tokens: int, turns: int) -> int:
    """What so many requests of others have outstanding, if they are like our turns, with so many tokens in all."""
    each = tokens // turns if turns else _TOKENS_PER_REQUEST
    return requests * max(1, min(each, _MOST_TOKENS_PER_REQUEST))
