"""What the people of an arena should know about its models."""

from dataclasses import dataclass
from enum import StrEnum

from agon.core.contestants import ContestantKind, EngineState, Origin
from agon.core.roster import Roster


class NoticeCode(StrEnum):
    ONE_MODEL_TWICE = "one_model_twice"
    TOO_FEW_MODELS = "too_few_models"


@dataclass(frozen=True, slots=True)
class Notice:
    """`code` is stable, `text` is for people."""

    code: NoticeCode
    text: str


def notices(roster: Roster) -> list[Notice]:
    """What holds now; none of it says which model speaks in a battle."""
    found: list[Notice] = []
    defaults = [entry for entry in roster.entries if entry.contestant.origin is Origin.DEFAULT]
    models = {entry.contestant.model.removesuffix("-q8_0") for entry in defaults}
    if len(defaults) > 1 and len(models) == 1:
        found.append(
            Notice(
                NoticeCode.ONE_MODEL_TWICE,
                "A second model could not be fetched, so one model plays against itself in two precisions. "
                "The next start tries again.",
            )
        )
    down = [
        entry
        for entry in roster.entries
        if entry.engine.state is EngineState.FAILED and entry.contestant.kind is ContestantKind.OPENAI
    ]
    if down and len(roster.fighters) < 2:
        found.append(Notice(NoticeCode.TOO_FEW_MODELS, "Too few models answer for a battle."))
    return found
