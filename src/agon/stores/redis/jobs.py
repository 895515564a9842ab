"""How turns and jobs are written in Redis."""

import json
from typing import Any
from uuid import UUID

from agon.core.conversation import Side
from agon.core.generation import GenerationRequest, Message, Sampling
from agon.core.placement import AnswerRef, Cost, Job


def encode_turn(ref: AnswerRef) -> str:
    return f"{ref.conversation}:{ref.turn}:{ref.side.value}:{ref.contestant}"


def decode_turn(text: str) -> AnswerRef:
    conversation, turn, side, contestant = text.split(":", 3)
    return AnswerRef(UUID(conversation), int(turn), Side(side), contestant)


def encode_job(job: Job) -> str:
    """All but the turn itself, in ASCII, so that half a character in a foreign request does no harm."""
    cost = job.cost
    request = None if job.request is None else _request(job.request)
    words = [cost.prompt, cost.output, cost.cached, job.prefix, job.avoid, job.reruns, job.deaths, request]
    return json.dumps(words, separators=(",", ":"))


def decode_job(ref: AnswerRef, text: str) -> Job:
    prompt, output, cached, prefix, avoid, reruns, deaths, request = json.loads(text)
    return Job(
        ref=ref,
        cost=Cost(prompt, output, cached),
        prefix=prefix,
        avoid=tuple(avoid),
        reruns=reruns,
        deaths=deaths,
        request=None if request is None else _decode_request(request),
    )


def _request(request: GenerationRequest) -> list[Any]:
    sampling = request.sampling
    return [
        [[message.role, message.content] for message in request.messages],
        [sampling.max_tokens, sampling.temperature, sampling.top_p],
        request.seed,
        request.budget_s,
        request.said,
        dict(request.extra),
        request.patient,
    ]


def _decode_request(raw: list[Any]) -> GenerationRequest:
    messages, sampling, seed, budget_s, said, extra, patient = raw
    return GenerationRequest(
        messages=tuple(Message(role, content) for role, content in messages),
        sampling=Sampling(*sampling),
        seed=seed,
        budget_s=budget_s,
        said=said,
        extra=extra,
        patient=patient,
    )
