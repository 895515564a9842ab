import asyncio
import traceback
from collections.abc import AsyncIterator

import pytest
from tests.engines.helpers import ask, collect, collect_into, raw_server, until

from agon.core.errors import (
    EngineError,
    EngineRejected,
    EngineTimeout,
    EngineTruncated,
    EngineUnreachable,
    InvalidInput,
)
from agon.core.generation import Finish, FinishReason, Piece
from agon.engines.openai_http import HttpPatience, OpenAiEngine, chat_url
from agon.engines.scripted import ScriptedServer
from agon.engines.scripted_text import check_text, text_key

KEY = "sk-very-secret-0123456789"


@pytest.fixture
async def engine(scripted: ScriptedServer) -> AsyncIterator[OpenAiEngine]:
    engine = OpenAiEngine(scripted.url, "m", patience=HttpPatience(first_token_s=2, idle_s=0.4, ending_s=0.2))
    yield engine
    await engine.close()


async def test_an_answer_comes_whole_and_is_the_one_asked_for(scripted: ScriptedServer, engine: OpenAiEngine) -> None:
    request = ask()
    text, finish = await collect(engine, request)
    checked = check_text(text)
    assert checked.complete
    assert checked.key == text_key("m", request.messages, request.seed)
    assert finish == Finish(FinishReason.STOP, prompt_tokens=1, completion_tokens=checked.tokens, cached_tokens=0)
    assert scripted.counters("m").finished == 1


async def test_a_token_limit_is_passed_on_and_reported(engine: OpenAiEngine) -> None:
    text, finish = await collect(engine, ask(max_tokens=9))
    assert check_text(text).tokens == 9
    assert finish.reason is FinishReason.LENGTH


@pytest.mark.parametrize(
    "dialect",
    [
        {"crlf": True},
        {"no_space": True, "comments": True},
        {"split_utf8": True, "crlf": True, "comments": True},
        {"role_delta": False},
        {"reasoning_deltas": 3},
        {"done": False},
        {"done": False, "usage_chunk": False},
        {"finish_reason": None},
        {"finish_reason": "eos"},
        {"finish_reason": "end_turn"},
    ],
    ids=str,
)
@pytest.mark.parametrize("rate", [0, 2000])
async def test_every_lawful_dialect_gives_the_same_text(
    scripted: ScriptedServer, engine: OpenAiEngine, dialect: dict[str, object], rate: int
) -> None:
    scripted.configure("m", dialect=dialect, rate_tokens_per_s=rate)
    text, finish = await collect(engine, ask())
    assert check_text(text).complete
    assert finish.reason is FinishReason.STOP
    assert (finish.completion_tokens is None) == (dialect.get("usage_chunk") is False)


@pytest.mark.parametrize("reason", ["content_filter", "tool_calls", "abort"])
async def test_an_ending_that_is_no_answer_is_refused(
    scripted: ScriptedServer, engine: OpenAiEngine, reason: str
) -> None:
    scripted.configure("m", dialect={"finish_reason": reason})
    with pytest.raises(EngineRejected):
        await collect(engine, ask())


async def test_an_answer_in_one_piece_is_taken(scripted: ScriptedServer, engine: OpenAiEngine) -> None:
    scripted.configure("m", whole_json=True)
    pieces = [item async for item in engine.generate(ask())]
    assert isinstance(pieces[0], Piece)
    assert check_text(pieces[0].text).complete
    assert pieces[0].tokens == 64
    assert pieces[1:] == [Finish(FinishReason.STOP, prompt_tokens=1, completion_tokens=64, cached_tokens=0)]


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        (("http_500", 0), (EngineError, "engine_error")),
        (("http_503", 0), (EngineUnreachable, "engine_unreachable")),
        (("http_429", 0), (EngineRejected, "engine_busy")),
        (("disconnect", 0), (EngineUnreachable, "engine_unreachable")),
        (("disconnect", 5), (EngineTruncated, "engine_truncated")),
        (("truncate", 0), (EngineTruncated, "engine_truncated")),
        (("truncate", 5), (EngineTruncated, "engine_truncated")),
        (("error_event", 0), (EngineRejected, "engine_rejected")),
        (("error_event", 5), (EngineError, "engine_error")),
        (("garbage", 5), (EngineRejected, "engine_garbage")),
        (("stall", 5), (EngineTimeout, "engine_timeout")),
        (("empty", 0), (EngineRejected, "engine_empty")),
    ],
)
async def test_each_failure_is_told_apart(
    scripted: ScriptedServer, engine: OpenAiEngine, failure: tuple[str, int], error: tuple[type[EngineError], str]
) -> None:
    kind, at_token = failure
    scripted.configure("m", rate_tokens_per_s=500, fail={"kind": kind, "at_token": at_token, "times": 1})
    said: list[str] = []
    with pytest.raises(EngineError) as caught:
        await collect_into(said, engine, ask())
    assert (type(caught.value), caught.value.code) == error
    assert (check_text("".join(said)).tokens if said else 0) == at_token
    await until(lambda: scripted.counters("m").active == 0, within_s=0.3)
    text, _ = await collect(engine, ask())
    assert check_text(text).complete


async def test_a_silent_engine_is_given_up_before_the_first_token(scripted: ScriptedServer) -> None:
    engine = OpenAiEngine(scripted.url, "m", patience=HttpPatience(first_token_s=0.2))
    scripted.configure("m", first_token_delay_s=5)
    with pytest.raises(EngineTimeout, match="before it began"):
        await collect(engine, ask())
    await until(lambda: scripted.counters("m").cancelled == 1, within_s=0.3)
    await engine.close()


async def test_comments_do_not_count_as_progress() -> None:
    """A router that keeps the connection warm must not hide that its engine is stuck."""
    async with raw_server(b"", pulse=b": ping\n\n") as url:
        engine = OpenAiEngine(url, "m", patience=HttpPatience(first_token_s=0.3))
        with pytest.raises(EngineTimeout):
            await collect(engine, ask())
        await engine.close()


async def test_an_answer_is_whole_at_its_finish_reason_though_the_stream_goes_on() -> None:
    chunk = b'data: {"choices": [{"index": 0, "delta": {"content": "Hi."}, "finish_reason": "stop"}]}\n\n'
    async with raw_server(chunk, pulse=b'data: {"choices": []}\n\n') as url:
        engine = OpenAiEngine(url, "m", patience=HttpPatience(ending_s=0.2))
        assert await collect(engine, ask()) == ("Hi.", Finish(FinishReason.STOP))
        await engine.close()


async def test_nobody_there(scripted: ScriptedServer) -> None:
    await scripted.stop()
    engine = OpenAiEngine(scripted.url, "m")
    with pytest.raises(EngineUnreachable):
        await engine.warm_up()
    await engine.close()


async def test_closing_the_iterator_frees_the_slot(scripted: ScriptedServer, engine: OpenAiEngine) -> None:
    scripted.configure("m", rate_tokens_per_s=50)
    answer = engine.generate(ask())
    await anext(answer)
    assert scripted.counters("m").active == 1
    await answer.aclose()
    assert await until(lambda: scripted.counters("m").active == 0, within_s=0.3) < 0.3
    assert scripted.counters("m").cancelled == 1


@pytest.mark.parametrize("delay", [0.0, 5.0], ids=["streaming", "before the headers"])
async def test_cancelling_the_task_frees_the_slot(scripted: ScriptedServer, engine: OpenAiEngine, delay: float) -> None:
    scripted.configure("m", rate_tokens_per_s=20, first_token_delay_s=delay)
    task = asyncio.create_task(collect(engine, ask()))
    await until(lambda: scripted.counters("m").active == 1, within_s=1)
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: scripted.counters("m").cancelled == 1, within_s=0.3)


@pytest.mark.parametrize("field", ["stream_options", "seed", "max_tokens"])
async def test_a_field_the_server_does_not_know_is_left_out_from_then_on(
    scripted: ScriptedServer, engine: OpenAiEngine, field: str
) -> None:
    scripted.configure("m", refuse_fields=[field])
    for _ in range(2):
        text, _ = await collect(engine, ask(max_tokens=12))
        assert check_text(text).tokens == 12
    assert scripted.counters("m").started == 2


async def test_a_field_that_matters_is_not_left_out(scripted: ScriptedServer, engine: OpenAiEngine) -> None:
    scripted.configure("m", refuse_fields=["messages"])
    with pytest.raises(EngineRejected, match="Unsupported parameter: 'messages'"):
        await collect(engine, ask())


async def test_the_key_is_sent_and_never_shown() -> None:
    async with ScriptedServer(["m"], api_key=KEY) as server:
        good = OpenAiEngine(server.url, "m", api_key=f"{KEY}\n")
        assert check_text((await collect(good, ask()))[0]).complete
        await good.close()
        for wrong in (OpenAiEngine(server.url, "m", api_key=KEY + "x"), OpenAiEngine(server.url, "m")):
            with pytest.raises(EngineRejected) as caught:
                await collect(wrong, ask())
            assert caught.value.code == "engine_denied"
            assert KEY not in "".join(traceback.format_exception(caught.value))
            await wrong.close()


async def test_a_key_repeated_by_the_engine_is_taken_out(scripted: ScriptedServer) -> None:
    engine = OpenAiEngine(scripted.url, KEY, api_key=KEY)
    with pytest.raises(EngineRejected) as caught:
        await collect(engine, ask())
    assert caught.value.message == "The engine has no such model or path (404): The model '***' does not exist."
    await engine.close()


async def test_many_answers_at_once_do_not_mix(scripted: ScriptedServer, engine: OpenAiEngine) -> None:
    scripted.configure("m", rate_tokens_per_s=300, tokens={"low": 10, "high": 90}, dialect={"split_utf8": True})
    requests = [ask(f"Question {number}", seed=number) for number in range(40)]
    answers = await asyncio.gather(*(collect(engine, request) for request in requests))
    for request, (text, _) in zip(requests, answers, strict=True):
        checked = check_text(text)
        assert checked.complete
        assert checked.key == text_key("m", request.messages, request.seed)


async def test_warming_up_is_one_short_generation(scripted: ScriptedServer, engine: OpenAiEngine) -> None:
    await engine.warm_up()
    assert scripted.counters("m").tokens == 8


async def test_warming_up_a_model_that_only_thinks_at_first(scripted: ScriptedServer, engine: OpenAiEngine) -> None:
    scripted.configure("m", fail={"kind": "empty"}, dialect={"reasoning_deltas": 8})
    await engine.warm_up()


async def test_a_closed_engine_says_so(engine: OpenAiEngine) -> None:
    await engine.warm_up()
    await engine.close()
    with pytest.raises(EngineUnreachable):
        await collect(engine, ask())


@pytest.mark.parametrize(
    ("given", "posted"),
    [
        ("http://h:1", "http://h:1/v1/chat/completions"),
        ("http://h:1/", "http://h:1/v1/chat/completions"),
        ("http://h:1/v1", "http://h:1/v1/chat/completions"),
        (" http://h:1/v1// ", "http://h:1/v1/chat/completions"),
        ("https://h/api/v3/", "https://h/api/v3/chat/completions"),
        ("https://h/openai/v1/chat/completions", "https://h/openai/v1/chat/completions"),
    ],
)
def test_where_an_address_leads(given: str, posted: str) -> None:
    assert str(chat_url(given)) == posted


@pytest.mark.parametrize(
    "given", ["h:1", "ftp://h", "http://", "http://u:p@h/v1", "http://h/v1?x=1", "http://[::1", ""]
)
def test_an_address_that_leads_nowhere_is_refused(given: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        OpenAiEngine(given, "m")
    assert caught.value.field == "url"


@pytest.mark.parametrize("key", ["two\nlines", "clé"])
def test_a_key_that_cannot_be_sent_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        OpenAiEngine("http://h", "m", api_key=key)
    assert key not in caught.value.message
