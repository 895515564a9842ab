"""The parts that answer OpenAI-compatible requests in a gateway."""

import os
import secrets
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from agon.config import Settings
from agon.core.contestants import Contestant
from agon.core.placement import replica_id
from agon.core.ports import Bus, Dispatch
from agon.dispatch.clearing import Clearing
from agon.engines.upstream import Upstreams
from agon.relay.bused import Bused
from agon.relay.direct import Direct
from agon.relay.ports import Access, Rosters
from agon.relay.relay import Relay

_SEED_BITS = 31


@asynccontextmanager
async def relay(
    settings: Settings, *, rosters: Rosters, dispatch: Dispatch, clearing: Clearing, bus: Bus
) -> AsyncGenerator[Relay]:
    """What answers requests by a model's name; `clearing` is that of this executor."""
    silence_s = settings.limits.other_deadline_s
    upstreams = Upstreams(silence_s=silence_s)

    def reach(contestant: Contestant) -> Access:
        variable = contestant.key_env
        key = None if variable is None else os.environ.get(variable)
        if variable is not None and not key:
            # The runner has the key, and this process has not.
            return Access()
        servers = {
            replica_id(contestant.name, url): upstreams.get(url, key, contestant.max_concurrent)
            for url in contestant.urls
        }
        return Access(servers, key)

    relaying = Relay(
        rosters,
        reach=reach,
        direct=Direct(dispatch, clearing, monotonic_s=time.monotonic),
        bused=Bused(
            dispatch,
            clearing,
            bus,
            silence_s=silence_s,
            answer_tokens=settings.limits.answer_tokens,
            draw_seed=_draw_seed,
        ),
        dispatch=dispatch,
        draw_seed=_draw_seed,
        monotonic_s=time.monotonic,
    )
    try:
        yield relaying
    finally:
        await relaying.close()
        await upstreams.close()


def _draw_seed() -> int:
    return secrets.randbits(_SEED_BITS)
