"""Whatever the gateway can say to a person, the page knows, so that it can be said in every language of the page."""

import re
from pathlib import Path

import agon
from agon.api.streams import FAILED_MESSAGE, FORFEITED_MESSAGE
from agon.arena.notices import NoticeCode
from agon.boards.pages import STYLE_REASONS
from agon.core.board import Window
from agon.core.errors import AgonError, EngineError
from agon.core.traits import Category
from agon.ranking.leaderboard import NoteCode

SOURCE = Path(agon.__file__).parent
WEB = SOURCE.parents[1] / "web" / "src"
WORDS = (WEB / "i18n" / "server.ts").read_text()
KNOWN = set(re.findall(r"^  (\w+): \{", WORDS.partition("ERRORS")[2].partition("NOTICES")[0], re.MULTILINE))

# Said to admins, to programs, or in logs; the page asks for nothing that is answered so.
NOT_FOR_PAGES = {
    "admin_key_needed",
    "anchor_needed",
    "answer_exists",
    "answer_failed",
    "answer_lost",
    "answer_not_found",
    "bad_event_id",
    "contestant_exists",
    "contestant_made_here",
    "contestant_not_found",
    "contestant_unknown",
    "database_too_new",
    "duplicate_contestant",
    "duplicate_question",
    "empty_bank",
    "error",
    "engine_unreachable",
    "invalid_api_key",
    "invalid_bank",
    "model_not_found",
    "not_ready",
    "receipt_not_found",
    "replica_not_found",
    "result_not_found",
    "round_exists",
    "session_not_found",
    "too_many_submits",
    "unreadable",
}


def _kinds(base: type[AgonError]) -> list[type[AgonError]]:
    return [base, *(kind for each in base.__subclasses__() if each is not EngineError for kind in _kinds(each))]


def _raised() -> set[str]:
    rooms = ("core", "arena", "boards", "rounds", "api", "dispatch", "stores")
    files = [path for room in rooms for path in (SOURCE / room).rglob("*.py")]
    text = "\n".join(path.read_text() for path in files)
    named = set(re.findall(r'\bcode ?= ?"(\w+)"', text)) | set(re.findall(r'"code": "(\w+)"', text))
    chosen = {"missing_field", "method_not_allowed", "http_error", "client_limit", "arena_limit"}
    assert all(f'"{code}"' in text for code in chosen)
    return named | chosen | {kind.default_code for kind in _kinds(AgonError)}


def test_every_error_that_a_person_can_meet_is_known_to_the_page() -> None:
    assert len(KNOWN) > 20
    assert _raised() - NOT_FOR_PAGES - KNOWN == set()


def test_the_page_knows_no_error_that_is_never_said() -> None:
    assert KNOWN - _raised() == set()


def test_every_notice_is_known_to_the_page() -> None:
    listed = WORDS.partition("NOTICES")[2].partition("VOIDS")[0]
    assert set(re.findall(r"^  (\w+): \{", listed, re.MULTILINE)) == {code.value for code in NoticeCode}


def test_the_page_knows_the_usual_sentence_of_a_failed_answer() -> None:
    assert f"'answer.failed.text': '{FAILED_MESSAGE}'" in (WEB / "i18n" / "en.ts").read_text()


def test_the_page_says_of_a_forfeit_what_the_gateway_says() -> None:
    sentence = FORFEITED_MESSAGE.format(side="{side}")
    assert f"'answer.forfeited.text': '{sentence}'" in (WEB / "i18n" / "en.ts").read_text()


def test_every_note_of_a_board_is_known_to_the_page() -> None:
    listed = re.search(r"KNOWN_NOTES = \[(.*)\]", (WEB / "lib" / "standings.ts").read_text())
    assert listed is not None
    assert set(re.findall(r"'(\w+)'", listed[1])) == {code.value for code in NoteCode}


def test_every_note_on_a_whole_board_is_known_to_the_page() -> None:
    pages = (SOURCE / "boards" / "pages.py").read_text()
    said = set(re.findall(r'BoardNote\("(\w+)"', pages)) | set(STYLE_REASONS)
    listed = re.search(r"KNOWN_BOARD_NOTES = \[(.*?)\]", (WEB / "lib" / "standings.ts").read_text(), re.DOTALL)
    assert listed is not None
    assert set(re.findall(r"'(\w+)'", listed[1])) == said


def test_the_page_offers_every_view() -> None:
    view = (WEB / "lib" / "view.ts").read_text()
    for name, values in (("WINDOWS", Window), ("CATEGORIES", Category)):
        listed = re.search(rf"{name} = \[(.*?)\]", view, re.DOTALL)
        assert listed is not None
        assert re.findall(r"'(\w+)'", listed[1]) == [value.value for value in values]
