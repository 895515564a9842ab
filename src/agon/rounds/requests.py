"""What a contestant of a round is asked, and the key under which its answer is kept. PURE."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict

from agon.core.contestants import Contestant
from agon.core.generation import GenerationRequest, Message, Sampling
from agon.core.round_ports import PendingAnswer

_SCHEMA = 1
"""Of the key: raise it when requests are made in another way."""
_SEEDS = 1 << 31


def request_of(pending: PendingAnswer, said: Sequence[str], sampling: Sampling) -> GenerationRequest:
    """The next turn of a question, behind what was said in those before."""
    turns = pending.question.turns
    dialogue: list[Message] = []
    for turn, text in zip(turns, said, strict=False):
        dialogue += [Message("user", turn), Message("assistant", text)]
    return GenerationRequest((*dialogue, Message("user", turns[len(said)])), sampling, pending.seed % _SEEDS)


def dialogue_name(pending: PendingAnswer) -> str | None:
    """Names the dialogue, so that its later turns find the replica that has read the first; `None` for one turn."""
    return f"r:{pending.number}" if len(pending.question.turns) > 1 else None


def model_revision(contestant: Contestant, weights: str = "") -> str:
    """Names what answers: the model, how it is reached, and its weights where they are known."""
    facts = [contestant.name, contestant.kind.value, contestant.model, sorted(contestant.urls), contestant.draft]
    return json.dumps([*facts, contestant.sha256 or weights])


def request_key(pending: PendingAnswer, sampling: Sampling, revision: str) -> bytes:
    """32 bytes that stand for everything that decides an answer."""
    whole = {
        "schema": _SCHEMA,
        "model": revision,
        "turns": list(pending.question.turns),
        "sampling": asdict(sampling),
        "seed": pending.seed % _SEEDS,
    }
    canonical = json.dumps(whole, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.blake2b(canonical.encode(), digest_size=32).digest()
