"""The texts an engine is made and measured with: some for the calibration, and others that it never sees."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from agon.core.errors import InvalidInput, NotFound
from agon.core.scoring import Sample
from agon.scoring.fidelity import Pairs, Scores
from agon.scoring.reward.preferences import Fault, Preference, read_preferences

PACKAGED: Final = Path(__file__).parent / "data" / "calibration.jsonl"
"""Judged answers of six public sources, as many of each length as they have; licences stand in each row."""
_HELD_SHARE: Final = 0.35
_LEAST_PAIRS: Final = 8


@dataclass(frozen=True, slots=True)
class Texts:
    calibration: Sequence[Sample]
    held: Sequence[Preference]
    """Pairs of prompts that the calibration has not seen."""

    @property
    def held_samples(self) -> list[Sample]:
        return [Sample(pair.prompt, answer) for pair in self.held for answer in (pair.answer_a, pair.answer_b)]

    @property
    def held_pairs(self) -> Pairs:
        """Places of each pair's answers among `held_samples`."""
        return Pairs(range(0, 2 * len(self.held), 2), range(1, 2 * len(self.held), 2))

    @property
    def outcomes(self) -> Scores:
        return np.array([pair.outcome for pair in self.held])


def read_texts(files: Sequence[Path]) -> tuple[Texts, Sequence[Fault]]:
    """Read judged pairs, and divide them by prompt. Raises `NotFound`, or `InvalidInput` (`too_few_samples`)."""
    pairs: list[Preference] = []
    faults: list[Fault] = []
    for path in files:
        try:
            with path.open("rb") as lines:
                reading = read_preferences(path.name, lines)
        except OSError as error:
            raise NotFound(f"{path} cannot be read: {error.strerror or error}.", code="samples_unreadable") from None
        pairs.extend(reading.pairs)
        faults.extend(reading.faults)
    texts = divide(pairs)
    if len(texts.held) < _LEAST_PAIRS or not texts.calibration:
        raise InvalidInput(
            f"{len(pairs)} judged pairs are too few to calibrate an engine and to measure it on others.",
            code="too_few_samples",
        )
    return texts, faults


def divide(pairs: Sequence[Preference]) -> Texts:
    """Hold back the pairs of some prompts; the same prompts whatever the order."""
    held = [pair for pair in pairs if _chance(pair.prompt) < _HELD_SHARE]
    seen = [pair for pair in pairs if _chance(pair.prompt) >= _HELD_SHARE]
    return Texts([Sample(pair.prompt, answer) for pair in seen for answer in (pair.answer_a, pair.answer_b)], held)


def _chance(prompt: str) -> float:
    return int.from_bytes(hashlib.blake2b(prompt.encode("utf-8", "replace"), digest_size=4).digest(), "big") / 2**32
