"""The arena's votes and forfeits in the forms that others read, a line each; each is a form that `agon rank` reads."""

import csv
import hashlib
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from agon.battlelogs.fastchat import VOTES
from agon.core.board_ports import ExportedTurn, ExportedVote
from agon.core.conversation import Side
from agon.core.votes import Winner

_COLUMNS = ("vote_id", "timestamp", "voter", "model_a", "model_b", "winner", "anonymous", "forfeit")
_LMSYS_WINNERS: Mapping[Winner, str] = {
    Winner.A: "model_a",
    Winner.B: "model_b",
    Winner.TIE: "tie",
    Winner.BOTH_BAD: "tie (bothbad)",
}
_FASTCHAT_TYPES = {winner: kind for kind, winner in VOTES.items()}


class Form(StrEnum):
    PLAIN = "plain"
    LMSYS = "lmsys"
    FASTCHAT = "fastchat"


@dataclass(frozen=True, slots=True)
class Writer:
    """`header` stands before the first line; `dialogues` says that a line needs the words of the battle."""

    header: str
    dialogues: bool
    line: Callable[[ExportedVote], str]


def writer_of(form: Form) -> Writer:
    return _WRITERS[form]


def _plain(vote: ExportedVote) -> str:
    """CSV: what a board is made of, and nothing that anybody wrote."""
    moment = vote.created_at.isoformat()
    sides = (vote.contestants[Side.A], vote.contestants[Side.B])
    forfeit = "true" if vote.forfeit else "false"
    return _csv((str(vote.conversation), moment, _voter(vote.person), *sides, vote.winner.value, "true", forfeit))


def _lmsys(vote: ExportedVote) -> str:
    """A line as LMSYS's releases have it."""
    return _json(
        {
            "question_id": vote.conversation.hex,
            "model_a": vote.contestants[Side.A],
            "model_b": vote.contestants[Side.B],
            "winner": _LMSYS_WINNERS[vote.winner],
            "judge": _voter(vote.person),
            "conversation_a": _conversation(vote.turns, Side.A),
            "conversation_b": _conversation(vote.turns, Side.B),
            "turn": len(vote.turns),
            "anony": True,
            "tstamp": vote.created_at.timestamp(),
            "forfeit": vote.forfeit,
        }
    )


def _fastchat(vote: ExportedVote) -> str:
    """A line as FastChat logs a vote: names are empty, since the voter did not see them."""
    return _json(
        {
            "tstamp": vote.created_at.timestamp(),
            "type": _FASTCHAT_TYPES[vote.winner],
            "models": ["", ""],
            "states": [_state(vote, side) for side in (Side.A, Side.B)],
            "ip": _voter(vote.person),
            "forfeit": vote.forfeit,
        }
    )


def _state(vote: ExportedVote, side: Side) -> dict[str, object]:
    messages = [words for turn in vote.turns for words in (["user", turn.prompt], ["assistant", turn.answers[side]])]
    return {
        "roles": ["user", "assistant"],
        "messages": messages,
        "offset": 0,
        "conv_id": f"{vote.conversation.hex}-{side.value}",
        "model_name": vote.contestants[side],
    }


def _conversation(turns: Sequence[ExportedTurn], side: Side) -> list[dict[str, str]]:
    return [
        {"role": role, "content": words}
        for turn in turns
        for role, words in (("user", turn.prompt), ("assistant", turn.answers[side]))
    ]


def _voter(person: UUID) -> str:
    """A name that tells voters apart and leads nobody back to the person's identity here."""
    return hashlib.sha256(b"agon export " + person.bytes).hexdigest()[:20]


def _json(values: Mapping[str, object]) -> str:
    return json.dumps(values, ensure_ascii=False) + "\n"


def _csv(cells: Sequence[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue()


_WRITERS = {
    Form.PLAIN: Writer(_csv(_COLUMNS), dialogues=False, line=_plain),
    Form.LMSYS: Writer("", dialogues=True, line=_lmsys),
    Form.FASTCHAT: Writer("", dialogues=True, line=_fastchat),
}
