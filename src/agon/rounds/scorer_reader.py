"""Reads what is known of scorers, for those who ask."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from agon.core.errors import Unavailable
from agon.core.round_ports import RoundLedger
from agon.rounds.agreement import AgreementPage, AgreementPages, decode
from agon.rounds.judging import JudgedAnswer, JudgeFigures, judge_figures, judge_of


class JudgedAnswers(Protocol):
    async def judged(self, round_id: UUID) -> Sequence[JudgedAnswer]:
        """Answers of a round that its judge has looked at."""
        ...


@dataclass(frozen=True, slots=True)
class JudgeReport:
    figures: JudgeFigures
    agreement: AgreementPage | None


class ScorerReader:
    def __init__(self, *, rounds: RoundLedger, answers: JudgedAnswers, pages: AgreementPages) -> None:
        self._rounds = rounds
        self._answers = answers
        self._pages = pages

    async def agreements(self) -> Mapping[str, AgreementPage]:
        """How far scorers agree with people, by scorer. Raises `Unavailable`."""
        found = {name: decode(text) for name, text in (await self._pages.pages()).items()}
        return {name: page for name, page in found.items() if page is not None}

    async def judge(self, round_id: UUID) -> JudgeReport:
        """Raises `NotFound` (`round_not_found`, `no_judge`)."""
        of = await self._rounds.find(round_id)
        judge_of(of)
        answers = await self._answers.judged(round_id)
        figures = await asyncio.to_thread(judge_figures, of, answers)
        try:
            page = (await self.agreements()).get(of.scorer)
        except Unavailable:
            page = None
        return JudgeReport(figures, page)
