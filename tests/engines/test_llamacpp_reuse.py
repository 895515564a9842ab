"""What llama.cpp need not do again, and what it guesses ahead."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.engines.gguf_files import model_metadata, write_gguf
from tests.engines.helpers import collect

from agon.core.errors import EngineRejected
from agon.core.generation import GenerationRequest, Message, Piece, Sampling
from agon.engines.gguf_header import read_header
from agon.engines.llamacpp import LlamaCppEngine
from agon.engines.llamacpp_options import LlamaCppOptions, fit, reading_tokens

OPTIONS = LlamaCppOptions(n_parallel=2, n_ctx_per_slot=1024)
COPY = (
    "Repeat this text word for word, twice: The harbour of Tallinn is old. Ships with white sails come in the morning "
    "and leave at night. Merchants sell salt, wool and amber on the quay. Children count the gulls."
)


@pytest.fixture
async def engine(smollm2: Path) -> AsyncIterator[LlamaCppEngine]:
    engine = LlamaCppEngine(smollm2, name="smol", options=OPTIONS)
    await engine.warm_up()
    yield engine
    await engine.close()


def turn(*words: str, tokens: int = 16) -> GenerationRequest:
    """A conversation, the other side's words among them; it is written without chance."""
    roles = ("user", "assistant")
    messages = tuple(Message(roles[number % 2], content) for number, content in enumerate(words))
    return GenerationRequest(messages, Sampling(tokens, temperature=0.0), seed=1)


def opening(subject: str) -> str:
    return f"Let us talk about {subject}. " + f"The {subject} is seen from the river bank and from the hill. " * 7


@pytest.mark.models
async def test_the_second_turn_reads_only_what_is_new(engine: LlamaCppEngine) -> None:
    first, before = await collect(engine, turn(opening("lighthouse")))
    _, after = await collect(engine, turn(opening("lighthouse"), first, "And then?"))
    assert before.prompt_tokens is not None
    assert before.prompt_tokens > 100
    assert after.prompt_tokens is not None
    assert after.cached_tokens is not None
    assert after.cached_tokens >= before.prompt_tokens
    assert after.prompt_tokens - after.cached_tokens < 20


@pytest.mark.models
async def test_a_conversation_that_lost_its_slot_is_restored(engine: LlamaCppEngine) -> None:
    subjects = ("mill", "church", "market", "garden")
    answers = [(await collect(engine, turn(opening(subject))))[0] for subject in subjects]
    for subject, answer in zip(subjects, answers, strict=True):
        _, finish = await collect(engine, turn(opening(subject), answer, "And then?"))
        assert finish.prompt_tokens is not None
        assert finish.cached_tokens is not None
        assert finish.prompt_tokens - finish.cached_tokens < 20


@pytest.mark.models
async def test_without_the_cache_a_lost_slot_is_read_again(smollm2: Path) -> None:
    engine = LlamaCppEngine(smollm2, name="smol", options=replace(OPTIONS, n_parallel=1, cache_mib=0))
    await engine.warm_up()
    first, _ = await collect(engine, turn(opening("mill")))
    await collect(engine, turn(opening("church")))
    _, finish = await collect(engine, turn(opening("mill"), first, "And then?"))
    assert finish.cached_tokens is not None
    assert finish.cached_tokens < 40
    await engine.close()


@pytest.mark.models
async def test_a_begun_answer_is_gone_on_with(engine: LlamaCppEngine) -> None:
    request = turn("Write a story about a lighthouse.", tokens=30)
    pieces = [item async for item in engine.generate(request) if isinstance(item, Piece)]
    whole = "".join(piece.text for piece in pieces)
    said = "".join(piece.text for piece in pieces[:17])
    rest, finish = await collect(engine, replace(request, said=said, sampling=Sampling(13, temperature=0.0)))
    assert said + rest == whole
    assert finish.completion_tokens == 13
    assert finish.cached_tokens is not None
    assert finish.cached_tokens > 30


@pytest.mark.models
async def test_further_fields_reach_the_model_and_none_gets_round_a_limit(engine: LlamaCppEngine) -> None:
    request = turn("Write a story about a lighthouse.", tokens=20)
    plain, _ = await collect(engine, request)
    word = plain.split()[4]
    stopped, _ = await collect(engine, replace(request, extra={"stop": [word], "frequency_penalty": 0}))
    assert stopped == plain[: plain.index(word)]
    extra = {"n_predict": 60, "max_completion_tokens": 60, "n": 3, "cache_prompt": False, "made_up_field": 1}
    limited, finish = await collect(engine, replace(request, extra=extra))
    assert (limited, finish.completion_tokens) == (plain, 20)
    assert finish.cached_tokens


@pytest.mark.models
async def test_no_request_takes_the_process_down_or_its_memory(engine: LlamaCppEngine) -> None:
    request = turn("Hello?", tokens=4)
    plain, _ = await collect(engine, request)
    deep = "root ::= " + "(" * 60_000 + '"a"' + ")" * 60_000
    extra = {"grammar": deep, "repeat_last_n": 100_000_000, "dry_penalty_last_n": 100_000_000, "dry_multiplier": 1}
    assert (await collect(engine, replace(request, extra=extra)))[0] == plain
    fields = {f"field{number}": {"type": "string"} for number in range(3000)}
    schema = {"schema": {"type": "object", "properties": fields}}
    shaped = replace(request, extra={"response_format": {"type": "json_schema", "json_schema": schema}})
    with pytest.raises(EngineRejected, match="response_format"):
        await collect(engine, shaped)
    assert (await collect(engine, request))[0] == plain


@pytest.mark.models
async def test_an_answer_can_be_given_a_shape(engine: LlamaCppEngine) -> None:
    schema = {"schema": {"type": "boolean"}}
    shaped = replace(turn("Is water wet?"), extra={"response_format": {"type": "json_schema", "json_schema": schema}})
    assert (await collect(engine, shaped))[0] in {"true", "false"}


@pytest.mark.models
async def test_certainties_are_told_when_asked_for(engine: LlamaCppEngine) -> None:
    request = replace(turn("Hello?", tokens=6), extra={"logprobs": True, "top_logprobs": 3})
    pieces = [item async for item in engine.generate(request) if isinstance(item, Piece)]
    assert all(piece.logprobs for piece in pieces)
    certainties = [one for piece in pieces for one in piece.logprobs or ()]
    assert "".join(one["token"] for one in certainties) == "".join(piece.text for piece in pieces)
    assert all(one["logprob"] <= 0 and len(one["top_logprobs"]) == 3 for one in certainties)


@pytest.mark.models
async def test_guessing_ahead_does_not_change_the_text(smollm2: Path, smollm2_q8: Path) -> None:
    texts: dict[str, list[str]] = {}
    accepted: dict[str, int] = {}
    variants = {
        "plain": OPTIONS,
        "ngram": replace(OPTIONS, ngram=True),
        "draft": replace(OPTIONS, draft=smollm2),
    }
    for name, options in variants.items():
        engine = LlamaCppEngine(smollm2_q8, name=name, options=options)
        await engine.warm_up()
        answers = [await collect(engine, turn(prompt, tokens=32)) for prompt in (COPY, "Tell of a king.")]
        texts[name] = [text for text, _ in answers]
        finish = answers[0][1]
        accepted[name] = finish.accepted_tokens or 0
        if name != "plain":
            assert finish.drafted_tokens is not None
            assert 0 < accepted[name] <= finish.drafted_tokens
        await engine.close()
    assert texts["ngram"] == texts["plain"] == texts["draft"]
    assert accepted["plain"] == 0


@pytest.mark.models
async def test_guesses_of_many_slots_fit_into_one_batch(smollm2: Path) -> None:
    options = LlamaCppOptions(n_parallel=6, n_ctx_per_slot=512, ngram=True)
    engine = LlamaCppEngine(smollm2, name="smol", options=options)
    await engine.warm_up()
    answers = await asyncio.gather(*(collect(engine, replace(turn(COPY, tokens=40), seed=seed)) for seed in range(6)))
    assert all(text for text, _ in answers)
    await engine.close()


def test_what_a_model_takes_is_known_from_its_header(tmp_path: Path) -> None:
    small = write_gguf(tmp_path / "small.gguf", model_metadata())
    plain = fit(small, replace(OPTIONS, cache_mib=0))
    assert fit(small, replace(OPTIONS, cache_mib=100)).needed_bytes - plain.needed_bytes == 100 << 20
    assert fit(small, replace(OPTIONS, cache_mib=0, draft=small)).needed_bytes > 1.9 * plain.needed_bytes
    with pytest.raises(EngineRejected):
        fit(write_gguf(tmp_path / "base.gguf", model_metadata(**{"tokenizer.chat_template": None})), OPTIONS)


@pytest.mark.parametrize(
    ("file_mib", "options", "batch"),
    [
        (94, LlamaCppOptions(), 16),
        (469, LlamaCppOptions(), 8),
        (4000, LlamaCppOptions(), 8),
        (94, LlamaCppOptions(n_threads=4), 64),
        (469, LlamaCppOptions(ngram=True), 8),
    ],
)
def test_larger_models_read_in_smaller_steps(
    tmp_path: Path, file_mib: int, options: LlamaCppOptions, batch: int
) -> None:
    header = replace(read_header(write_gguf(tmp_path / "m.gguf", model_metadata())), file_bytes=file_mib << 20)
    assert reading_tokens(header, options) == batch


@pytest.mark.parametrize(
    ("options", "speculated"),
    [
        (LlamaCppOptions(), 0),
        (LlamaCppOptions(n_parallel=8, ngram=True), 7),
        (LlamaCppOptions(n_parallel=16, ngram=True), 3),
        (LlamaCppOptions(n_parallel=300, ngram=True), 1),
        (LlamaCppOptions(n_parallel=20, draft=Path("m.gguf")), 2),
    ],
)
def test_what_all_slots_guess_fits_into_one_batch(tmp_path: Path, options: LlamaCppOptions, speculated: int) -> None:
    path = write_gguf(tmp_path / "m.gguf", model_metadata())
    found = fit(path, replace(options, draft=path if options.draft else None))
    assert options.speculated == speculated
    assert found.n_batch >= options.n_parallel * (speculated + 1)
    assert found.n_ubatch == fit(path, LlamaCppOptions()).n_ubatch
