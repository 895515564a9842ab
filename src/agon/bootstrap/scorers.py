"""The scorers of a process: which there are, and each of them built once, by whoever needs it first."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from agon.bootstrap.generation import AskingParts, revision_of
from agon.config import ScoringSettings
from agon.core.errors import InvalidInput, Unavailable
from agon.core.scoring import Scorer
from agon.scoring.batcher import Batched, Batcher
from agon.scoring.batching import BatchRules
from agon.scoring.grader import PREFIX as GRADE_PREFIX
from agon.scoring.grader import Grader
from agon.scoring.judge import PREFIX as JUDGE_PREFIX
from agon.scoring.judge import Judge
from agon.scoring.judge_words import JudgeRules
from agon.scoring.plugins import finding

REWARD = "reward"
_OURS = "agon"
_ABOUT: Mapping[str, str] = {
    REWARD: "A reward model: how much people would like the answer. The default.",
    "format": "The share of the prompt's explicit demands on form that the answer meets; silent where there are none.",
    "overlap": "How much of the prompt's words the answer takes up, less copying and repetition.",
}


@dataclass(frozen=True, slots=True)
class KnownScorer:
    name: str
    about: str
    package: str
    """That brings it, with its version."""


class ScorerNames:
    """Checks names without building anything but plug-ins, which alone know whether they compare."""

    def __init__(self, settings: ScoringSettings) -> None:
        self._settings = settings
        self._compares: dict[str, bool] = {}

    def known(self) -> Sequence[KnownScorer]:
        """Every scorer that can be named, those aside that ask a contestant: `judge:` or `grade:` and its name."""
        reward = KnownScorer(REWARD, _ABOUT[REWARD], _OURS)
        return [reward, *(_described(point.name) for _, point in sorted(finding.installed().items()))]

    def compares(self, name: str) -> bool:
        """Whether a scorer needs an anchor. Raises `InvalidInput` (`scorer_unknown`, `scorer_broken`)."""
        if name == REWARD:
            return False
        if name.startswith((JUDGE_PREFIX, GRADE_PREFIX)):
            judge_of(name)
            return name.startswith(JUDGE_PREFIX)
        if name not in self._compares:
            self._compares[name] = self.plugin(name).compares
        return self._compares[name]

    def plugins(self) -> Sequence[str]:
        return sorted(finding.installed())

    def plugin(self, name: str) -> Scorer:
        """Raises `InvalidInput` (`scorer_unknown`, `scorer_broken`)."""
        return finding.build(finding.find(name), self._settings.plugins.get(name, {}))


class ScorerBook:
    """`Scorers`. Bound to one event loop."""

    def __init__(
        self, settings: ScoringSettings, *, asking: AskingParts, reward: Callable[[], Awaitable[Scorer]]
    ) -> None:
        self._settings = settings
        self._names = ScorerNames(settings)
        self._asking = asking
        self._reward = reward
        self._made: dict[str, asyncio.Task[Scorer]] = {}

    async def named(self, name: str) -> Scorer:
        task = self._made.get(name)
        if task is None:
            task = self._made[name] = asyncio.create_task(self._make(name))
        try:
            # Whoever gives up waiting takes it from nobody else.
            return await asyncio.shield(task)
        except Exception:
            # The next one tries anew.
            if self._made.get(name) is task:
                del self._made[name]
            raise

    async def close(self) -> None:
        made, self._made = self._made, {}
        for task in made.values():
            task.cancel()
        for found in await asyncio.gather(*made.values(), return_exceptions=True):
            if not isinstance(found, BaseException):
                await found.close()

    async def _make(self, name: str) -> Scorer:
        scorer = await self._built(name)
        try:
            await scorer.warm_up()
        except BaseException:
            await scorer.close()
            raise
        return scorer

    async def _built(self, name: str) -> Scorer:
        if name == REWARD:
            return batched(await self._reward(), self._settings)
        if name.startswith((JUDGE_PREFIX, GRADE_PREFIX)):
            return await self._asking_one(name, judge_of(name))
        # Importing somebody's package may take its time.
        return batched(await asyncio.to_thread(self._names.plugin, name), self._settings)

    async def _asking_one(self, name: str, contestant: str) -> Scorer:
        entry = (await self._asking.rosters.roster()).get(contestant)
        if entry is None:
            raise Unavailable(f"The judge {contestant} is no contestant of this arena.", code="judge_missing")
        rules = JudgeRules(tokens=self._settings.judge_tokens, chars=self._settings.judge_chars)
        kind = Judge if name.startswith(JUDGE_PREFIX) else Grader
        return kind(contestant, self._asking.asks, model=revision_of(entry.contestant), rules=rules)


def batched(scorer: Scorer, settings: ScoringSettings) -> Batched:
    """A scorer that has calls run together; a judge needs none of it, since its engine batches by itself."""
    rules = BatchRules(max_batch=settings.max_batch, max_wait_s=settings.max_wait_ms / 1000)
    return Batched(scorer, Batcher(scorer.score, rules), within_s=settings.deadline_s or None)


def judge_of(name: str) -> str:
    """The contestant that judges. Raises `InvalidInput` (`scorer_unknown`) where none is named."""
    prefix, _, contestant = name.partition(":")
    if not contestant.strip():
        raise InvalidInput(f"{prefix}: needs the name of a contestant.", code="scorer_unknown", field="scorer")
    return contestant


def _described(name: str) -> KnownScorer:
    point = finding.installed()[name]
    package = finding.package_of(point)
    ours = point.module.partition(".")[0] == _OURS
    return KnownScorer(name, _ABOUT.get(name, "") if ours else finding.about(point), package)
