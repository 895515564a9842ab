"""Refusals that several parts of rounds speak."""

from agon.core.errors import NotFound


def unknown_round() -> NotFound:
    return NotFound("There is no round of this id.", code="round_not_found", field="round_id")


def unknown_question(key: str) -> NotFound:
    """For a question named by its key; an empty one was named by its prompt."""
    if key:
        return NotFound(f"This round has no question {key!r}.", code="question_unknown", field="question")
    return NotFound("No question of this round has this prompt.", code="question_unknown", field="prompt")
