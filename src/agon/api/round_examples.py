"""Examples of rounds for the OpenAPI document, by schema."""

from pydantic import JsonValue

_ID = "0198c1de-7c1f-4c55-9a5e-4f3f3d0e8a11"
_ANSWER_ID = "5493b177-b8b7-4483-9aa0-b8dc409546bf"
_AT = "2026-01-31T12:00:00Z"
_MODEL = "smollm2-135m-instruct"

_QUESTION: dict[str, JsonValue] = {
    "id": "sky",
    "prompt": "Why is the sky blue?",
    "category": "science",
    "language": "en",
}
_ROUND: dict[str, JsonValue] = {
    "id": _ID,
    "name": "Spring",
    "scorer": "reward",
    "contestants": [{"name": _MODEL, "made_here": True}, {"name": "my-model", "made_here": False}],
    "questions": 80,
    "strict": True,
    "seed": 0,
    "max_tokens": 160,
    "anchor": None,
    "created_at": _AT,
}
_COUNTS: dict[str, JsonValue] = {
    "missing": 0,
    "pending": 12,
    "answered": 3,
    "scored": 64,
    "abstained": 0,
    "failed": 1,
    "parked": 0,
}
_NO_ANSWERS: dict[str, JsonValue] = {**dict.fromkeys(_COUNTS, 0), "missing": 80}
_ANSWER: dict[str, JsonValue] = {
    "id": _ANSWER_ID,
    "question": "sky",
    "contestant": _MODEL,
    "stage": "scored",
    "texts": ["Because air scatters blue light the most."],
    "score": 1.25,
    "error": None,
    "detail": None,
}
_TROUBLED: dict[str, JsonValue] = {
    **_ANSWER,
    "stage": "failed",
    "texts": [],
    "score": None,
    "error": "engine_unreachable: nobody answered",
}
_SUBMISSION: dict[str, JsonValue] = {
    "round_id": _ID,
    "model": "my-model",
    "question": "sky",
    "text": "Because air scatters blue light the most.",
}
_SUBMITTED: dict[str, JsonValue] = {"answer_id": _ANSWER_ID, "repeated": False}
_REFUSED: dict[str, JsonValue] = {
    "error": {"code": "question_unknown", "message": "This round has no question 'moon'.", "field": "question"}
}
_FIGURE: dict[str, JsonValue] = {"value": 0.42, "low": 0.31, "high": 0.53}
_BOARD: dict[str, JsonValue] = {
    "round": _ID,
    "scorer": "reward",
    "category": None,
    "questions": 80,
    "scored_questions": 64,
    "merged": 128,
    "made_at": _AT,
    "rows": [
        {
            "contestant": _MODEL,
            "rank": 1,
            "paired_rank": 1,
            "score": _FIGURE,
            "scored": 64,
            "wins": 40,
            "ties": 4,
            "losses": 20,
            "win_rate": {"value": 0.66, "low": 0.54, "high": 0.76},
            "rating": {"value": 1057.0, "low": 1013.0, "high": 1101.0},
            "rating_rank": 1,
            "notes": [],
        }
    ],
    "answers": {_MODEL: _COUNTS},
    "categories": [{"category": "science", "questions": 30, "sparse": False}],
    "notes": [],
}
_RIVALS: dict[str, JsonValue] = {
    "round": _ID,
    "merged": 128,
    "contestants": [_MODEL, "my-model"],
    "questions": [[0, 64], [64, 0]],
    "wins": [[0, 40], [20, 0]],
    "ties": [[0, 4], [4, 0]],
    "win_rate": [[None, 0.66], [0.34, None]],
    "low": [[None, 0.54], [0.24, None]],
    "high": [[None, 0.76], [0.46, None]],
    "gap": [[None, 0.21], [-0.21, None]],
    "gap_low": [[None, 0.05], [-0.37, None]],
    "gap_high": [[None, 0.37], [-0.05, None]],
}
_FOUND: dict[str, JsonValue] = {"samples": 240, "pairs": 120, "kl_mean": 0.0004, "kl_p99": 0.004, "top1": 0.99}
_NOISE: dict[str, JsonValue] = {"samples": 240, "pairs": 120, "kl_mean": 0.0, "kl_p99": 0.0, "top1": 1.0}
_ENGINE_CHECK: dict[str, JsonValue] = {
    "model": "reward-3f1c9a52",
    "engine": "int8-dynamic",
    "verdict": "promote",
    "checked_at": _AT,
    "rolled_back_since": None,
    "reasons": [],
    "found": _FOUND,
    "noise": _NOISE,
}

ROUND_EXAMPLES: dict[str, dict[str, JsonValue]] = {
    "NewRoundBody": {
        "name": "Spring",
        "scorer": "reward",
        "contestants": [_MODEL, {"name": "my-model", "made_here": False}],
        "questions": [_QUESTION, {"turns": ["Write a haiku.", "And another."], "category": "writing"}],
    },
    "RoundContestantIn": {"name": _MODEL},
    "RoundOut": _ROUND,
    "RoundsOut": {"rounds": [_ROUND], "next": None},
    "RoundDetailOut": {
        **_ROUND,
        "progress": [{"contestant": _MODEL, **_COUNTS}, {"contestant": "my-model", **_NO_ANSWERS}],
        "trouble": 1,
        "done": False,
    },
    "QuestionsOut": {
        "questions": [
            {"id": "sky", "turns": ["Why is the sky blue?"], "category": "science", "language": "en"},
        ],
        "next": None,
    },
    "RoundAnswersOut": {"question": "sky", "answers": [_ANSWER]},
    "TroubleOut": {"answers": [_TROUBLED]},
    "RerunOut": {"answers": 1},
    "RoundBoardOut": _BOARD,
    "RivalsOut": _RIVALS,
    "SubmissionIn": _SUBMISSION,
    "SubmissionsIn": {"answers": [_SUBMISSION]},
    "SubmittedOut": _SUBMITTED,
    "EngineChecksOut": {"engines": [_ENGINE_CHECK]},
    "SubmittedBatchOut": {"answers": [_SUBMITTED, _REFUSED]},
}
