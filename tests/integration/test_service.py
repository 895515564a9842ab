"""What operators and programs read: health, metrics, the OpenAPI document."""

import asyncio
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode, checks
from schemathesis.specs.openapi import checks as openapi_checks
from tests.integration.stage import NAMES, Stage
from tests.integration.voter import expect, expect_error

pytestmark = pytest.mark.asyncio(loop_scope="session")

# The library types its checks by cases of unknown kind.
_general: Any = checks
_ours: Any = openapi_checks
CHECKS = [
    _general.not_a_server_error,
    _ours.status_code_conformance,
    _ours.content_type_conformance,
    _ours.response_schema_conformance,
]
FEW = settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


async def test_it_says_that_it_is_alive_and_ready(stage: Stage) -> None:
    async with stage.person() as voter:
        assert expect(await voter.http.get("/healthz"), 200) == {"status": "alive"}
        assert expect(await voter.http.get("/readyz"), 200) == {"status": "ready"}
        async with stage.admin() as admin:
            for name in NAMES:
                expect(await admin.patch(f"/admin/contestants/{name}", json={"state": "paused"}), 200)
            try:
                response = await voter.http.get("/readyz")
                expect_error(response, 503, "not_ready")
                assert "retry-after" in response.headers
            finally:
                for name in NAMES:
                    await admin.patch(f"/admin/contestants/{name}", json={"state": "active"})


async def test_metrics_have_their_names(stage: Stage) -> None:
    async with stage.person() as voter:
        before = (await voter.http.get("/metrics")).text
        battle = await voter.answered()
        expect(await voter.vote(battle, "tie"), 200)
        await voter.http.get("/a/made/up/path")
        shown = (await voter.http.get("/metrics")).text
    for name in ("arena_req_total", "arena_req_latency_seconds_bucket", "arena_streams_open", "arena_votes_total"):
        assert f"\n{name}" in shown
    assert 'arena_votes_total{winner="tie"}' in shown
    assert 'route="/arena/battles/{battle_id}/vote"' in shown
    assert battle["id"] not in shown, "labels must stay bounded"
    assert "made/up" not in shown
    assert len(shown.splitlines()) >= len(before.splitlines())


async def test_the_document_describes_every_route(stage: Stage) -> None:
    async with stage.person() as voter:
        document = expect(await voter.http.get("/openapi.json"), 200)
    assert document["openapi"].startswith("3.")
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert operation.get("description"), (method, path)
            assert operation["responses"], (method, path)
            for status, response in operation["responses"].items():
                if status[0] in "45":
                    schema = response["content"]["application/json"]["schema"]
                    shape = "OpenAiErrorBody" if path.startswith("/v1/") else "ErrorBody"
                    assert schema == {"$ref": f"#/components/schemas/{shape}"}, (method, path, status)


@pytest.mark.slow
async def test_no_request_that_the_document_allows_breaks_it(stage: Stage) -> None:
    """A few requests of every kind, valid and not: never a 500, always what the document says."""
    async with stage.person() as voter:
        battle = await voter.answered()
        cookie = voter.http.cookies["agon_voter"]
        schema: Any = schemathesis.openapi.from_dict((await voter.http.get("/openapi.json")).json())
    headers = {"Cookie": f"agon_voter={cookie}", "Authorization": f"Bearer {stage.admin_key}"}
    question = {"name": "Fuzz", "scorer": "format", "questions": [{"id": "q", "prompt": "Why?"}]}
    async with stage.admin() as admin:
        round_id = expect(await admin.post("/arena/rounds", json=question), 201)["id"]
    known = {"battle_id": battle["id"], "round_id": round_id}
    await asyncio.to_thread(fuzz, schema, stage.url, headers, known)
    async with stage.admin() as admin:
        for name in await stage.contestants():
            if name in NAMES:
                await admin.patch(f"/admin/contestants/{name}", json={"state": "active", "weight": 1.0})
            else:
                await admin.delete(f"/admin/contestants/{name}")


def fuzz(schema: Any, url: str, headers: dict[str, str], known: dict[str, str]) -> None:
    for found in schema.get_all_operations():
        operation = found.ok()
        if not operation.path.endswith("/events"):
            attempt(operation, url, headers, known)


def attempt(operation: Any, url: str, headers: dict[str, str], known: dict[str, str]) -> None:
    cases: st.SearchStrategy[Any] = st.one_of([operation.as_strategy(mode) for mode in GenerationMode])

    @FEW
    @given(case=cases)
    def run(case: Any) -> None:
        case.path_parameters.update({name: one for name, one in known.items() if name in case.path_parameters})
        case.call_and_validate(base_url=url, headers=headers, checks=CHECKS, timeout=30)

    run()
