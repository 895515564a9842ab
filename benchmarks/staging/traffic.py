"""Answers as they come to an arena: real texts of mixed length, 68 % of them repeated."""

import random
from dataclasses import dataclass
from uuid import UUID

from agon.core.round_ports import Submission
from agon.core.rounds import Question
from agon.core.scoring import Sample
from agon.engines.encoder.texts import PACKAGED
from agon.scoring.reward.preferences import read_preferences

REPEATED = 0.68
"""Share of submissions whose prompt and answer have come before."""


@dataclass(frozen=True, slots=True)
class Sent:
    submission: Submission
    sample: Sample


class Traffic:
    """An endless series of answers to one round, the same for equal seeds.

    A new text is a prompt and an answer out of judged pairs, in a combination that has not come yet. A repeated one is
    any that has come, from another contestant: a round holds each contestant's answer to a question once.
    """

    def __init__(self, round_id: UUID, seed: int) -> None:
        with PACKAGED.open("rb") as lines:
            pairs = read_preferences(PACKAGED.name, lines).pairs
        self.round_id = round_id
        self._chance = random.Random(seed)
        prompts = dict.fromkeys(pair.prompt for pair in pairs)
        self.bank = [Question(f"q{place}", (prompt,)) for place, prompt in enumerate(prompts)]
        self._answers = [answer for pair in pairs for answer in (pair.answer_a, pair.answer_b) if answer.strip()]
        self._come: list[tuple[Question, str]] = []
        self._fresh: set[tuple[str, int]] = set()
        self._times: dict[str, int] = {}

    def next(self) -> Sent:
        repeated = self._come and self._chance.random() < REPEATED
        question, answer = self._chance.choice(self._come) if repeated else self._new()
        turn = self._times[question.key] = self._times.get(question.key, 0) + 1
        contestant = f"model {turn}"
        submission = Submission(self.round_id, contestant, (answer,), question=question.key)
        return Sent(submission, Sample(question.prompt, answer, contestant=contestant))

    def _new(self) -> tuple[Question, str]:
        while True:
            question, answer = self._chance.choice(self.bank), self._chance.randrange(len(self._answers))
            if (question.key, answer) not in self._fresh:
                self._fresh.add((question.key, answer))
                self._come.append((question, self._answers[answer]))
                return self._come[-1]
