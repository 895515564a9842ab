"""The end of an answer: the ledger first, then whoever watches."""

from contextlib import suppress

from agon.core.errors import Unavailable
from agon.core.events import Settled, Void
from agon.core.ports import AnswerLedger, Bus, Outcome


class SupersededError(Exception):
    """Another runner has taken the answer over; whatever this one has is stale."""


async def settle(outcome: Outcome, ledger: AnswerLedger, bus: Bus) -> None:
    """Write an outcome and tell the watchers. Raises `SupersededError`, and then tells nobody."""
    ref = outcome.ref
    settlement = await ledger.settle(outcome)
    if not settlement.written:
        raise SupersededError
    settled = Settled(ref.turn, ref.side, outcome.attempt, outcome.state, len(outcome.text), outcome.finish_reason)
    with suppress(Unavailable):  # Without the bus the watchers find it in the ledger.
        if settlement.void_reason is not None:
            # Before the end of the side: a watcher may leave when every side has ended.
            await bus.append(ref.conversation, Void(settlement.void_reason))
        await bus.append(ref.conversation, settled)
