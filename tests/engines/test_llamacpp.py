import asyncio
import gc
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from tests.engines.gguf_files import model_metadata, write_gguf
from tests.engines.helpers import ask, collect, until

from agon.core.errors import EngineRejected, EngineTimeout, EngineUnreachable
from agon.core.generation import Finish, FinishReason, GenerationRequest, Message, Sampling
from agon.engines.llamacpp import LlamaCppEngine
from agon.engines.llamacpp_options import SYSTEM_PROMPT, LlamaCppOptions

LONG = "Children play with a red ball near the river bank. " * 75
STORY = "Write a very long story about a lighthouse."


@pytest.fixture
async def engine(smollm2: Path) -> AsyncIterator[LlamaCppEngine]:
    engine = LlamaCppEngine(smollm2, name="smol", options=LlamaCppOptions(n_parallel=2, n_ctx_per_slot=1024))
    await engine.warm_up()
    yield engine
    await engine.close()


@pytest.fixture
def hurried(smollm2: Path) -> LlamaCppEngine:
    options = LlamaCppOptions(
        n_parallel=1,
        n_ctx_per_slot=4096,
        max_seconds=0.6,
        min_speaking_seconds=0.3,
        first_token_seconds=2.0,
        max_wait_seconds=0.2,
    )
    return LlamaCppEngine(smollm2, name="smol", options=options)


def busy(engine: LlamaCppEngine) -> int:
    return len(engine._runs)  # pyright: ignore[reportPrivateUsage]  what the engine still works on, in its own words


@pytest.mark.models
async def test_a_real_model_answers(engine: LlamaCppEngine) -> None:
    text, finish = await collect(engine, ask("Say hello to the arena.", max_tokens=40))
    assert len(text.split()) > 2
    assert finish.prompt_tokens is not None
    assert finish.prompt_tokens > 10
    assert finish.completion_tokens is not None
    assert 1 < finish.completion_tokens <= 40


@pytest.mark.models
async def test_the_token_limit_and_the_seed_hold(engine: LlamaCppEngine) -> None:
    request = GenerationRequest((Message("user", STORY),), Sampling(12, temperature=1.0, top_p=0.9), seed=5)
    first, finish = await collect(engine, request)
    assert (finish.reason, finish.completion_tokens) == (FinishReason.LENGTH, 12)
    assert (await collect(engine, request))[0] == first
    assert (await collect(engine, replace(request, seed=6)))[0] != first


@pytest.mark.models
async def test_a_conversation_without_a_system_prompt_gets_a_neutral_one(engine: LlamaCppEngine) -> None:
    _, bare = await collect(engine, ask("Hi", max_tokens=4))
    _, given = await collect(engine, ask("Hi", max_tokens=4, system=SYSTEM_PROMPT))
    _, other = await collect(engine, ask("Hi", max_tokens=4, system="Be brief."))
    assert bare.prompt_tokens == given.prompt_tokens != other.prompt_tokens


@pytest.mark.models
async def test_answers_at_once_do_not_mix_and_more_than_the_slots_wait(engine: LlamaCppEngine) -> None:
    requests = [ask(f"Count to {number}.", max_tokens=8, seed=number) for number in range(5)]
    answers = await asyncio.gather(*(collect(engine, request) for request in requests))
    assert all(text for text, _ in answers)
    await until(lambda: busy(engine) == 0, within_s=0.5)


@pytest.mark.models
@pytest.mark.parametrize(
    ("prompt", "pieces", "within_s"),
    # A prompt is let go at the end of a batch: 0.12 s, and a multiple where others use the cores. All of it takes 7 s.
    [(STORY, 3, 0.3), (LONG, 0, 1.0)],
    ids=["while it speaks", "while it reads"],
)
async def test_leaving_frees_the_slot(engine: LlamaCppEngine, prompt: str, pieces: int, within_s: float) -> None:
    answer = engine.generate(ask(prompt, max_tokens=400))
    for _ in range(pieces):
        await anext(answer)
    task = asyncio.ensure_future(anext(answer))
    await until(lambda: busy(engine) == 1, within_s=1)
    await asyncio.sleep(0.15 if pieces == 0 else 0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await answer.aclose()
    assert await until(lambda: busy(engine) == 0, within_s=3) < within_s
    text, _ = await collect(engine, ask(max_tokens=4))
    assert text


@pytest.mark.models
async def test_an_answer_ends_when_its_time_is_up(hurried: LlamaCppEngine) -> None:
    await hurried.warm_up()
    text, finish = await collect(hurried, ask(STORY, max_tokens=900))
    assert text
    assert finish.reason is FinishReason.LENGTH
    assert finish.completion_tokens is not None
    assert 1 <= finish.completion_tokens < 900
    assert finish.prompt_tokens is not None
    await until(lambda: busy(hurried) == 0, within_s=0.5)
    with pytest.raises(EngineTimeout, match="within 2 s"):
        await collect(hurried, ask(LONG + LONG, max_tokens=10))
    await hurried.close()


@pytest.mark.models
async def test_a_late_first_token_still_gets_time_to_speak(smollm2: Path) -> None:
    options = LlamaCppOptions(n_parallel=1, max_seconds=0.01, min_speaking_seconds=0.8)
    engine = LlamaCppEngine(smollm2, name="smol", options=options)
    await engine.warm_up()
    _, finish = await collect(engine, ask(STORY, max_tokens=900))
    assert finish.reason is FinishReason.LENGTH
    assert finish.completion_tokens is not None
    assert finish.completion_tokens > 3
    await engine.close()


@pytest.mark.models
async def test_who_is_patient_gets_a_whole_answer_however_long_it_takes(smollm2: Path) -> None:
    options = LlamaCppOptions(n_parallel=1, max_seconds=0.01, min_speaking_seconds=0.01)
    engine = LlamaCppEngine(smollm2, name="smol", options=options)
    await engine.warm_up()
    _, finish = await collect(engine, replace(ask(STORY, max_tokens=40), patient=True))
    assert (finish.reason, finish.completion_tokens) == (FinishReason.LENGTH, 40)
    await engine.close()


@pytest.mark.models
async def test_the_budget_of_the_one_who_asks_is_hard(smollm2: Path) -> None:
    engine = LlamaCppEngine(smollm2, name="smol", options=LlamaCppOptions(n_parallel=1))
    await engine.warm_up()
    loop = asyncio.get_running_loop()
    start = loop.time()
    hurried, late = replace(ask(STORY, max_tokens=900), budget_s=2.0), replace(ask(STORY), budget_s=0.5)
    answer = engine.generate(hurried)
    await anext(answer)
    with pytest.raises(EngineRejected):
        await collect(engine, late)
    *_, finish = [item async for item in answer]
    assert isinstance(finish, Finish)
    assert finish.reason is FinishReason.LENGTH
    assert 0.5 < loop.time() - start < 5
    await engine.close()


@pytest.mark.models
async def test_a_slot_that_stays_taken_is_said_to_be_busy(hurried: LlamaCppEngine) -> None:
    await hurried.warm_up()
    answer = hurried.generate(ask(STORY, max_tokens=900))
    await anext(answer)
    with pytest.raises(EngineRejected) as caught:
        await collect(hurried, ask())
    assert caught.value.code == "engine_busy"
    await answer.aclose()
    await hurried.close()


@pytest.mark.models
async def test_a_conversation_over_the_context_is_refused(engine: LlamaCppEngine) -> None:
    with pytest.raises(EngineRejected) as caught:
        await collect(engine, ask("word " * 3000))
    assert caught.value.code == "engine_context_full"
    text, _ = await collect(engine, ask(max_tokens=4))
    assert text


@pytest.mark.models
async def test_closing_ends_answers_and_gives_memory_back(smollm2: Path) -> None:
    process = psutil.Process()
    await LlamaCppEngine(smollm2, name="first").close()
    engines = [LlamaCppEngine(smollm2, name=f"smol{number}") for number in range(2)]
    await asyncio.gather(*(engine.warm_up() for engine in engines))
    loaded = process.memory_info().rss
    task = asyncio.create_task(collect(engines[0], ask(STORY, max_tokens=900)))
    await until(lambda: busy(engines[0]) == 1, within_s=1)
    await asyncio.gather(*(engine.close() for engine in engines))
    with pytest.raises(EngineUnreachable):
        await task
    with pytest.raises(EngineUnreachable):
        await collect(engines[0], ask())
    with pytest.raises(EngineUnreachable):
        await engines[1].warm_up()
    gc.collect()
    assert loaded - process.memory_info().rss > 150 << 20


@pytest.mark.models
def test_it_is_quiet_and_leaves_well_even_unclosed(smollm2: Path) -> None:
    program = f"""
import asyncio
from pathlib import Path
from agon.engines.llamacpp import LlamaCppEngine
asyncio.run(LlamaCppEngine(Path({str(smollm2)!r}), name="m").warm_up())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=30, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


async def refusal(path: Path, options: LlamaCppOptions | None = None) -> EngineRejected:
    engine = LlamaCppEngine(path, name="m", options=options)
    with pytest.raises(EngineRejected) as caught:
        await engine.warm_up()
    await engine.close()
    return caught.value


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"tokenizer.chat_template": None}, "engine_no_chat_template"),
        ({"llama.block_count": 2**30}, "not_enough_memory"),
        ({}, "engine_bad_weights"),
    ],
)
async def test_a_model_that_cannot_serve_is_refused_before_it_is_loaded(
    tmp_path: Path, changes: Mapping[str, object], code: str
) -> None:
    error = await refusal(write_gguf(tmp_path / "m.gguf", model_metadata(**changes)))
    assert error.code == code


async def test_an_engine_that_was_not_loaded_says_so(tmp_path: Path) -> None:
    engine = LlamaCppEngine(tmp_path / "none.gguf", name="m")
    with pytest.raises(EngineUnreachable):
        await collect(engine, ask())
    await engine.close()


@pytest.mark.parametrize(("cores", "engines", "threads"), [(1, 2, 1), (2, 2, 1), (8, 2, 4), (64, 1, 8), (4, 0, 4)])
def test_cores_are_shared_out(cores: int, engines: int, threads: int) -> None:
    assert LlamaCppOptions.for_machine(cores=cores, engines=engines).n_threads == threads
