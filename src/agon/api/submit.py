"""`POST /arena/submit`: answers made elsewhere. Plain ASGI in front of the framework, since thousands come a second."""

import json
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from agon.api.errors import body_of, headers_of, status_of
from agon.api.front import Call, Meters, Senders, allow_method, header_lines, read_body
from agon.api.middleware import Application, Receive, Scope, Send
from agon.bootstrap.gateway import Gateway
from agon.config import Settings
from agon.core.buckets import Buckets
from agon.core.errors import AgonError, Busy, InvalidInput, LimitExceeded
from agon.core.round_ports import Submitted
from agon.core.text import storable
from agon.rounds.submitting import MAX_ANSWERS
from agon.telemetry import Metrics

log = logging.getLogger(__name__)

SUBMIT = "/arena/submit"


class Submit:
    """Takes submitted answers and hands everything else on."""

    def __init__(self, app: Application, *, settings: Settings, metrics: Metrics) -> None:
        self._app = app
        self._body_bytes = settings.limits.submit_bytes
        self._senders = Senders(settings.server.api_keys)
        self._buckets = Buckets(settings.limits.client_submits_per_minute)
        self._metrics = metrics
        self._meters = Meters(metrics)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != SUBMIT:
            await self._app(scope, receive, send)
            return
        call = Call(scope, send, self._meters, SUBMIT)
        try:
            await self._take(call, receive)
        except AgonError as error:
            await call.say(body_of(error), status_of(error), header_lines(headers_of(error)))
        except Exception:
            log.exception("%s %s failed", scope["method"], scope["path"])
            bug = AgonError("Something went wrong inside the arena; the log has the details.", code="internal_error")
            await call.say(body_of(bug), status_of(bug))
        finally:
            call.count()

    async def _take(self, call: Call, receive: Receive) -> None:
        headers = dict[bytes, bytes](call.scope["headers"])
        sender = self._senders.name(headers, call.scope["client"])
        allow_method(call.scope["method"], "POST")
        # Whoever has spent it all is not even read.
        self._charge(sender, 1, spend=False)
        body = await read_body(receive, headers, self._body_bytes)
        if body is None:
            return
        sent = _read(body)
        self._charge(sender, len(sent.answers), spend=True)
        gateway: Gateway = call.scope["app"].state.gateway
        results = await gateway.rounds.submitting.submit(sent.answers)
        self._count(results)
        if sent.batch:
            await call.say({"answers": [_said(result) for result in results]})
        elif isinstance(results[0], AgonError):
            raise results[0]
        else:
            await call.say(_said(results[0]))

    def _charge(self, sender: str, answers: int, *, spend: bool) -> None:
        now_s = time.monotonic()
        bucket = self._buckets.take if spend else self._buckets.wait_s
        wait_s = bucket(sender, answers, now_s)
        if wait_s:
            self._metrics.submissions.labels("throttled").inc(answers)
            raise Busy("You send more answers than this arena takes.", retry_after_s=wait_s, code="too_many_submits")

    def _count(self, results: Sequence[Submitted | AgonError]) -> None:
        for result in results:
            if isinstance(result, AgonError):
                self._metrics.submissions.labels("refused").inc()
            else:
                self._metrics.submissions.labels("repeated" if result.repeated else "taken").inc()


@dataclass(frozen=True, slots=True)
class _Sent:
    answers: Sequence[object]
    batch: bool


def _read(sent: bytes) -> _Sent:
    """A single answer, as it is, or the answers of a batch. Raises `InvalidInput`."""
    try:
        body: object = json.loads(sent)
    except (ValueError, RecursionError):
        raise InvalidInput("The body is not valid JSON.", code="invalid_json") from None
    if not isinstance(body, dict) or "answers" not in body:
        return _Sent((cast("object", body),), batch=False)
    batch = cast("dict[str, object]", body)
    if unknown := batch.keys() - {"answers"}:
        raise InvalidInput("A batch has `answers` and nothing beside it.", field=storable(min(unknown)))
    answers = batch["answers"]
    if not isinstance(answers, list) or not answers:
        raise InvalidInput("answers: it must be a list with at least one answer.", field="answers")
    if len(cast("list[object]", answers)) > MAX_ANSWERS:
        raise LimitExceeded(f"answers: one request may hold {MAX_ANSWERS} at most.", field="answers")
    return _Sent(cast("list[object]", answers), batch=True)


def _said(result: Submitted | AgonError) -> dict[str, object]:
    if isinstance(result, AgonError):
        return body_of(result)
    return {"answer_id": str(result.answer), "repeated": result.repeated}
