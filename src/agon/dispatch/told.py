"""What a runner tells of one turn that the ledger does not know, as whoever asked for it hears it."""

import asyncio
import logging
from collections import deque
from typing import TypeGuard

from agon.core.conversation import AnswerState
from agon.core.errors import Busy, EngineError, EngineTimeout, EngineTruncated, Unavailable
from agon.core.events import Event, Fault, Follower, Packet, Settled
from agon.core.placement import AnswerRef, Job
from agon.core.ports import Bus, Dispatch
from agon.dispatch.clearing import Clearing

log = logging.getLogger(__name__)


async def hand_over(job: Job, dispatch: Dispatch, clearing: Clearing, *, client: str | None = None) -> None:
    """Have a runner take on a turn that carries its request. Raises as `Dispatch.reserve` and `Dispatch.send`."""
    try:
        placements = await dispatch.reserve([job], client=client)
        clearing.hold(placements[0])
        await dispatch.send(placements)
    except Busy:
        raise
    except BaseException:
        # Whoever has it by now has it alone; what we still hold is given up.
        clearing.ended(job.ref)
        raise
    clearing.moved(job.ref)


class Told:
    """What the runner tells of one turn, in order. Close it, whatever happens: then the runner stops.

    Where `anew` is not allowed, an answer that takes back what it has said is an error.
    """

    def __init__(self, ref: AnswerRef, bus: Bus, silence_s: float, *, anew: bool = False) -> None:
        self._ref = ref
        self._bus = bus
        self._silence_s = silence_s
        self._anew = anew
        self._events = bus.watch(ref.conversation)
        self._follower = Follower()
        self._ready: deque[Packet | Settled] = deque()
        self._length = 0
        self._over = False
        self._closed = False

    async def next(self) -> Packet | Settled:
        """The next packet, going on where the last one ended, or the end of a good answer. Raises `EngineError`."""
        quiet_s = 0
        while not self._ready:
            event = await anext(self._events, None)
            if event is None:
                quiet_s += 1
                if self._silence_s and quiet_s > self._silence_s:
                    raise EngineTimeout("The model said nothing for too long.")
                continue
            quiet_s = 0
            self._ready.extend(sent.event for sent in self._follower.see(event) if _matters(sent.event))
            if self._follower.missing:
                raise self._gap(event)
        return self._checked(self._ready.popleft())

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            task = asyncio.get_running_loop().create_task(self._leave())
            _leaving.add(task)
            task.add_done_callback(_leaving.discard)

    def _checked(self, event: Packet | Settled) -> Packet | Settled:
        if isinstance(event, Packet):
            if event.offset < self._length and not self._anew:
                raise EngineTruncated("The answer began anew after a part of it had been sent.")
            self._length = event.end
            return event
        self._over = True
        if event.state not in (AnswerState.DONE, AnswerState.STOPPED):
            raise _failure(event.fault)
        return event

    def _gap(self, event: Event) -> EngineError:
        """What to say where a part is missing; the end of an answer that failed may lack a part, and says why."""
        if isinstance(event, Settled) and event.fault is not None:
            self._over = True
            return _failure(event.fault)
        return EngineTruncated("A part of the answer was lost.")

    async def _leave(self) -> None:
        try:
            if not self._over:
                await self._bus.stop([self._ref])
        except Unavailable as error:
            log.warning("%s", error.message)
        finally:
            await self._events.aclose()


_leaving: set[asyncio.Task[None]] = set()


def _matters(event: Event) -> TypeGuard[Packet | Settled]:
    """A packet without words takes back what was said before a failure, which comes next and says more."""
    return isinstance(event, Settled) or (isinstance(event, Packet) and event.text != "")


def _failure(fault: Fault | None) -> EngineError:
    if fault is None:
        return EngineError("The model could not answer.")
    return EngineError(fault.message, code=fault.code)
