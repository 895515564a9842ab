"""Scorers that a package brings, for tests: what they say is known beforehand, and some go wrong on purpose."""

import hashlib
import os
import signal
import time

from agon.core.scoring import Sample
from agon.scoring.plain import PlainScorer

SLOW_S = 0.01
POISON = "poison"
DEADLY = "deadly"


def rated(answer: str) -> float:
    """Between 0 and 1, in millionths."""
    return int.from_bytes(hashlib.blake2b(answer.encode(), digest_size=4).digest()) % 1_000_000 / 1_000_000


def ratio() -> PlainScorer:
    return PlainScorer("ratio", lambda sample: rated(sample.answer), revision="1")


def slow() -> PlainScorer:
    def rate(sample: Sample) -> float:
        time.sleep(SLOW_S)
        return rated(sample.answer)

    return PlainScorer("slow", rate, revision="1")


def bad() -> PlainScorer:
    def rate(sample: Sample) -> float:
        if POISON in sample.answer:
            raise RuntimeError(f"it cannot stand {sample.answer}")
        return rated(sample.answer)

    return PlainScorer("bad", rate, revision="1")


def deadly() -> PlainScorer:
    def rate(sample: Sample) -> float:
        if DEADLY in sample.answer:
            os.kill(os.getpid(), signal.SIGKILL)
        return rated(sample.answer)

    return PlainScorer("deadly", rate, revision="1")
