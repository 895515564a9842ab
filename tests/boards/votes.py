"""Votes as the ledger hands them out, drawn at random, and what they amount to when counted by hand."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from agon.boards.pages import Setting
from agon.core.board import View
from agon.core.board_ports import RankedVote
from agon.core.traits import Category, Style, Traits
from agon.core.votes import Winner

START = datetime(2026, 1, 1, 0, 30, tzinfo=UTC)
NAMES = ("amber", "birch", "cedar", "dune")
TODAY = (START - datetime(1970, 1, 1, tzinfo=UTC)).days + 45


def draw(number: int, *, seed: int = 1, days: float = 45.0, names: Sequence[str] = NAMES) -> list[RankedVote]:
    """Votes over some days, in order of time; the name that comes first mostly wins, and long answers do."""
    rng = np.random.default_rng(seed)
    votes: list[RankedVote] = []
    for number_of_vote in range(number):
        i, j = (int(place) for place in rng.permutation(len(names))[:2])
        a, b = _style(rng), _style(rng)
        lean = 0.6 * (j - i) + 1.2 * (a.tokens - b.tokens) / (a.tokens + b.tokens)
        kind = rng.random()
        decided = Winner.A if rng.random() < 1 / (1 + np.exp(-lean)) else Winner.B
        winner = decided if kind > 0.25 else Winner.TIE if kind > 0.1 else Winner.BOTH_BAD
        when = START + timedelta(days=days * number_of_vote / number)
        traits = Traits(_categories(rng), a, b)
        votes.append(RankedVote(number_of_vote + 1, names[i], names[j], winner, when, traits))
    return votes


def _style(rng: np.random.Generator) -> Style:
    tokens, headers, lists, bold = (int(rng.integers(1, top)) for top in (400, 4, 12, 6))
    return Style(tokens, headers, lists, bold)


def _categories(rng: np.random.Generator) -> frozenset[Category]:
    script = Category.LATIN if rng.random() < 0.7 else Category.CHINESE
    others = (Category.CODE, Category.SHORT, Category.MULTI_TURN)
    return frozenset([script, *(other for other in others if rng.random() < 0.3)])


def belonging(votes: Iterable[RankedVote], view: View, today: int) -> list[RankedVote]:
    """The votes of a view, chosen the plain way."""
    days = view.window.days
    return [
        vote
        for vote in votes
        if (days is None or int(vote.created_at.timestamp() // 86_400) > today - days)
        and (view.category is None or (vote.traits is not None and view.category in vote.traits.categories))
    ]


def recount(votes: Iterable[RankedVote]) -> dict[str, Counter[str]]:
    """Battles, wins, losses, ties and both-bad of each model."""
    found: dict[str, Counter[str]] = {}
    for vote in votes:
        for side, name in (("a", vote.contestant_a), ("b", vote.contestant_b)):
            word = {side: "wins", "tie": "ties", "both_bad": "both_bad"}.get(vote.winner, "losses")
            found.setdefault(name, Counter()).update([word, "battles"])
    return found


def setting(today: int = TODAY, *, present: Iterable[str] = NAMES) -> Setting:
    return Setting(frozenset(present), 30, {"amber": 12.5}, "2026-02-15T00:00:00.000Z", today)
