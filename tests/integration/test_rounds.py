"""Rounds from outside: asked for, answered by submitting, watched, refused."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from tests.integration.stage import NAMES, Stage
from tests.integration.voter import expect, expect_error

from agon.core.rounds import answer_id

pytestmark = pytest.mark.asyncio(loop_scope="session")

ROUNDS = "/arena/rounds"
UNKNOWN = "00000000-0000-4000-8000-000000000000"
JSON = {"content-type": "application/json"}
ONE, TWO = NAMES
BANK: list[dict[str, Any]] = [
    {"id": "sky", "prompt": "Why is the sky blue?", "category": "science", "language": "en", "licence": "CC0"},
    {"id": "haiku", "turns": ["Write a haiku.", "And another."], "category": "writing"},
    {"id": 3, "prompt": "天空为什么是蓝色的", "language": "zh"},
]


def body(**changes: Any) -> dict[str, Any]:
    return {"name": "Spring", "scorer": "format", "contestants": [ONE], "questions": BANK, **changes}


async def create(stage: Stage, **changes: Any) -> dict[str, Any]:
    async with stage.admin() as admin:
        return expect(await admin.post("/arena/rounds", json=body(**changes)), 201)


@asynccontextmanager
async def visitor(stage: Stage) -> AsyncGenerator[httpx.AsyncClient]:
    async with httpx.AsyncClient(verify=False, base_url=stage.url, timeout=30) as client:
        yield client


def answer(made: dict[str, Any], question: str = "sky", **changes: Any) -> dict[str, Any]:
    return {"round_id": made["id"], "model": "elsewhere", "question": question, "text": "Because.", **changes}


async def test_a_round_is_asked_for_and_read(stage: Stage) -> None:
    made = await create(stage, seed=7, max_tokens=32)
    assert made["contestants"] == [{"name": ONE, "made_here": True}]
    assert (made["questions"], made["strict"], made["seed"], made["anchor"]) == (3, True, 7, None)
    async with visitor(stage) as client:
        found = expect(await client.get(f"/arena/rounds/{made['id']}"), 200)
        asked = expect(await client.get(f"/arena/rounds/{made['id']}/questions"), 200)
        page = expect(await client.get(f"/arena/rounds/{made['id']}/questions?limit=2&skip=1"), 200)
        listed = expect(await client.get("/arena/rounds?limit=1"), 200)
        board = expect(await client.get(f"/arena/rounds/{made['id']}/board"), 200)
        rivals = expect(await client.get(f"/arena/rounds/{made['id']}/rivals"), 200)
    assert {**made, "progress": found["progress"], "trouble": 0, "done": False} == found
    (progress,) = found["progress"]
    assert (progress["contestant"], progress["pending"], progress["missing"]) == (ONE, 3, 0)
    assert [(one["id"], one["category"], one["language"]) for one in asked["questions"]] == [
        ("sky", "science", "en"),
        ("haiku", "writing", ""),
        ("3", "", "zh"),
    ]
    assert asked["questions"][1]["turns"] == BANK[1]["turns"]
    assert (page["questions"], asked["next"], page["next"]) == (asked["questions"][1:], None, 3)
    assert listed == {"rounds": [made], "next": made["id"]}
    assert (board["merged"], board["made_at"], len(board["rows"])) == (0, None, 1)
    assert rivals["round"] == made["id"]


async def test_asking_again_with_an_id_is_the_same_round(stage: Stage) -> None:
    name = str(uuid4())
    made = await create(stage, id=name)
    assert made["id"] == name
    assert await create(stage, id=name) == made
    async with stage.admin() as admin:
        other = await admin.post("/arena/rounds", json=body(id=name, seed=1))
    expect_error(other, 409, "round_exists", "id")


async def test_answers_are_submitted_and_seen(stage: Stage) -> None:
    made = await create(stage)
    async with visitor(stage) as client:
        first = expect(await client.post("/arena/submit", json=answer(made)), 200)
        assert first == {"answer_id": str(answer_id(UUID(made["id"]), "elsewhere", "sky")), "repeated": False}
        again = expect(await client.post("/arena/submit", json=answer(made)), 200)
        assert again == {**first, "repeated": True}
        by_prompt = answer(made, question="", model="third", text="因为。")
        by_prompt |= {"question": None, "prompt": "天空为什么是蓝色的"}
        third = expect(await client.post("/arena/submit", json=by_prompt), 200)
        assert third["answer_id"] == str(answer_id(UUID(made["id"]), "third", "3"))
        turns = {"round_id": made["id"], "model": "third", "turns": BANK[1]["turns"], "texts": ["a", "b"]}
        expect(await client.post("/arena/submit", json=turns), 200)
        found = expect(await client.get(f"/arena/rounds/{made['id']}"), 200)
        beside = expect(await client.get(f"/arena/rounds/{made['id']}/answers", params={"question": "haiku"}), 200)
    counts = {one["contestant"]: (one["pending"], one["answered"], one["missing"]) for one in found["progress"]}
    assert counts == {ONE: (3, 0, 0), "elsewhere": (0, 1, 2), "third": (0, 2, 1)}
    assert [(one["contestant"], one["stage"], one["texts"]) for one in beside["answers"]] == [
        (ONE, "pending", []),
        ("third", "answered", ["a", "b"]),
    ]


async def test_a_batch_has_a_reply_for_each(stage: Stage) -> None:
    made = await create(stage)
    nowhere = {"id": UNKNOWN}
    batch = [
        answer(made),
        answer(made),
        answer(made, text="Another."),
        answer(made, "moon"),
        answer(nowhere),
        answer(made, model=ONE),
        answer(made, text=7),
        "no object",
        answer(made, "3", prompt="Both"),
    ]
    async with visitor(stage) as client:
        replies = expect(await client.post("/arena/submit", json={"answers": batch}), 200)["answers"]
    assert [reply.get("repeated") for reply in replies[:2]] == [False, True]
    refused = [(reply["error"]["code"], reply["error"]["field"]) for reply in replies[2:]]
    assert refused == [
        ("answer_exists", "text"),
        ("question_unknown", "question"),
        ("round_not_found", "round_id"),
        ("contestant_made_here", "model"),
        ("invalid_input", "text"),
        ("invalid_input", "answers"),
        ("invalid_input", "question"),
    ]


@pytest.mark.parametrize(
    ("changes", "status", "code", "field"),
    [
        ({"round_id": UNKNOWN}, 404, "round_not_found", "round_id"),
        ({"round_id": "no id"}, 422, "invalid_input", "round_id"),
        ({"round_id": None}, 422, "missing_field", "round_id"),
        ({"model": None}, 422, "missing_field", "model"),
        ({"model": ""}, 422, "invalid_input", "model"),
        ({"model": "x" * 101}, 422, "invalid_input", "model"),
        ({"model": "a\nb"}, 422, "invalid_input", "model"),
        ({"model": ONE}, 409, "contestant_made_here", "model"),
        ({"question": "moon"}, 404, "question_unknown", "question"),
        ({"question": None}, 422, "missing_field", "question"),
        ({"question": ""}, 422, "invalid_input", "question"),
        ({"question": 3}, 422, "invalid_input", "question"),
        ({"question": None, "prompt": "Who?"}, 404, "question_unknown", "prompt"),
        ({"question": None, "prompt": " "}, 422, "invalid_input", "prompt"),
        ({"text": None}, 422, "missing_field", "text"),
        ({"text": "NUL \x00"}, 422, "invalid_input", "text"),
        ({"text": "x" * 200_001}, 422, "limit_exceeded", "text"),
        ({"texts": ["a"]}, 422, "invalid_input", "texts"),
        ({"text": None, "texts": []}, 422, "invalid_input", "texts"),
        ({"text": None, "texts": ["a", 1]}, 422, "invalid_input", "texts"),
        ({"score": 1}, 422, "invalid_input", "score"),
    ],
)
async def test_a_refused_answer_names_its_field(
    stage: Stage, changes: dict[str, Any], status: int, code: str, field: str
) -> None:
    made = await create(stage)
    async with visitor(stage) as client:
        expect_error(await client.post("/arena/submit", json=answer(made, **changes)), status, code, field)
        found = expect(await client.get(f"/arena/rounds/{made['id']}"), 200)
    assert [one["contestant"] for one in found["progress"]] == [ONE]


@pytest.mark.parametrize(
    ("sent", "code", "field"),
    [
        (b"", "invalid_json", None),
        (b"{", "invalid_json", None),
        (b"\xff", "invalid_json", None),
        (b"[" * 100_000, "invalid_json", None),
        (b"[]", "invalid_input", "answers"),
        (b"null", "invalid_input", "answers"),
        (b"{}", "missing_field", "model"),
        (b'{"answers": []}', "invalid_input", "answers"),
        (b'{"answers": {}}', "invalid_input", "answers"),
        (b'{"answers": [1], "x": 1}', "invalid_input", "x"),
        (json.dumps({"answers": [1] * 1001}).encode(), "limit_exceeded", "answers"),
        (b'{"round_id": "x", "model": "m", "question": "q", "text": "\\ud800"}', "invalid_input", "text"),
    ],
)
async def test_a_bad_body_of_answers_is_refused(stage: Stage, sent: bytes, code: str, field: str | None) -> None:
    async with visitor(stage) as client:
        response = await client.post("/arena/submit", content=sent, headers=JSON)
    expect_error(response, 422, code, field)
    assert response.headers["x-content-type-options"] == "nosniff"


async def test_answers_are_only_posted(stage: Stage) -> None:
    async with visitor(stage) as client:
        expect_error(await client.get("/arena/submit"), 405, "method_not_allowed")
        cross = await client.post("/arena/submit", json={}, headers={"Sec-Fetch-Site": "cross-site"})
        expect_error(cross, 403, "cross_site")


async def test_an_open_round_takes_questions_of_its_senders(stage: Stage) -> None:
    made = await create(stage, strict=False, questions=BANK[:1])
    sent = {"round_id": made["id"], "model": "m", "prompt": "Something new?", "text": "Yes."}
    async with visitor(stage) as client:
        expect(await client.post("/arena/submit", json=sent), 200)
        expect_error(await client.post("/arena/submit", json=answer(made, "moon")), 404, "question_unknown", "question")
        asked = expect(await client.get(f"/arena/rounds/{made['id']}/questions"), 200)
    assert [one["turns"] for one in asked["questions"]] == [["Why is the sky blue?"], ["Something new?"]]


BAD_ROUNDS: list[tuple[dict[str, Any], str, str]] = [
    ({"name": " "}, "invalid_input", "name"),
    ({"name": "NUL \x00"}, "invalid_input", "name"),
    ({"name": None}, "invalid_input", "name"),
    ({"id": "x"}, "invalid_input", "id"),
    ({"scorer": "no such"}, "scorer_unknown", "scorer"),
    ({"scorer": "judge:"}, "scorer_unknown", "scorer"),
    ({"scorer": "judge:nobody"}, "contestant_unknown", "scorer"),
    ({"scorer": "grade:nobody"}, "contestant_unknown", "scorer"),
    ({"contestants": [ONE, "nobody"]}, "contestant_unknown", "contestants.1"),
    ({"contestants": [ONE, {"name": ONE}]}, "duplicate_contestant", "contestants.1"),
    ({"contestants": [{"name": "", "made_here": False}]}, "invalid_input", "contestants.0"),
    ({"contestants": [{"name": "m", "made_here": False}] * 1001}, "limit_exceeded", "contestants"),
    ({"anchor": TWO}, "invalid_input", "anchor"),
    ({"scorer": f"judge:{TWO}", "contestants": []}, "anchor_needed", "anchor"),
    ({"questions": []}, "empty_bank", "questions"),
    ({"questions": [*BANK, {"id": "sky", "prompt": "x"}]}, "duplicate_question", "questions.3.id"),
    ({"questions": [*BANK, {"id": "x"}]}, "missing_field", "questions.3.prompt"),
    ({"questions": [*BANK, {"prompt": " "}]}, "invalid_input", "questions.3.prompt"),
    ({"questions": [{"prompt": "x", "id": " "}]}, "invalid_input", "questions.0.id"),
    ({"questions": [{"prompt": "NUL \x00"}]}, "invalid_input", "questions.0.prompt"),
    ({"questions": [{"prompt": "x", "category": "c" * 101}]}, "limit_exceeded", "questions.0.category"),
    ({"questions": [{"prompt": "x", "turns": ["y", "z"]}]}, "invalid_input", "questions.0.prompt"),
    ({"questions": [{"turns": []}]}, "invalid_input", "questions.0.turns"),
    ({"questions": [{"prompt": "x" * 100_001}]}, "limit_exceeded", "questions.0.prompt"),
    ({"questions": "x"}, "invalid_input", "questions"),
    ({"seed": 2**31}, "invalid_input", "seed"),
    ({"max_tokens": 0}, "invalid_input", "max_tokens"),
    ({"colour": "red"}, "invalid_input", "colour"),
]


@pytest.mark.parametrize(("changes", "code", "field"), BAD_ROUNDS)
async def test_a_round_that_cannot_be_is_refused_by_its_field(
    stage: Stage, changes: dict[str, Any], code: str, field: str
) -> None:
    async with stage.admin() as admin:
        before = expect(await admin.get("/arena/rounds"), 200)
        response = await admin.post("/arena/rounds", content=json.dumps(body(**changes)), headers=JSON)
        expect_error(response, 422, code, field)
        assert expect(await admin.get("/arena/rounds"), 200) == before


async def test_a_judge_compares_with_the_first_contestant(stage: Stage) -> None:
    made = await create(stage, scorer=f"judge:{TWO}", contestants=[{"name": "other", "made_here": False}, ONE])
    assert made["anchor"] == "other"
    named = await create(stage, scorer=f"judge:{TWO}", contestants=["Velvet Thunder", TWO], anchor=TWO)
    assert named["anchor"] == TWO


async def test_only_admins_change_rounds(stage: Stage) -> None:
    made = await create(stage)
    where = f"/arena/rounds/{made['id']}"
    async with visitor(stage) as client:
        # A stranger is refused whatever they send, and not read.
        for path, sent in ((ROUNDS, b"{"), (f"{where}/contestants", b'{"name": "x"}'), (f"{where}/rerun", b"")):
            expect_error(await client.post(path, content=sent, headers=JSON), 401, "admin_key_needed")
            wrong = {**JSON, "Authorization": "Bearer agon-wrong"}
            expect_error(await client.post(path, content=sent, headers=wrong), 401, "admin_key_needed")


async def test_a_contestant_is_added_later(stage: Stage) -> None:
    made = await create(stage)
    where = f"/arena/rounds/{made['id']}/contestants"
    async with stage.admin() as admin:
        changed = expect(await admin.post(where, json={"name": TWO}), 200)
        assert [one["name"] for one in changed["contestants"]] == [ONE, TWO]
        assert expect(await admin.post(where, json={"name": TWO}), 200) == changed
        expect_error(await admin.post(where, json={"name": TWO, "made_here": False}), 409, "contestant_exists", "name")
        expect_error(await admin.post(where, json={"name": "nobody"}), 422, "contestant_unknown", "name")
        expect(await admin.post(where, json={"name": "nobody", "made_here": False}), 200)
        expect_error(await admin.post(where, json={}), 422, "missing_field", "name")
        missing = await admin.post(f"/arena/rounds/{UNKNOWN}/contestants", json={"name": TWO})
        expect_error(missing, 404, "round_not_found", "round_id")
        found = expect(await admin.get(f"/arena/rounds/{made['id']}"), 200)
    assert [(one["contestant"], one["pending"], one["missing"]) for one in found["progress"]] == [
        (ONE, 3, 0),
        (TWO, 3, 0),
        ("nobody", 0, 3),
    ]


async def test_trouble_is_told_and_run_again(stage: Stage) -> None:
    made = await create(stage)
    where = f"/arena/rounds/{made['id']}"
    ledger = await stage.ledger()
    broken = "update round_answers set stage = 'failed', error = 'it broke' where round = $1 and question = 'sky'"
    await ledger.execute(broken, made["id"])
    await ledger.close()
    async with stage.admin() as admin:
        assert expect(await admin.get(where), 200)["trouble"] == 1
        (told,) = expect(await admin.get(f"{where}/trouble"), 200)["answers"]
        assert (told["contestant"], told["question"], told["error"]) == (ONE, "sky", "it broke")
        assert expect(await admin.post(f"{where}/rerun"), 200) == {"answers": 1}
        assert expect(await admin.post(f"{where}/rerun"), 200) == {"answers": 0}
        assert expect(await admin.get(f"{where}/trouble"), 200) == {"answers": []}


@pytest.mark.parametrize("part", ["", "/questions", "/answers?question=x", "/trouble", "/board", "/rivals", "/events"])
async def test_a_round_that_is_not_there_is_not_found(stage: Stage, part: str) -> None:
    async with visitor(stage) as client:
        expect_error(await client.get(f"/arena/rounds/{UNKNOWN}{part}"), 404, "round_not_found", "round_id")
        expect_error(await client.get(f"/arena/rounds/x{part}"), 422, "invalid_input", "round_id")


async def test_a_question_that_is_not_there_is_not_found(stage: Stage) -> None:
    made = await create(stage)
    async with visitor(stage) as client:
        where = f"/arena/rounds/{made['id']}/answers"
        expect_error(await client.get(where, params={"question": "moon"}), 404, "question_unknown", "question")
        expect_error(await client.get(where, params={"question": "\x00"}), 422, "invalid_input", "question")
        expect_error(await client.get(where), 422, "missing_field", "question")
        board = await client.get(f"/arena/rounds/{made['id']}/board", params={"category": "moon"})
        expect_error(board, 404, "category_not_found", "category")


async def test_rounds_are_listed_in_pages(stage: Stage) -> None:
    made = [(await create(stage))["id"] for _ in range(3)]
    async with visitor(stage) as client:
        first = expect(await client.get("/arena/rounds?limit=2"), 200)
        second = expect(await client.get(f"/arena/rounds?limit=1&before={first['next']}"), 200)
        expect_error(await client.get("/arena/rounds?limit=0"), 422, "invalid_input", "limit")
    assert [one["id"] for one in (*first["rounds"], *second["rounds"])] == made[::-1]


async def test_those_who_watch_see_what_changes(stage: Stage) -> None:
    made = await create(stage)
    where = f"/arena/rounds/{made['id']}/events"
    async with visitor(stage) as client, asyncio.timeout(20), client.stream("GET", where) as watched:
        assert watched.headers["content-type"] == "text/event-stream; charset=utf-8"
        seen: list[tuple[str, dict[str, Any]]] = []
        name = ""
        async for line in watched.aiter_lines():
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                seen.append((name, json.loads(line.removeprefix("data: "))))
                names = [one for one, _ in seen]
                if sorted(names) == ["board", "progress"]:
                    async with visitor(stage) as other:
                        expect(await other.post("/arena/submit", json=answer(made)), 200)
                if names.count("progress") == 2:
                    break
    assert [data["progress"][-1]["contestant"] for one, data in seen if one == "progress"] == [ONE, "elsewhere"]
    assert [data["merged"] for one, data in seen if one == "board"] == [0]
