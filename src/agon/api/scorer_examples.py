"""Examples of scorers and judges for the OpenAPI document."""

from typing import Final

from pydantic import JsonValue


def _share(count: float, of: int, low: float, high: float) -> dict[str, JsonValue]:
    return {"count": count, "of": of, "share": round(count / of, 4), "low": low, "high": high}


_AGREEMENT: dict[str, JsonValue] = {
    "revision": "agon-arena 0.1.0 1",
    "made_at": "2026-01-31T12:00:00Z",
    "pairs": 120,
    "decided": 90,
    "unscored": 4,
    "right": _share(54.0, 90, 0.4967, 0.6952),
    "kappa": 0.2,
    "kappa_low": -0.0024,
    "kappa_high": 0.4024,
    "bins": [{"least": 0.01, "most": 0.2, "right": _share(25.0, 45, 0.4118, 0.6907)}],
}
_SCORERS: dict[str, JsonValue] = {
    "scorers": [
        {
            "name": "overlap",
            "about": "How much of the prompt's words the answer takes up, less copying and repetition.",
            "package": "agon-arena 0.1.0",
            "agreement": _AGREEMENT,
        }
    ]
}
_JUDGE: dict[str, JsonValue] = {
    "judge": "referee",
    "anchor": "small",
    "answers": 80,
    "scored": _share(56.0, 80, 0.59, 0.81),
    "unparseable": _share(4.0, 80, 0.0, 0.1),
    "orders_disagree": _share(18.0, 80, 0.13, 0.32),
    "judge_abstained": _share(2.0, 80, 0.0, 0.06),
    "first_shown": _share(81.0, 140, 0.5, 0.66),
    "exact": _share(150.0, 156, 0.9187, 0.9823),
    "repeated": _share(9.0, 160, 0.0299, 0.1035),
    "self_preference": {
        "own": 0.58,
        "others": 0.51,
        "difference": 0.07,
        "low": -0.02,
        "high": 0.16,
        "questions": 40,
    },
    "tokens": 91_000,
    "agreement": None,
}

SCORER_EXAMPLES: Final[dict[str, dict[str, JsonValue]]] = {"ScorersOut": _SCORERS, "JudgeOut": _JUDGE}
