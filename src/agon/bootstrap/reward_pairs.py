"""Judged pairs from files, and from the arena's own ledger."""

import hashlib
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from agon.bootstrap.archive import vote_archive
from agon.config import Settings
from agon.core.conversation import Side
from agon.core.errors import InvalidInput, NotFound
from agon.core.votes import Winner
from agon.scoring.reward.preferences import Fault, Preference, Reading, read_preferences

ARENA: Final = "arena"


class Watch(Protocol):
    """Told how a long work goes on: what is being done, how much of it since last time, and how much there is."""

    def __call__(self, stage: str, done: int, total: int) -> None: ...


def unwatched(stage: str, done: int, total: int) -> None:
    """For callers who do not watch."""


@dataclass(slots=True)
class Judged:
    """Pairs from everywhere, and what is known of where they come from."""

    pairs: list[Preference] = field(default_factory=list[Preference])
    faults: list[Fault] = field(default_factory=list[Fault])
    digests: dict[str, str] = field(default_factory=dict[str, str])

    def add(self, name: str, digest: str, reading: Reading) -> None:
        if name in self.digests:
            raise InvalidInput(f"There are two files of the name {name}.", code="same_name")
        self.digests[name] = digest
        self.pairs.extend(reading.pairs)
        self.faults.extend(reading.faults)


def read_files(judged: Judged, paths: Sequence[Path]) -> None:
    """Add the pairs of files. Raises `NotFound` or `InvalidInput` for a file that cannot be read at all."""
    for path in paths:
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            raise NotFound(f"There is no file {path}.") from None
        except OSError as error:
            raise InvalidInput(f"{path} cannot be read: {error.strerror}.", code="unreadable") from None
        reading = read_preferences(path.name, content.split(b"\n"))
        judged.add(path.name, hashlib.sha256(content).hexdigest(), reading)


async def read_arena(judged: Judged, settings: Settings) -> None:
    """Add the arena's own votes on battles of one turn. A vote for neither counts as a tie, like on the boards."""
    outcomes = {Winner.A: 1.0, Winner.B: 0.0}
    pairs: list[Preference] = []
    digest = hashlib.sha256()
    async with vote_archive(settings) as archive, aclosing(archive.every_vote(dialogues=True)) as votes:
        async for vote in votes:
            if vote.forfeit or len(vote.turns) != 1:
                continue
            turn, outcome = vote.turns[0], outcomes.get(vote.winner, 0.5)
            pair = Preference(turn.prompt, turn.answers[Side.A], turn.answers[Side.B], outcome, ARENA, ARENA)
            pairs.append(pair)
            digest.update(repr(pair).encode())
    judged.add(ARENA, digest.hexdigest(), Reading(pairs, []))


def require_pairs(judged: Judged, *, at_least: int = 1) -> None:
    """Raise `InvalidInput` where there is too little to work with."""
    decided = sum(pair.outcome != 0.5 for pair in judged.pairs)
    if decided < at_least:
        left_out = ""
        if judged.faults:
            first = judged.faults[0]
            left_out = f" {len(judged.faults):,} lines are left out, such as {first.file}:{first.line}: {first.reason}."
        raise InvalidInput(
            f"There are {decided} decided pairs in {', '.join(judged.digests)}; at least {at_least} are needed."
            + left_out,
            code="too_few_pairs",
        )
