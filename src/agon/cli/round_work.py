"""What the actions of `agon round` do at a desk, from asking for a round to writing its answers."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from agon.bootstrap.round_desk import RoundDesk
from agon.core.errors import Conflict, InvalidInput, NotFound
from agon.core.rounds import Question, Round, RoundAnswer, RoundContestant
from agon.rounds.banks import load_bank
from agon.rounds.following import RoundFollowing
from agon.rounds.naming import bank_digest, round_id, selected
from agon.rounds.refusals import unknown_round
from agon.rounds.rounds import NewRound

_FINDABLE = 1000
"""Of the latest rounds, those that are found by a name or by the beginning of their id."""
_READY_S = 60.0
"""How long a model is waited for that is not there yet: its runner may only just be starting."""
_LOOK_S = 0.5


@dataclass(frozen=True, slots=True)
class Asked:
    """A round that is asked for, or asked for again."""

    bank: Sequence[Question]
    models: Sequence[str]
    """All that there are, if none is named."""
    scorer: str
    name: str
    named: bool
    """Whether somebody has thought of the name: then it tells rounds apart."""
    seed: int
    max_tokens: int
    anchor: str | None
    id: UUID | None

    async def do(self, desk: RoundDesk) -> UUID:
        models = await self._models(desk)
        wanted = self.id or round_id(
            self.bank,
            scorer=self.scorer,
            seed=self.seed,
            max_tokens=self.max_tokens,
            anchor=self.anchor,
            name=self.name if self.named else "",
        )
        try:
            there = await desk.ledger.find(wanted)
        except NotFound:
            return (await desk.rounds.create(self._new(wanted, models))).id
        await self._check(desk, there)
        for model in models:
            await desk.rounds.add(wanted, RoundContestant(model, made_here=True))
        return wanted

    async def _models(self, desk: RoundDesk) -> Sequence[str]:
        """Raises `InvalidInput` where one is not there, nor comes soon."""
        until = asyncio.get_running_loop().time() + _READY_S
        while True:
            known = await desk.models()
            missing = [name for name in self.models if name not in known]
            if known and not missing:
                return self.models or known
            if known or asyncio.get_running_loop().time() > until:
                break
            await asyncio.sleep(_LOOK_S)
        if not known:
            raise InvalidInput("This arena has no models yet.", code="contestant_unknown", field="models")
        words = f"There is no model named {missing[0]!r} in this arena; there are: {', '.join(known)}."
        raise InvalidInput(words, code="contestant_unknown", field="models")

    def _new(self, wanted: UUID, models: Sequence[str]) -> NewRound:
        return NewRound(
            name=self.name,
            scorer=self.scorer,
            contestants=[RoundContestant(model, made_here=True) for model in models],
            bank=self.bank,
            id=wanted,
            seed=self.seed,
            max_tokens=self.max_tokens,
            anchor=self.anchor,
        )

    async def _check(self, desk: RoundDesk, there: Round) -> None:
        """Whether the round of this id is the one that is asked for. Raises `Conflict`."""
        same = (there.scorer, there.seed, there.max_tokens) == (self.scorer, self.seed, self.max_tokens)
        if not same or bank_digest(await desk.ledger.questions(there.id)) != bank_digest(self.bank):
            raise Conflict(f"Round {there.id} is another one.", code="round_exists", field="id")


@dataclass(frozen=True, slots=True)
class Addition:
    """A further model for a round."""

    round: str
    model: str

    async def do(self, desk: RoundDesk) -> UUID:
        found = await find(desk, self.round)
        return (await desk.rounds.add(found.id, RoundContestant(self.model, made_here=True))).id


@dataclass(frozen=True, slots=True)
class Rerun:
    """What failed or was parked, once more."""

    round: str

    async def do(self, desk: RoundDesk) -> UUID:
        found = await find(desk, self.round)
        await desk.rounds.rerun(found.id)
        return found.id


Work = Asked | Addition | Rerun


def read_bank(path: Path, categories: Sequence[str], limit: int | None) -> Sequence[Question]:
    """Raises `InvalidInput`."""
    return selected(load_bank(path), categories=categories, limit=limit)


async def find(desk: RoundDesk, words: str) -> Round:
    """The round that somebody speaks of: by its id, the beginning of it, or its name. Raises `NotFound`, `Conflict`."""
    try:
        return await desk.ledger.find(UUID(words))
    except ValueError:
        pass
    latest = await desk.ledger.latest(limit=_FINDABLE)
    found = [one for one in latest if str(one.id).startswith(words.lower()) or one.name == words]
    if not found:
        raise unknown_round()
    if len(found) > 1:
        names = ", ".join(str(one.id) for one in found[:5])
        raise Conflict(f"{words!r} may be any of {len(found)} rounds: {names}.", code="round_ambiguous", field="round")
    return found[0]


def following(desk: RoundDesk, of: UUID) -> RoundFollowing:
    return RoundFollowing(desk.ledger, desk.source, desk.roster, of)


async def lines(desk: RoundDesk, of: Round) -> AsyncIterator[str]:
    """Every answer of a round as a line of JSON, by question."""
    for question in await desk.ledger.questions(of.id):
        for answer in await desk.ledger.answers(of.id, question.key):
            yield json.dumps(_row(of, question, answer), ensure_ascii=False)


def _row(of: Round, question: Question, answer: RoundAnswer) -> Mapping[str, Any]:
    return {
        "round": str(of.id),
        "question": question.key,
        "category": question.category,
        "language": question.language,
        "turns": list(question.turns),
        "model": answer.contestant,
        "stage": answer.stage.value,
        "texts": list(answer.texts),
        "scorer": of.scorer,
        "score": answer.score,
        "detail": answer.detail,
        "error": answer.error,
    }
