"""Measures how far scorers agree with the arena's voters, in the background, on the newest votes."""

import hashlib
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Protocol

from agon.core.errors import AgonError
from agon.core.round_ports import RoundLedger, ToScore
from agon.core.scoring import Sample, Scored, Scorer, Scorers
from agon.rounds.verdicts import Judging
from agon.scoring.agreement import Agreement, Bin, HumanPair, Share, agreement, margin_of, samples_of

log = logging.getLogger(__name__)

_ROUNDS = 50
_PART = 16
_FORMAT = 1


class HumanPairs(Protocol):
    async def newest(self, limit: int) -> Sequence[HumanPair]:
        """Battles of one turn that somebody has voted on, newest first."""
        ...


class AgreementPages(Protocol):
    """All of it may vanish."""

    async def pages(self) -> Mapping[str, str]:
        """By scorer."""
        ...

    async def put(self, scorer: str, page: str) -> None: ...

    async def mine(self, seconds: float) -> bool:
        """Whether the caller may measure for so long; nobody else does meanwhile."""
        ...


@dataclass(frozen=True, slots=True)
class AgreementPage:
    revision: str
    """Of the scorer that was measured."""
    made_at: str
    agreement: Agreement
    margins: Mapping[str, float | None]
    """By pair: what need not be scored again."""


@dataclass(frozen=True, slots=True)
class AgreementParts:
    pairs: HumanPairs
    scorers: Scorers
    judging: Judging
    pages: AgreementPages
    rounds: RoundLedger
    always: Sequence[str]
    """Scorers that are measured though no round has them: those that cost next to nothing."""
    now: Callable[[], datetime]


class Agreements:
    """Measures scorers that rounds use. What was measured of a pair is not measured again."""

    def __init__(self, parts: AgreementParts, *, battles: int) -> None:
        self._parts = parts
        self._battles = battles

    async def look(self) -> int:
        """Bring every scorer's page up to date; returns how many pairs were scored. Raises `Unavailable`."""
        pairs = {digest_of(pair): pair for pair in reversed(await self._parts.pairs.newest(self._battles))}
        if not pairs:
            return 0
        pages, scored = await self._parts.pages.pages(), 0
        for name in await self._names():
            try:
                scored += await self._measure(name, pairs, pages.get(name))
            except AgonError as error:
                log.warning("how far %s agrees with people is not known: %s", name, error.message)
        return scored

    async def _names(self) -> Sequence[str]:
        used = [each.scorer for each in await self._parts.rounds.latest(limit=_ROUNDS)]
        return list(dict.fromkeys([*self._parts.always, *used]))

    async def _measure(self, name: str, pairs: Mapping[str, HumanPair], text: str | None) -> int:
        scorer = await self._parts.scorers.named(name)
        page = None if text is None else decode(text)
        known: Mapping[str, float | None] = {}
        if page is not None and page.revision == scorer.revision:
            known = page.margins
        margins = {key: known[key] for key in pairs if key in known}
        new = [key for key in pairs if key not in margins]
        for start in range(0, len(new), _PART):
            margins |= await self._margins(scorer, {key: pairs[key] for key in new[start : start + _PART]})
            # What is known by now need not be asked for again, whatever comes.
            await self._publish(scorer, pairs, margins)
        if not new and margins.keys() != known.keys():
            await self._publish(scorer, pairs, margins)
        return len(new)

    async def _publish(
        self, scorer: Scorer, pairs: Mapping[str, HumanPair], margins: Mapping[str, float | None]
    ) -> None:
        found = agreement(list(margins.values()), [pairs[key].winner for key in margins])
        made_at = self._parts.now().isoformat(timespec="seconds").replace("+00:00", "Z")
        page = AgreementPage(scorer.revision, made_at, found, margins)
        await self._parts.pages.put(scorer.name, encode(page))

    async def _margins(self, scorer: Scorer, pairs: Mapping[str, HumanPair]) -> dict[str, float | None]:
        asked = [(key, sample) for key, pair in pairs.items() for sample in samples_of(pair, compares=scorer.compares)]
        scored = await self._scored(scorer, [sample for _, sample in asked])
        said: dict[str, list[Scored]] = {key: [] for key in pairs}
        for (key, _), each in zip(asked, scored, strict=True):
            said[key].append(each)
        return {key: margin_of(each) for key, each in said.items()}

    async def _scored(self, scorer: Scorer, samples: Sequence[Sample]) -> Sequence[Scored]:
        asked = [ToScore(number, scorer.name, sample, 0) for number, sample in enumerate(samples)]
        return [verdict.scored for verdict in await self._parts.judging.verdicts(scorer, asked)]


def digest_of(pair: HumanPair) -> str:
    texts = json.dumps([pair.prompt, pair.answer_a, pair.answer_b])
    return hashlib.blake2b(texts.encode(), digest_size=12).hexdigest()


def encode(page: AgreementPage) -> str:
    return json.dumps({"format": _FORMAT, **asdict(page)}, separators=(",", ":"))


def decode(text: str) -> AgreementPage | None:
    """`None` for what another Agon wrote."""
    try:
        told = json.loads(text)
        if told.pop("format") != _FORMAT:
            return None
        found = told.pop("agreement")
        bins = tuple(Bin(each["least"], each["most"], Share(**each["right"])) for each in found.pop("bins"))
        return AgreementPage(agreement=Agreement(**found | {"right": Share(**found["right"]), "bins": bins}), **told)
    except (ValueError, TypeError, KeyError):
        return None
