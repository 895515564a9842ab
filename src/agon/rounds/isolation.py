"""A sample that makes its scorer fail fails alone, whatever else was to be scored with it."""

import json
import logging
from collections.abc import Sequence

from agon.core.errors import AgonError, Unavailable
from agon.core.rounds import to_units
from agon.core.scoring import Poison, Sample, Score, Scored, Scorer

log = logging.getLogger(__name__)

_WORDS = 500
"""Of an error, kept for the operator."""


async def score_apart(scorer: Scorer, samples: Sequence[Sample]) -> Sequence[Scored]:
    """One result for each sample. What the scorer cannot stand is found by halves. Raises `Unavailable`."""
    if not samples:
        return ()
    try:
        results = await scorer.score(samples)
        if len(results) != len(samples):
            raise ValueError(f"{scorer.name} gave {len(results)} results for {len(samples)} samples")  # noqa: TRY301
    except Unavailable:
        raise
    except Exception as error:  # noqa: BLE001 - a scorer may be anybody's code
        if len(samples) == 1:
            return (_poison(scorer, error),)
        middle = len(samples) // 2
        return [*await score_apart(scorer, samples[:middle]), *await score_apart(scorer, samples[middle:])]
    return [_checked(result) for result in results]


def _poison(scorer: Scorer, error: Exception) -> Poison:
    if isinstance(error, AgonError):
        return Poison(error.message[:_WORDS])
    log.warning("scorer %s failed on a sample", scorer.name, exc_info=error)
    return Poison(f"{type(error).__name__}: {error}"[:_WORDS])


def _checked(scored: Scored) -> Scored:
    """What the ledger could not hold is as good as no score."""
    try:
        if isinstance(scored, Score):
            to_units(scored.value)
        if not isinstance(scored, Poison):
            json.dumps(scored.detail if scored.detail is None else dict(scored.detail), allow_nan=False)
    except (TypeError, ValueError) as error:
        return Poison(str(error)[:_WORDS])
    return scored
