"""What a round is named by, so that asking for the same one again goes on with it. PURE."""

import hashlib
import json
from collections.abc import Collection, Sequence
from uuid import UUID, uuid5

from agon.core.errors import InvalidInput
from agon.core.rounds import Question

_ROUNDS = UUID("b0a2b7a4-52a9-4c55-9f33-0a6d1d6d3a10")
"""Where the ids of rounds are that commands ask for."""


def bank_digest(bank: Sequence[Question]) -> str:
    """Tells banks apart by all that is in them."""
    rows = [[question.key, list(question.turns), question.category, question.language] for question in bank]
    return hashlib.blake2b(json.dumps(rows).encode(), digest_size=16).hexdigest()


def round_id(
    bank: Sequence[Question], *, scorer: str, seed: int, max_tokens: int, anchor: str | None, name: str
) -> UUID:
    """The id of the round of these questions: not of its contestants, of which there may come more."""
    return uuid5(_ROUNDS, json.dumps([bank_digest(bank), scorer, seed, max_tokens, anchor, name]))


def selected(bank: Sequence[Question], *, categories: Collection[str], limit: int | None) -> Sequence[Question]:
    """The questions of some categories, or of all; with a limit as many of each category as of any other.

    Raises `InvalidInput`.
    """
    known = dict.fromkeys(question.category for question in bank)
    for category in categories:
        if category not in known:
            names = ", ".join(each or "''" for each in known)
            raise InvalidInput(
                f"No question is in the category {category!r}; there are: {names}.",
                code="invalid_bank",
                field="category",
            )
    chosen = [question for question in bank if not categories or question.category in categories]
    if limit is None or limit >= len(chosen):
        return chosen
    if limit < 1:
        raise InvalidInput("A round needs at least one question.", code="empty_bank", field="limit")
    counts: dict[str, int] = {}
    ranked: list[tuple[int, int]] = []
    for place, question in enumerate(chosen):
        counts[question.category] = counts.get(question.category, 0) + 1
        ranked.append((counts[question.category], place))
    taken = sorted(place for _, place in sorted(ranked)[:limit])
    return [chosen[place] for place in taken]
