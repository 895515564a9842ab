"""Examples for the OpenAPI document, by schema; a test validates each.

They are put into the document last: FastAPI would leave out every `null`, and some of these say just that.
"""

from typing import Any

from pydantic import JsonValue

from agon.api.round_examples import ROUND_EXAMPLES
from agon.api.scorer_examples import SCORER_EXAMPLES

_ID = "0198c1de-7c1f-4c55-9a5e-4f3f3d0e8a11"
_RECEIPT = "5493b177-b8b7-4483-9aa0-b8dc409546bf"
_AT = "2026-01-31T12:00:00Z"
_MODELS: dict[str, JsonValue] = {"a": "smollm2-135m-instruct", "b": "qwen2.5-coder-0.5b-instruct"}

_CONVERSATION: dict[str, JsonValue] = {
    "id": _ID,
    "kind": "battle",
    "state": "streaming",
    "void_reason": None,
    "forfeited_by": None,
    "created_at": _AT,
    "models": None,
    "winner": None,
    "receipt": None,
    "turns": [
        {
            "turn": 1,
            "prompt": "Explain rainbows to a child.",
            "created_at": _AT,
            "answers": {
                "a": {"state": "done", "text": "Sunlight meets drops of rain …", "finish_reason": "stop"},
                "b": {"state": "pending", "text": None, "finish_reason": None},
            },
        }
    ],
}
_CONVERSATIONS: dict[str, JsonValue] = {
    "conversations": [
        {
            "id": _ID,
            "kind": "battle",
            "state": "voted",
            "title": "Explain rainbows to a child.",
            "created_at": _AT,
            "winner": "a",
            "models": _MODELS,
        }
    ],
    "next": None,
}
_VOTE: dict[str, JsonValue] = {"receipt": _RECEIPT, "winner": "a", "models": _MODELS, "created_at": _AT}
_CHAT: dict[str, JsonValue] = {
    "session_id": _ID,
    "turn": 1,
    "text": "2 + 2 equals 4.",
    "finish_reason": "stop",
    "usage": {"prompt_tokens": 31, "completion_tokens": 8},
}
_NAMED: dict[str, JsonValue] = {"models": [{"name": "smollm2-135m-instruct", "state": "ready", "kind": "embedded"}]}
_STATUS: dict[str, JsonValue] = {
    "name": "Agon",
    "ready": True,
    "contestants": {"ready": 2, "loading": 0, "failed": 0, "paused": 0},
    "notices": [],
    "limits": {"prompt_chars": 8000, "turns": 20, "answer_tokens": 160},
}
_REPLICA: dict[str, JsonValue] = {
    "id": "my-model@http://127.0.0.1:8001/v1",
    "contestant": "my-model",
    "label": "3f1c9a52",
    "state": "ready",
    "detail": "",
    "url": "http://127.0.0.1:8001/v1",
    "capacity": 64,
    "active": 0,
    "turns": 0,
    "outstanding_tokens": 0,
    "rate_tokens_per_s": 3200.0,
}
_RESULT: dict[str, JsonValue] = {
    "state": "pending",
    "session_id": _ID,
    "turn": 1,
    "text": "2 + 2",
    "finish_reason": None,
    "usage": {"prompt_tokens": None, "completion_tokens": None},
}
_CONTESTANT: dict[str, JsonValue] = {
    "name": "my-model",
    "kind": "openai",
    "model": "my-model-v2",
    "urls": ["http://127.0.0.1:8001/v1"],
    "key_env": "MY_MODEL_KEY",
    "weight": 1.0,
    "max_concurrent": 64,
    "state": "active",
    "engine": "ready",
    "detail": "",
    "active": 0,
    "waiting": 0,
    "replicas": [_REPLICA],
}
_NEW_CONTESTANT: dict[str, JsonValue] = {
    "name": "my-model",
    "url": "http://127.0.0.1:8001/v1",
    "model": "my-model-v2",
    "key_env": "MY_MODEL_KEY",
}
_ERROR: dict[str, JsonValue] = {
    "error": {
        "code": "limit_exceeded",
        "message": "The prompt has 9000 characters; the limit is 8000.",
        "field": "prompt",
    }
}
_CONTESTANTS: dict[str, JsonValue] = {"contestants": [_CONTESTANT]}
_SIDE_BY_SIDE: dict[str, JsonValue] = {"prompt": "Explain rainbows to a child.", "models": _MODELS}
_REGENERATE: dict[str, JsonValue] = {"side": "b"}
_CHANGE: dict[str, JsonValue] = {"weight": 0.5, "state": "paused"}
_VIEW: dict[str, JsonValue] = {"window": "30d", "category": "code", "style": False}
_BOARD: dict[str, JsonValue] = {
    "name": "main",
    "view": {**_VIEW, "style": True},
    "votes": 1234,
    "forfeits": 6,
    "updated_at": "2026-01-31T12:00:00.000Z",
    "min_battles": 30,
    "rows": [
        {
            "model": "smollm2-135m-instruct",
            "rating": 1034.2,
            "low": 1010.0,
            "high": 1058.4,
            "rank": 1,
            "battles": 250,
            "wins": 120,
            "losses": 70,
            "ties": 40,
            "both_bad": 20,
            "win_rate": 0.6,
            "elo": None,
            "ttft_median_ms": 310.0,
            "forfeits": 2,
            "notes": [],
        }
    ],
    "categories": [{"category": "latin", "votes": 1100}, {"category": "code", "votes": 420}],
    "style": [{"feature": "tokens", "points": 61.5, "se": 9.8}],
    "notes": [],
}
_MATRIX: dict[str, JsonValue] = {
    "name": "main",
    "view": _VIEW,
    "votes": 20,
    "updated_at": "2026-01-31T12:00:00.000Z",
    "models": ["one", "two"],
    "battles": [[0, 20], [20, 0]],
    "observed": [[None, 0.6], [0.4, None]],
    "predicted": [[None, 0.6], [0.4, None]],
    "average_observed": [0.6, 0.4],
    "average_predicted": [0.6, 0.4],
}
_HISTORY: dict[str, JsonValue] = {
    "name": "main",
    "view": _VIEW,
    "updated_at": "2026-01-31T12:00:00.000Z",
    "days": ["2026-01-30", "2026-01-31"],
    "votes": [180, 200],
    "series": [{"model": "one", "ratings": [None, 1020.5], "low": [None, 995.0], "high": [None, 1046.0]}],
}

EXAMPLES: dict[str, dict[str, JsonValue]] = {
    "SideBySideBody": _SIDE_BY_SIDE,
    "RegenerateBody": _REGENERATE,
    "ConversationOut": _CONVERSATION,
    "HistoryOut": _CONVERSATIONS,
    "VoteOut": _VOTE,
    "ChatOut": _CHAT,
    "ChatResultOut": _RESULT,
    "ReplicaOut": _REPLICA,
    "ReplicasOut": {"replicas": [_REPLICA]},
    "ModelsOut": _NAMED,
    "StatusOut": _STATUS,
    "ContestantSettings": _NEW_CONTESTANT,
    "ContestantOut": _CONTESTANT,
    "ContestantsOut": _CONTESTANTS,
    "ContestantPatch": _CHANGE,
    "BoardOut": _BOARD,
    "MatrixOut": _MATRIX,
    "RatingHistoryOut": _HISTORY,
    "ErrorBody": _ERROR,
    **ROUND_EXAMPLES,
    **SCORER_EXAMPLES,
}


def add_examples(document: dict[str, Any]) -> dict[str, Any]:
    """The OpenAPI document with the examples in it."""
    schemas = document["components"]["schemas"]
    for name, example in EXAMPLES.items():
        schemas[name]["examples"] = [example]
    return document
