"""What people are told of an arena's models, and when."""

import pytest

from agon.arena.notices import NoticeCode, notices
from agon.core.contestants import Contestant, ContestantKind, EngineState, Origin
from agon.core.placement import ReplicaStatus
from agon.core.roster import Roster, RosterEntry

WEIGHTS = "smollm2-135m-instruct"
OURS = (WEIGHTS, ContestantKind.EMBEDDED, EngineState.READY, Origin.DEFAULT)
OURS_AGAIN = (f"{WEIGHTS}-q8_0", ContestantKind.EMBEDDED, EngineState.READY, Origin.DEFAULT)
OTHER = ("another", ContestantKind.EMBEDDED, EngineState.READY, Origin.DEFAULT)
SERVER = ("a-server", ContestantKind.OPENAI, EngineState.READY, Origin.CONFIG)
DOWN = ("a-server", ContestantKind.OPENAI, EngineState.FAILED, Origin.CONFIG)
UNFETCHED = ("unfetched", ContestantKind.EMBEDDED, EngineState.FAILED, Origin.DEFAULT)

Entry = tuple[str, ContestantKind, EngineState, Origin]


@pytest.mark.parametrize(
    ("entries", "codes"),
    [
        ([], []),
        ([OURS, OTHER], []),
        ([OURS, OURS_AGAIN], [NoticeCode.ONE_MODEL_TWICE]),
        ([OURS], []),
        ([OURS, SERVER], []),
        ([OURS, DOWN], [NoticeCode.TOO_FEW_MODELS]),
        ([OURS, OTHER, DOWN], []),
        ([OURS, UNFETCHED], []),
    ],
)
def test_notices_follow_from_who_is_there(entries: list[Entry], codes: list[NoticeCode]) -> None:
    roster = Roster(
        tuple(
            RosterEntry(
                Contestant(f"c{number}", kind, model, origin=origin),
                (ReplicaStatus(f"c{number}@r", f"c{number}", state),),
            )
            for number, (model, kind, state, origin) in enumerate(entries)
        )
    )
    found = notices(roster)
    assert [notice.code for notice in found] == codes
    assert all(notice.text.endswith(".") and model not in notice.text for notice in found for model, *_ in entries)
