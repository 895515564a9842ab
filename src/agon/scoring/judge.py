"""A contestant as judge: it compares each answer with the anchor's, in both orders."""

import hashlib
import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from agon.core.generation import FinishReason
from agon.core.scoring import Abstained, Asks, Poison, Sample, Score, Scored
from agon.scoring.asked import Asked
from agon.scoring.judge_words import SCHEMA, JudgeRules, judge_request
from agon.scoring.parsing import Verdict, read_verdict

PREFIX = "judge:"
VALUES: Mapping[int, float] = {2: 1.0, 1: 0.75, 0: 0.5, -1: 0.25, -2: 0.0}
"""Scores by how far the answer is ahead of the anchor's: much better, better, equal, worse, much worse."""
UNPARSEABLE = "unparseable"
ORDERS_DISAGREE = "orders_disagree"
JUDGE_ABSTAINED = "judge_abstained"

_PROOF = Sample("Name a colour.", "Blue.", reference="A stone.")
_REMEMBERED = 4_096
_TAIL_CHARS = 240


@dataclass(frozen=True, slots=True)
class Said:
    """What a judge said of one order."""

    verdict: Verdict | None
    exact: bool
    tail: str
    repeated: bool = False
    """Whether it had to be asked for the verdict alone."""
    prompt_tokens: int = 0
    completion_tokens: int = 0


class Judge:
    """`Scorer` that asks a contestant, at temperature 0 and with one seed.

    Both orders must agree on who is ahead, and the weaker of the two verdicts counts; otherwise there is no score. A
    reply without a readable verdict is asked for once more, for the verdict alone.
    """

    compares = True
    cacheable = True

    def __init__(self, contestant: str, asks: Asks, *, model: str, rules: JudgeRules | None = None) -> None:
        """`model` names everything of the contestant that decides what it says."""
        self.contestant = contestant
        self.name = f"{PREFIX}{contestant}"
        self._asked_of = Asked(contestant, asks)
        self._rules = rules or JudgeRules()
        decides = json.dumps([SCHEMA, model, asdict(self._rules)])
        self.revision = f"judge-{hashlib.blake2b(decides.encode(), digest_size=12).hexdigest()}"
        self._heard: OrderedDict[tuple[Sample, bool], Said] = OrderedDict()

    async def warm_up(self) -> None:
        await self._asked_of.prove(judge_request(_PROOF, self._rules, swapped=False, strict=True))

    async def score(self, samples: Sequence[Sample]) -> Sequence[Scored]:
        # What has been said before it fails is remembered, so that trying again does not ask for it again.
        return await self._asked_of.all(self._judged, samples)

    async def close(self) -> None:
        self._heard.clear()

    async def _judged(self, sample: Sample) -> Scored:
        if sample.reference is None:
            return Poison("There is no answer of the anchor to compare it with.")
        if sample.answer == sample.reference:
            return Score(VALUES[0], {"anchor": True})
        said = [await self._said(sample, swapped=False)]
        if said[0].verdict not in (None, Verdict.UNDECIDED):
            said.append(await self._said(sample, swapped=True))
        return decided(said)

    async def _said(self, sample: Sample, *, swapped: bool) -> Said:
        known = self._heard.get((sample, swapped))
        if known is not None:
            self._heard.move_to_end((sample, swapped))
            return known
        said = await self._asked(sample, swapped=swapped, strict=False)
        if said.verdict is None:
            again = await self._asked(sample, swapped=swapped, strict=True)
            said = _together(said, again)
        self._heard[sample, swapped] = said
        while len(self._heard) > _REMEMBERED:
            self._heard.popitem(last=False)
        return said

    async def _asked(self, sample: Sample, *, swapped: bool, strict: bool) -> Said:
        request = judge_request(sample, self._rules, swapped=swapped, strict=strict)
        reply = await self._asked_of.ask(request)
        reading = read_verdict(reply.text)
        # One that was cut while giving reasons has not come to its end.
        unfinished = not strict and reply.finish_reason == FinishReason.LENGTH
        return Said(
            verdict=None if unfinished else reading.verdict,
            exact=reading.exact and not unfinished,
            tail=reply.text.strip()[-_TAIL_CHARS:],
            prompt_tokens=reply.prompt_tokens or 0,
            completion_tokens=reply.completion_tokens or 0,
        )


def decided(said: Sequence[Said]) -> Scored:
    """What the words of one or both orders come to: first the answer as A, then the anchor's as A."""
    detail = _detail(said)
    verdicts = [each.verdict for each in said]
    if None in verdicts:
        return Abstained(UNPARSEABLE, detail)
    if Verdict.UNDECIDED in verdicts:
        return Abstained(JUDGE_ABSTAINED, detail)
    first, second = (verdict.lead * sign for verdict, sign in zip(verdicts, (1, -1), strict=True) if verdict)
    if _sign(first) != _sign(second):
        return Abstained(ORDERS_DISAGREE, detail)
    return Score(VALUES[_sign(first) * min(abs(first), abs(second))], detail)


def _detail(said: Sequence[Said]) -> dict[str, Any]:
    return {
        "verdicts": [each.verdict and each.verdict.value for each in said],
        "orders": [{**asdict(each), "verdict": each.verdict and each.verdict.value} for each in said],
    }


def _together(first: Said, again: Said) -> Said:
    return Said(
        verdict=again.verdict,
        exact=again.exact,
        tail=again.tail if again.verdict else first.tail,
        repeated=True,
        prompt_tokens=first.prompt_tokens + again.prompt_tokens,
        completion_tokens=first.completion_tokens + again.completion_tokens,
    )


def _sign(lead: int) -> int:
    return (lead > 0) - (lead < 0)
