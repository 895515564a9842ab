"""Question banks are read as they are, and refused by their row."""

from pathlib import Path

import pytest

from agon.core.errors import InvalidInput, LimitExceeded
from agon.core.rounds import Question
from agon.rounds.banks import MAX_QUESTIONS, check_bank, load_bank, parse_bank

SKY = '{"id": "sky", "prompt": "Why?", "category": "science", "language": "en", "source": "here", "licence": "CC0"}'


def refused(text: str, suffix: str = ".jsonl") -> InvalidInput:
    with pytest.raises(InvalidInput) as raised:
        parse_bank(text, suffix)
    return raised.value


def test_json_lines_are_read() -> None:
    lines = [
        SKY,
        "",
        '{"question_id": 81, "turns": ["One.", "Two."]}',
        '{"text": "Say\\u2028so", "category": null}',
        "",
    ]
    assert parse_bank("\r\n".join(lines)) == (
        Question("sky", ("Why?",), "science", "en"),
        Question("81", ("One.", "Two.")),
        Question("3", ("Say\u2028so",)),
    )


def test_a_prompt_beside_its_turns_is_the_first_of_them() -> None:
    assert parse_bank('{"prompt": "One.", "turns": ["One.", "Two."]}') == (Question("1", ("One.", "Two.")),)
    assert refused('{"prompt": "Two.", "turns": ["One.", "Two."]}').field == "line 1.prompt"


@pytest.mark.parametrize("text", [f"[{SKY}]", f'{{"questions": [{SKY}], "name": "x"}}'])
def test_json_is_read(text: str) -> None:
    assert parse_bank(text, ".json") == (Question("sky", ("Why?",), "science", "en"),)


def test_csv_is_read() -> None:
    text = 'id,prompt,category\nsky,"Why,\nthough?",science\n,Who?,\n'
    assert parse_bank(text, ".csv") == (Question("sky", ("Why,\nthough?",), "science"), Question("2", ("Who?",)))
    assert parse_bank("id\tturn_1\tturn_2\na\tOne.\tTwo.\nb\tAlone.\t\n", ".tsv") == (
        Question("a", ("One.", "Two.")),
        Question("b", ("Alone.",)),
    )


@pytest.mark.parametrize(
    ("text", "suffix", "code", "words"),
    [
        ("", ".jsonl", "empty_bank", "at least one"),
        ("{", ".jsonl", "invalid_bank", "line 1: it is no JSON"),
        (f"{SKY}\n[]", ".jsonl", "invalid_bank", "line 2: it is no object"),
        (f"{SKY}\n{SKY}", ".jsonl", "duplicate_question", "line 2: id: 'sky' is the id of line 1 already"),
        (f'{SKY}\n\n{{"id": "x"}}', ".jsonl", "missing_field", "line 3: prompt: is missing"),
        ('{"prompt": 1}', ".jsonl", "invalid_input", "line 1: prompt: must be a text"),
        ('{"prompt": " "}', ".jsonl", "invalid_input", "line 1: prompt: must not be empty"),
        ('{"prompt": "\\u0000"}', ".jsonl", "invalid_input", "line 1: prompt: must not hold NUL"),
        ('{"prompt": "\\ud800"}', ".jsonl", "invalid_input", "line 1: prompt: must not hold NUL"),
        ('{"prompt": "x", "id": true}', ".jsonl", "invalid_input", "line 1: id: must be"),
        ('{"prompt": "x", "id": ""}', ".jsonl", "invalid_input", "line 1: id: must have"),
        ('{"prompt": "x", "category": 1}', ".jsonl", "invalid_input", "line 1: category: must be a text"),
        ('{"turns": "x"}', ".jsonl", "invalid_input", "line 1: turns: must be a list"),
        ('{"turns": []}', ".jsonl", "invalid_input", "line 1: turns: must not be empty"),
        ('{"turns": ["x", 1]}', ".jsonl", "invalid_input", "line 1: turns: must be a list"),
        ('{"turns": ["x"' + ',"x"' * 50 + "]}", ".jsonl", "limit_exceeded", "line 1: turns"),
        ("[" * 100_000, ".json", "invalid_bank", "the file: it is no JSON"),
        ("{}", ".json", "invalid_bank", "the file: it must be a list"),
        ("[1]", ".json", "invalid_bank", "question 1: it is no object"),
        ("id,prompt\na,b,c\n", ".csv", "invalid_bank", "line 2: it has more or fewer"),
        ("id,prompt\na\n", ".csv", "invalid_bank", "line 2: it has more or fewer"),
        ('id,prompt\na,"b\n', ".csv", "invalid_bank", "line 2: unexpected end"),
        ('id,prompt\n"', ".csv", "invalid_bank", "line 2: unexpected end"),
        ('id,prompt\na,"b\nb"\nc,d,e\n', ".csv", "invalid_bank", "line 4: it has more"),
        ('"', ".csv", "invalid_bank", "line 1: unexpected end"),
        ("id,question\na,b\n", ".csv", "missing_field", "line 2: prompt: is missing"),
    ],
)
def test_a_bad_bank_is_refused_by_its_row(text: str, suffix: str, code: str, words: str) -> None:
    error = refused(text, suffix)
    assert error.code == code
    assert words in error.message


def test_a_file_is_named_in_its_refusals(tmp_path: Path) -> None:
    bank = tmp_path / "bank.JSONL"
    bank.write_bytes(b"\xef\xbb\xbf" + SKY.encode())
    assert load_bank(bank) == (Question("sky", ("Why?",), "science", "en"),)
    bank.write_text(f"{SKY}\n{{}}")
    with pytest.raises(InvalidInput, match=r"bank\.JSONL, line 2: prompt: is missing"):
        load_bank(bank)
    bank.write_bytes(b"\xff")
    with pytest.raises(InvalidInput, match=r"bank\.JSONL cannot be read"):
        load_bank(bank)
    with pytest.raises(InvalidInput, match=r"none\.jsonl cannot be read"):
        load_bank(tmp_path / "none.jsonl")


def test_a_bank_has_its_bounds() -> None:
    bank = [Question(str(n), ("x",)) for n in range(MAX_QUESTIONS + 1)]
    places = [str(n) for n in range(len(bank))]
    check_bank(bank[:-1], places[:-1])
    with pytest.raises(LimitExceeded):
        check_bank(bank, places)
