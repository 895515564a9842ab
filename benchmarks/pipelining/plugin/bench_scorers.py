"""A scorer that costs next to nothing, so that what is measured is everything around it."""

from agon.core.scoring import Sample
from agon.scoring.plain import PlainScorer


def ratio(prompt: str, answer: str) -> float:
    return len(answer) / (len(prompt) + len(answer) + 1)


def _rate(sample: Sample) -> float:
    return ratio(sample.prompt, sample.answer)


def scorer() -> PlainScorer:
    return PlainScorer("ratio", _rate, revision="1")
