"""Part `models`: what a kept cache and guessing ahead are worth on a real model inside the runner's engine."""

import os
import statistics
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness.report import ROOT, console
from benchmarks.harness.statistics import Claim, Fact, compare

from agon.core.generation import Finish, GenerationRequest, Message, Sampling
from agon.engines.catalogue import SMOLLM2, built_in
from agon.engines.llamacpp import LlamaCppEngine
from agon.engines.llamacpp_options import LlamaCppOptions
from agon.engines.weights import WeightStore

REPEATS = 3
DIALOGUES = 3
"""Of which one has the engine's only slot, and the others have lost it."""
_LINES = tuple(
    f"{number}. The {who} {does} at {number + 6} in the morning, and then goes home."
    for number, (who, does) in enumerate(
        (who, does)
        for who in ("baker", "sailor", "teacher", "nurse")
        for does in ("opens the window", "reads the letter", "counts the boats")
    )
)
STORY = "Here is what happened:\n" + "\n".join(_LINES)
NUMBERS = "Write the numbers from one to forty in order, as digits, and then write all of them again."
COPY = f"Repeat the following list word for word, from the first line to the last.\n\n{STORY}"
FREE = "Tell a long story about a lighthouse and the people who live in it."


@dataclass(frozen=True, slots=True)
class Said:
    first_s: float
    took_s: float
    finish: Finish

    @property
    def per_s(self) -> float:
        """Tokens a second after the first."""
        return ((self.finish.completion_tokens or 1) - 1) / (self.took_s - self.first_s)


async def say(engine: LlamaCppEngine, messages: Sequence[Message], tokens: int, *, begun: str = "") -> tuple[Said, str]:
    """Ask for an answer, or for the rest of one that is begun."""
    request = GenerationRequest(tuple(messages), Sampling(tokens, temperature=0.0), seed=1, said=begun)
    since, first, text = time.perf_counter(), None, ""
    async for piece in engine.generate(request):
        if isinstance(piece, Finish):
            now = time.perf_counter()
            return Said((first or now) - since, now - since, piece), text
        first = first or time.perf_counter()
        text += piece.text
    raise AssertionError("an engine ends every answer")


async def measure() -> tuple[list[Claim], list[Fact]]:
    path = _weights()
    async with AsyncExitStack() as stack:

        async def engine(name: str, **options: object) -> LlamaCppEngine:
            words = {"n_parallel": 1, "max_seconds": 60.0} | options
            made = LlamaCppEngine(path, name=name, options=LlamaCppOptions(**words))  # type: ignore[arg-type]
            stack.push_async_callback(made.close)
            await made.warm_up()
            return made

        kept = await engine("kept", cache_mib=256)
        claims, facts = await _reuse(kept, await engine("lost", cache_mib=0))
        more_claims, more_facts = await _guessing(await engine("guessing", ngram=True), kept)
    return claims + more_claims, facts + more_facts


async def _reuse(kept: LlamaCppEngine, lost: LlamaCppEngine) -> tuple[list[Claim], list[Fact]]:
    """Second turns of dialogues whose slot others have had since."""
    first_s: dict[LlamaCppEngine, list[float]] = {kept: [], lost: []}
    cached: dict[LlamaCppEngine, list[float]] = {kept: [], lost: []}
    for repeat in range(REPEATS):
        for engine in (kept, lost) if repeat % 2 else (lost, kept):
            waited: list[float] = []
            told = [Message("user", f"Dialogue {repeat}.{number}.\n{STORY}") for number in range(DIALOGUES)]
            replies = [(await say(engine, [message], 16))[1] for message in told]
            for message, reply in zip(told, replies, strict=True):
                again = [message, Message("assistant", reply), Message("user", "And what did the baker do?")]
                said, _ = await say(engine, again, 8)
                waited.append(said.first_s)
                cached[engine].append((said.finish.cached_tokens or 0) / (said.finish.prompt_tokens or 1))
            first_s[engine].append(statistics.median(waited))
        console.print(
            f"  second turns, {repeat + 1} of {REPEATS}: {first_s[kept][-1]:.2f} s, {first_s[lost][-1]:.2f} s"
        )
    claims = [
        compare(
            "ms to the first token of a second turn, its cache kept, over lost",
            [s * 1000 for s in first_s[kept]],
            [s * 1000 for s in first_s[lost]],
        )
    ]
    facts = [
        Fact(f"share of a second turn's prompt that was not read again, {name}", statistics.median(values) * 100, "%")
        for name, values in (("cache kept", cached[kept]), ("cache lost", cached[lost]))
    ]
    return claims, facts


async def _guessing(guessing: LlamaCppEngine, plain: LlamaCppEngine) -> tuple[list[Claim], list[Fact]]:
    claims: list[Claim] = []
    facts: list[Fact] = []
    # It begins the copy by itself only with help: this model is too small to follow such an order.
    helped = "Here is what happened:\n" + "\n".join(_LINES[:3])
    for name, prompt, begun in (
        ("that repeats itself", NUMBERS, ""),
        ("like its prompt", COPY, helped),
        ("new", FREE, ""),
    ):
        speeds: dict[LlamaCppEngine, list[float]] = {guessing: [], plain: []}
        shares: list[float] = []
        for repeat in range(REPEATS):
            for engine in (guessing, plain) if repeat % 2 else (plain, guessing):
                said, _ = await say(engine, [Message("user", prompt)], 128, begun=begun)
                speeds[engine].append(said.per_s)
                if engine is guessing:
                    shares.append((said.finish.accepted_tokens or 0) / max(1, said.finish.drafted_tokens or 0))
        claims.append(
            compare(f"tokens/s of one answer, text {name}, guessing ahead over not", speeds[guessing], speeds[plain])
        )
        facts.append(Fact(f"accepted of what was guessed ahead, text {name}", statistics.median(shares) * 100, "%"))
        console.print(f"  {name}: {speeds[guessing][-1]:.0f} tokens/s guessing ahead, {speeds[plain][-1]:.0f} without")
    return claims, facts


def _weights() -> Path:
    """The smallest built-in model, fetched once."""
    folder = Path(os.environ.get("AGON_TEST_MODELS") or ROOT / "build" / "models")
    return WeightStore(folder).ensure(built_in(SMOLLM2).weights)
