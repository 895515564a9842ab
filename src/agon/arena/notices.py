"""What the people of an arena should know about its models."""

from agon.core.contestants import ContestantKind, EngineState, Origin, Roster


def notices(roster: Roster) -> list[str]:
    """Plain sentences, none of which says which model speaks in a battle."""
    found: list[str] = []
    defaults = [entry for entry in roster.entries if entry.contestant.origin is Origin.DEFAULT]
    models = {entry.contestant.model.removesuffix("-q8_0") for entry in defaults}
    if len(defaults) > 1 and len(models) == 1:
        found.append(
            "A second model could not be fetched, so one model plays against itself in two precisions. "
            "The next start tries again."
        )
    down = [
        entry
        for entry in roster.entries
        if entry.engine.state is EngineState.FAILED and entry.contestant.kind is ContestantKind.OPENAI
    ]
    if down and len(roster.fighters) < 2:
        found.append("Too few models answer for a battle.")
    return found
