"""From answers to verdicts: what is known already is not scored again."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from agon.core.round_ports import ToScore, Verdict
from agon.core.scoring import Poison, Sample, Score, Scored, Scorer
from agon.rounds.flights import Make
from agon.rounds.messages import SCHEMA, decode_score, encode_score
from agon.scoring.isolation import isolating, told

Timed = Callable[[str, int, float], None]
"""Told of a scorer how many samples it has scored in how many seconds."""


class ScoreFlight(Protocol):
    """Known scores, and making those that are not, once."""

    async def find_or_make(self, keys: Sequence[bytes], make: Make) -> Mapping[bytes, bytes]: ...


def score_key(sample: Sample, scorer: str, revision: str) -> bytes:
    """32 bytes that stand for everything that decides a score."""
    canonical = [SCHEMA, scorer, revision, sample.prompt, sample.answer, sample.reference]
    return hashlib.blake2b(json.dumps(canonical, separators=(",", ":")).encode(), digest_size=32).digest()


class Judging:
    """Has answers scored by one scorer, through the cache where it is any good."""

    def __init__(self, flight: ScoreFlight | None, *, clock: Callable[[], float], timed: Timed) -> None:
        self._flight = flight
        self._clock = clock
        self._timed = timed

    async def verdicts(self, scorer: Scorer, answers: Sequence[ToScore]) -> Sequence[Verdict]:
        """One for each answer, in order. Raises `Unavailable`."""
        if self._flight is None or not scorer.cacheable:
            revision = scorer.revision
            scored = await self._score(scorer, [each.sample for each in answers])
            return [Verdict(each.number, said, revision) for each, said in zip(answers, scored, strict=True)]
        return await self._known_or_scored(scorer, self._flight, answers)

    async def _known_or_scored(
        self, scorer: Scorer, flight: ScoreFlight, answers: Sequence[ToScore]
    ) -> Sequence[Verdict]:
        revision = scorer.revision
        keys = [score_key(each.sample, scorer.name, revision) for each in answers]
        samples = {key: each.sample for key, each in zip(keys, answers, strict=True)}
        said: dict[bytes, Scored] = {}

        async def make(absent: Sequence[bytes]) -> Mapping[bytes, bytes]:
            said.update(zip(absent, await self._score(scorer, [samples[key] for key in absent]), strict=True))
            # A scorer that was exchanged meanwhile has not said this under the name it had.
            if scorer.revision != revision:
                return {}
            made = ((key, said[key]) for key in absent)
            return {key: encode_score(scored, revision) for key, scored in made if isinstance(scored, Score)}

        found = await flight.find_or_make(keys, make)
        known = {key: score for key, value in found.items() if (score := decode_score(value)) is not None}
        if unread := [key for key in samples if key not in said and key not in known]:
            await make(unread)
        stands = scorer.revision == revision
        return [
            Verdict(each.number, said.get(key) or known[key], revision, key if stands else None)
            for each, key in zip(answers, keys, strict=True)
        ]

    async def _score(self, scorer: Scorer, samples: Sequence[Sample]) -> Sequence[Scored]:
        begun = self._clock()
        scored = await isolating(scorer.score, samples)
        self._timed(scorer.name, len(samples), self._clock() - begun)
        return [_writable(each) for each in scored]


def _writable(scored: Scored) -> Scored:
    """What no ledger could hold is as good as no score."""
    if isinstance(scored, Poison) or scored.detail is None:
        return scored
    try:
        json.dumps(dict(scored.detail), allow_nan=False)
    except (TypeError, ValueError) as error:
        return Poison(f"What the scorer says beside the score is no JSON: {told(error)}")
    return scored
