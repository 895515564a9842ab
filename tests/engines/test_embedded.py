"""Real models that share less memory than all of them take."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import psutil
import pytest
from tests.engines.gguf_files import model_metadata, write_gguf
from tests.engines.helpers import ask, collect, until

from agon.core.errors import EngineRejected, EngineTimeout, EngineUnreachable
from agon.core.generation import GenerationRequest, Message, Pooled, Sampling, is_resident
from agon.engines.embedded import Cold, EmbeddedEngine, Household, WarmStart
from agon.engines.llamacpp_options import LlamaCppOptions, fit
from agon.engines.model_memory import MemoryNews, ModelMemory
from agon.engines.sources import PathSource, Weights
from agon.engines.weights import WeightStore

OPTIONS = LlamaCppOptions(n_parallel=2, n_ctx_per_slot=512, cache_mib=0)
Make = Callable[..., EmbeddedEngine]


class Home:
    """A runner's embedded engines, as few as a test wants."""

    def __init__(self, folder: Path, budget_bytes: int, cold: Cold = "wait") -> None:
        self.told = Counter[str]()
        self.said: list[str] = []
        news = MemoryNews(lambda name: self.told.update([f"+{name}"]), lambda name: self.told.update([f"-{name}"]))
        self.memory = ModelMemory(budget_bytes, news)
        self.household = Household(WeightStore(folder), self.memory, WarmStart(["first", "second"]), cold)
        self.engines: list[EmbeddedEngine] = []

    def engine(self, name: str, path: Path, *, draft: Path | None = None) -> EmbeddedEngine:
        engine = EmbeddedEngine(
            name,
            Weights(name, PathSource(path)),
            self.household,
            OPTIONS,
            self.said.append,
            draft=Weights("draft", PathSource(draft)) if draft else None,
        )
        self.engines.append(engine)
        return engine


@pytest.fixture
async def homes(tmp_path: Path) -> AsyncIterator[Callable[..., Home]]:
    made: list[Home] = []

    def make(budget_bytes: int, cold: Cold = "wait") -> Home:
        made.append(Home(tmp_path, budget_bytes, cold))
        return made[-1]

    yield make
    for home in made:
        for engine in home.engines:
            await engine.close()


def one_at_a_time(smollm2: Path, smollm2_q8: Path) -> int:
    """A budget that holds the larger one, and not both."""
    small, large = fit(smollm2, OPTIONS).needed_bytes, fit(smollm2_q8, OPTIONS).needed_bytes
    return max(small, large) + min(small, large) // 2


@pytest.mark.models
async def test_two_models_take_turns_in_memory_that_holds_one(
    homes: Callable[..., Home], smollm2: Path, smollm2_q8: Path
) -> None:
    home = homes(one_at_a_time(smollm2, smollm2_q8))
    second, first = home.engine("second", smollm2_q8), home.engine("first", smollm2)
    await asyncio.gather(second.warm_up(), first.warm_up())
    assert isinstance(first, Pooled)
    assert (is_resident(first), is_resident(second)) == (True, False)
    assert "not in memory: its first turn has it loaded" in home.said
    texts = [[(await collect(engine, ask(max_tokens=8)))[0] for engine in (first, second)] for _ in range(2)]
    assert texts[0] == texts[1]
    assert home.told == {"+first": 2, "-first": 2, "+second": 2, "-second": 1}
    assert not first.resident
    answers = await asyncio.gather(
        *(collect(engine, ask(max_tokens=6, seed=seed)) for seed in range(3) for engine in (first, second))
    )
    assert all(text for text, _ in answers)
    assert (home.told["+first"], home.told["+second"]) == (3, 3)


@pytest.mark.models
async def test_memory_comes_back_when_a_model_makes_room(
    homes: Callable[..., Home], smollm2: Path, smollm2_q8: Path
) -> None:
    home = homes(one_at_a_time(smollm2, smollm2_q8))
    first, second = home.engine("first", smollm2), home.engine("second", smollm2_q8)
    await first.warm_up()
    await second.warm_up()
    process = psutil.Process()
    sizes: list[int] = []
    for _ in range(3):
        for engine in (first, second):
            await collect(engine, ask(max_tokens=4))
        sizes.append(process.memory_info().rss)
    assert max(sizes) - sizes[0] < 60 << 20
    await second.close()
    assert sizes[-1] - process.memory_info().rss > 100 << 20


@pytest.mark.models
async def test_a_turn_of_a_cold_model_can_be_refused(
    homes: Callable[..., Home], smollm2: Path, smollm2_q8: Path
) -> None:
    home = homes(one_at_a_time(smollm2, smollm2_q8), cold="refuse")
    first, second = home.engine("first", smollm2), home.engine("second", smollm2_q8)
    await first.warm_up()
    await second.warm_up()
    with pytest.raises(EngineRejected, match="not in memory and is being loaded") as caught:
        await collect(second, ask(max_tokens=4))
    assert caught.value.code == "engine_busy"
    await until(lambda: second.resident, within_s=10)
    text, _ = await collect(second, ask(max_tokens=4))
    assert text
    assert not first.resident


@pytest.mark.models
async def test_waiting_for_memory_takes_of_the_time_there_is(
    homes: Callable[..., Home], smollm2: Path, smollm2_q8: Path
) -> None:
    home = homes(one_at_a_time(smollm2, smollm2_q8))
    first, second = home.engine("first", smollm2), home.engine("second", smollm2_q8)
    await first.warm_up()
    await second.warm_up()
    answer = first.generate(ask("Write a very long story about a lighthouse.", max_tokens=300))
    await anext(answer)
    hurried = GenerationRequest((Message("user", "Hi"),), Sampling(4), seed=1, budget_s=0.3)
    with pytest.raises(EngineTimeout, match="not loaded in time"):
        await collect(second, hurried)
    await anext(answer)
    await answer.aclose()
    assert home.told["-first"] == 0


@pytest.mark.models
async def test_a_model_is_added_and_taken_away_while_others_write(
    homes: Callable[..., Home], smollm2: Path, smollm2_q8: Path
) -> None:
    home = homes(one_at_a_time(smollm2, smollm2_q8))
    first = home.engine("first", smollm2)
    await first.warm_up()
    second = home.engine("second", smollm2_q8)
    await second.warm_up()
    text, _ = await collect(second, ask(max_tokens=4))
    assert text
    await second.close()
    with pytest.raises(EngineUnreachable):
        await collect(second, ask())
    again = home.engine("second", smollm2_q8)
    await again.warm_up()
    assert again.resident
    text, _ = await collect(first, ask(max_tokens=4))
    assert text


async def test_a_model_that_can_never_fit_is_refused_when_it_is_added(
    homes: Callable[..., Home], tmp_path: Path
) -> None:
    path = write_gguf(tmp_path / "m.gguf", model_metadata())
    needed = fit(path, OPTIONS).needed_bytes
    home = homes(needed - (5 << 20))
    engine = home.engine("huge", path)
    with pytest.raises(EngineRejected, match="5 MiB more than models may take here") as caught:
        await engine.warm_up()
    assert caught.value.code == "not_enough_memory"
    with pytest.raises(EngineUnreachable):
        await collect(engine, ask())


async def test_one_that_is_gone_before_it_began_holds_nobody_up(homes: Callable[..., Home], tmp_path: Path) -> None:
    home = homes(1 << 40)
    path = write_gguf(tmp_path / "m.gguf", model_metadata())
    first, second = home.engine("first", path), home.engine("second", path)
    await first.close()
    async with asyncio.timeout(5):
        with pytest.raises(EngineRejected):
            await second.warm_up()


async def test_a_model_that_guesses_ahead_takes_room_for_two(homes: Callable[..., Home], tmp_path: Path) -> None:
    home = homes(0)
    path = write_gguf(tmp_path / "m.gguf", model_metadata())
    alone, helped = home.engine("alone", path), home.engine("helped", path, draft=path)
    for engine in (alone, helped):
        with pytest.raises(EngineRejected):
            await engine.warm_up()
    assert helped.needed_bytes > 1.9 * alone.needed_bytes


async def test_a_model_that_does_not_load_says_why_and_leaves_its_room(
    homes: Callable[..., Home], tmp_path: Path
) -> None:
    home = homes(1 << 40)
    engine = home.engine("broken", write_gguf(tmp_path / "m.gguf", model_metadata()))
    with pytest.raises(EngineRejected) as caught:
        await engine.warm_up()
    assert caught.value.code == "engine_bad_weights"
    assert home.memory.residents == []
