"""A contestant as examiner: it gives each answer a grade by itself, where there is no anchor to compare with."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict

from agon.core.generation import FinishReason
from agon.core.scoring import Abstained, Asks, Sample, Score, Scored
from agon.scoring.asked import Asked
from agon.scoring.judge import UNPARSEABLE
from agon.scoring.judge_words import SCHEMA, JudgeRules, grade_request
from agon.scoring.parsing import read_rating

PREFIX = "grade:"

_PROOF = Sample("Name a colour.", "Blue.")
_LOWEST, _HIGHEST = 1.0, 10.0
_TAIL_CHARS = 240


class Grader:
    """`Scorer` that asks a contestant for a grade from 1 to 10, at temperature 0; scores lie between 0 and 1."""

    compares = False
    cacheable = True

    def __init__(self, contestant: str, asks: Asks, *, model: str, rules: JudgeRules | None = None) -> None:
        """`model` names everything of the contestant that decides what it says."""
        self.name = f"{PREFIX}{contestant}"
        self._asked = Asked(contestant, asks)
        self._rules = rules or JudgeRules()
        decides = json.dumps([SCHEMA, model, asdict(self._rules)])
        self.revision = f"grade-{hashlib.blake2b(decides.encode(), digest_size=12).hexdigest()}"

    async def warm_up(self) -> None:
        await self._asked.prove(grade_request(_PROOF, self._rules, strict=True))

    async def score(self, samples: Sequence[Sample]) -> Sequence[Scored]:
        return await self._asked.all(self._graded, samples)

    async def close(self) -> None:
        """There is nothing to free."""

    async def _graded(self, sample: Sample) -> Scored:
        grade, tail = await self._grade(sample, strict=False)
        if grade is None:
            grade, tail = await self._grade(sample, strict=True)
        if grade is None:
            return Abstained(UNPARSEABLE, {"tail": tail})
        return Score((grade - _LOWEST) / (_HIGHEST - _LOWEST), {"grade": grade, "tail": tail})

    async def _grade(self, sample: Sample, *, strict: bool) -> tuple[float | None, str]:
        reply = await self._asked.ask(grade_request(sample, self._rules, strict=strict))
        unfinished = not strict and reply.finish_reason == FinishReason.LENGTH
        return None if unfinished else read_rating(reply.text), reply.text.strip()[-_TAIL_CHARS:]
