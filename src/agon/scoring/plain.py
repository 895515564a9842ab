"""The shortest way to a scorer: a function of one answer."""

import asyncio
from collections.abc import Callable, Sequence

from agon.core.scoring import Abstained, Poison, Sample, Score, Scored
from agon.scoring.isolation import told

_PROOF = Sample("Name a colour.", "Blue.", reference="Red.")


class PlainScorer:
    """`Scorer` around a function that always says the same of the same answer, and needs no batch.

    `rate` returns a finite number, higher being better, or `None` where it has nothing to say. It runs in a thread;
    what it raises is the fault of the one answer. Change `revision` whenever the function changes.
    """

    def __init__(
        self, name: str, rate: Callable[[Sample], float | None], *, revision: str, compares: bool = False
    ) -> None:
        self.name = name
        self.revision = revision
        self.compares = compares
        self.cacheable = True
        self._rate = rate

    async def warm_up(self) -> None:
        await self.score([_PROOF])

    async def score(self, samples: Sequence[Sample]) -> Sequence[Scored]:
        return await asyncio.to_thread(lambda: [self._one(sample) for sample in samples])

    async def close(self) -> None:
        """There is nothing to free."""

    def _one(self, sample: Sample) -> Scored:
        try:
            value = self._rate(sample)
        except Exception as error:  # noqa: BLE001 - it is not known what somebody's function raises
            return Poison(told(error))
        return Abstained("not_applicable") if value is None else Score(float(value))
