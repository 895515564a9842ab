"""Rounds and scores for tests."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import numpy as np

from agon.core.round_ports import QuestionScores
from agon.core.rounds import Round, RoundContestant, to_units
from agon.rounds.board_page import RoundRow, Standings
from agon.rounds.standings import standings

ROUND = UUID(int=7)


def a_round(contestants: Sequence[str], questions: int) -> Round:
    return Round(ROUND, "first", "reward", tuple(RoundContestant(name, True) for name in contestants), questions)


def on(question: str, category: str = "", **scores: float) -> QuestionScores:
    return QuestionScores(question, category, {name: to_units(score) for name, score in scores.items()})


def board(questions: Sequence[QuestionScores], contestants: Sequence[str] = ()) -> Standings:
    names = contestants or sorted({name for each in questions for name in each.scores})
    return standings(a_round(names, len(questions)), questions, [], made_at="now")


def by_name(page: Standings) -> Mapping[str, RoundRow]:
    return {row.contestant: row for row in page.rows}


def drawn(rng: np.random.Generator, size: int, questions: int, *, missing: float = 0.0) -> list[QuestionScores]:
    """Scores with a difficulty of each question, a skill of each contestant and noise, in tenths so that some tie."""
    values = rng.normal(size=(questions, 1)) + rng.normal(size=size) * 0.4 + rng.normal(size=(questions, size))
    there = rng.random((questions, size)) >= missing
    return [
        on(f"q{q}", f"c{q % 3}", **{f"m{i}": round(float(values[q, i]), 1) for i in range(size) if there[q, i]})
        for q in range(questions)
    ]
