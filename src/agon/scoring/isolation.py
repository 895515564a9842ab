"""A sample that makes a scorer fail fails alone."""

from collections.abc import Awaitable, Callable, Sequence

from agon.core.errors import Unavailable
from agon.core.scoring import MAX_SCORE, Poison, Sample, Score, Scored

ScoreMany = Callable[[Sequence[Sample]], Awaitable[Sequence[Scored]]]

_ERROR_CHARS = 300


async def isolating(score: ScoreMany, samples: Sequence[Sample]) -> list[Scored]:
    """Score a batch. One that fails is halved until it is known which samples are to blame.

    What a scorer gives back that is no score is an error of that sample, too. Raises `Unavailable` where the scorer
    does.
    """
    if not samples:
        return []
    try:
        scored = await score(samples)
        if len(scored) != len(samples):
            raise ValueError(f"{len(scored)} results for {len(samples)} answers")  # noqa: TRY301 - halved as any other
    except Unavailable:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a scorer raises, the others are scored
        if len(samples) == 1:
            return [Poison(told(error))]
        middle = len(samples) // 2
        return [*await isolating(score, samples[:middle]), *await isolating(score, samples[middle:])]
    return [_checked(each) for each in scored]


def told(error: Exception) -> str:
    """An error as operators read it, on one line."""
    text = " ".join(str(error).split())[:_ERROR_CHARS]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _checked(scored: Scored) -> Scored:
    if isinstance(scored, Score) and not abs(scored.value) <= MAX_SCORE:
        return Poison(f"The score is {scored.value!r}, which is not a finite number of at most {MAX_SCORE:g}.")
    return scored
