"""A ranking as text: for a terminal, for a pipe, and as CSV and JSON."""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_lowercase
from types import MappingProxyType
from typing import TYPE_CHECKING
from unicodedata import combining, east_asian_width

from agon.core.text import printable
from agon.ranking.leaderboard import NoteCode, Row
from agon.ranking.rejects import NOTICE_SENTENCES, SENTENCES, CleaningReport, Rejection

if TYPE_CHECKING:
    from rich.console import Console

    from agon.report.standings import Standings

COLUMNS = (
    "rank",
    "model",
    "rating",
    "low",
    "high",
    "se",
    "battles",
    "wins",
    "losses",
    "ties",
    "both_bad",
    "win_rate",
    "notes",
)
_SHORT = {
    NoteCode.FEW_BATTLES: "few battles",
    NoteCode.UNBOUNDED_ABOVE: "unbounded above",
    NoteCode.UNBOUNDED_BELOW: "unbounded below",
    NoteCode.NOT_COMPARABLE: "not comparable",
    NoteCode.NO_BATTLES: "no battles",
}
_HEADINGS = ("rank", "model", "rating", "95 % interval", "battles", "win rate", "notes")
_LEFT = {"model", "notes"}
_LISTED = 10
_GAP = 2
_NAME_LEAST = 12
NOTHING = "\N{EN DASH}"


@dataclass(frozen=True, slots=True)
class LogFile:
    """One input: what it was told to be, how its rows are numbered, and what in it was no vote."""

    path: str
    form: str
    numbering: str
    skipped: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Account:
    """What became of the input."""

    files: tuple[LogFile, ...]
    report: CleaningReport

    def rejected(self) -> list[Rejection]:
        """Those that are listed, file by file in the order of their rows."""
        order = {file.path: place for place, file in enumerate(self.files)}
        return sorted(self.report.listed, key=lambda found: (order.get(found.source, 0), found.row))

    def skipped(self) -> dict[str, int]:
        total: dict[str, int] = {}
        for file in self.files:
            for kind, count in file.skipped.items():
                total[kind] = total.get(kind, 0) + count
        return total


def cells(row: Row) -> tuple[str, ...]:
    """What a person reads of a row."""
    return (
        NOTHING if row.rank is None else str(row.rank),
        printable(row.model),
        NOTHING if row.rating is None else f"{row.rating:.1f}",
        interval(row),
        f"{row.battles:,}",
        NOTHING if row.win_rate is None else f"{100 * row.win_rate:.1f} %",
        ", ".join(_SHORT[note.code] for note in row.notes),
    )


def _width(text: str) -> int:
    """Columns that a terminal gives to it: two for a wide sign, none for one that combines."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(sign) else 2 if east_asian_width(sign) in {"W", "F"} else 1 for sign in text)


def interval(row: Row) -> str:
    if row.low is None and row.high is None:
        return NOTHING
    if row.high is None:
        return f"≥ {row.low:.0f}"
    if row.low is None:
        return f"≤ {row.high:.0f}"
    return f"{row.low:.1f} … {row.high:.1f}"


def print_rich(console: "Console", rows: Sequence[Row]) -> None:
    """A table that fits the terminal; where it is narrow, notes are letters that are explained below."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    lines = list(map(cells, rows))
    letters = _letters(rows) if _natural_width(lines) > console.width else {}
    if letters:
        marks = [" ".join(letters[note.code] for note in row.notes) for row in rows]
        lines = [(*line[:-1], mark) for line, mark in zip(lines, marks, strict=True)]
    others = _natural_width([(line[0], "", *line[2:]) for line in lines]) - len(_HEADINGS[1])
    room = max(_NAME_LEAST, console.width - others)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for heading in _HEADINGS:
        table.add_column(heading, justify="left" if heading in _LEFT else "right", no_wrap=True)
    table.columns[1].max_width = room
    for line, row in zip(lines, rows, strict=True):
        # Names come from files: markup in them is text.
        table.add_row(*map(Text, line), style="dim" if row.rank is None else "")
    console.print(table)
    if letters:
        said = "  ".join(f"{letter} {_SHORT[code]}" for code, letter in letters.items())
        console.print(said, style="dim", highlight=False)


def _letters(rows: Sequence[Row]) -> dict[NoteCode, str]:
    """A letter for each kind of note that is there."""
    codes = dict.fromkeys(note.code for row in rows for note in row.notes)
    return dict(zip(codes, ascii_lowercase, strict=False))


def _natural_width(lines: Sequence[Sequence[str]]) -> int:
    return sum(max(map(_width, column)) + _GAP for column in zip(_HEADINGS, *lines, strict=True))


def plain_table(rows: Sequence[Row]) -> str:
    """Aligned columns without colour or frame."""
    table = [_HEADINGS, *map(cells, rows)]
    widths = [max(map(_width, column)) for column in zip(*table, strict=True)]
    return "\n".join("  ".join(_aligned(line, widths)).rstrip() for line in table)


def _aligned(line: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    for heading, text, width in zip(_HEADINGS, line, widths, strict=True):
        blank = " " * (width - _width(text))
        yield text + blank if heading in _LEFT else blank + text


def csv_text(rows: Sequence[Row]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([values[name] for name in COLUMNS] for values in map(flat, rows))
    return text.getvalue()


def flat(row: Row) -> dict[str, object]:
    """A row for a table of a file; numbers whole, notes as codes."""
    values: dict[str, object] = {name: getattr(row, name) for name in COLUMNS if name != "notes"}
    return {**values, "notes": " ".join(note.code.value for note in row.notes)}


def json_text(standings: "Standings", account: Account) -> str:
    return json.dumps(as_json(standings, account), ensure_ascii=False, indent=1, allow_nan=False)


def as_json(standings: "Standings", account: Account) -> dict[str, object]:
    """Everything, by the names that the reference documents."""
    board, options = standings.board, standings.options
    return {
        "method": options.method.value,
        "ties": options.ties.value,
        "intervals": standings.errors,
        "votes": board.votes,
        "models": len(board.rows),
        "rows": _rows_json(standings),
        "rejected": rejected_json(account),
        **account_json(account),
        **_details(standings),
    }


def _rows_json(standings: "Standings") -> list[dict[str, object]]:
    ranks, averages = standings.simultaneous(), standings.average_win_rates()
    found: list[dict[str, object]] = []
    for row in standings.board.rows:
        values: dict[str, object] = {name: getattr(row, name) for name in COLUMNS}
        values["rank_best"], values["rank_worst"] = ranks.get(row.model, (None, None))
        values["average_win_rate"] = averages.get(row.model)
        values["notes"] = [{"code": note.code.value, "text": note.sentence} for note in row.notes]
        found.append(values)
    return found


def rejected_json(account: Account) -> list[dict[str, object]]:
    numbering = {file.path: file.numbering for file in account.files}
    return [
        {
            "row": found.row,
            "reason": str(found.reason),
            "message": found.sentence,
            "file": found.source,
            "counted_by": numbering.get(found.source, "row"),
        }
        for found in account.rejected()
    ]


def account_json(account: Account) -> dict[str, object]:
    report = account.report
    return {
        "accepted": report.kept,
        "rejected_total": report.rejected_rows,
        "rejected_by_reason": {str(reason): count for reason, count in report.rejected.items()},
        "skipped": account.skipped(),
        "notices": {str(notice): count for notice, count in report.notices.items()},
        "files": [
            {"path": file.path, "format": file.form, "counted_by": file.numbering, "skipped": dict(file.skipped)}
            for file in account.files
        ],
    }


def _details(standings: "Standings") -> dict[str, object]:
    found: dict[str, object] = {}
    good, ties, style = standings.goodness(), standings.details.ties, standings.details.style
    if good is not None:
        found["goodness_of_fit"] = {"chi2": good.chi2, "degrees": good.degrees, "p": good.p}
    if ties is not None and ties.finite:
        found["tie_parameter"] = {"value": ties.parameter, "se": ties.parameter_se}
    if style is not None:
        columns = (style.names, style.coefficients.tolist(), style.coefficient_se.tolist())
        found["style"] = {name: {"coefficient": value, "se": se} for name, value, se in zip(*columns, strict=True)}
    return found


def summary(standings: "Standings", account: Account) -> Iterator[str]:
    """What stands below the table, a line at a time."""
    board = standings.board
    yield f"{_number(board.votes, 'battle')} of {_number(len(board.rows), 'model')}; {standings.errors}."
    yield from account_lines(account)


def account_lines(account: Account) -> Iterator[str]:
    report = account.report
    skipped = account.skipped()
    if skipped:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in skipped.items())
        yield f"{_number(sum(skipped.values()), 'record')} that are no votes: {kinds}."
    for notice, count in report.notices.items():
        yield f"{_number(count, 'row')}: {NOTICE_SENTENCES[notice]}"
    if not report.rejected_rows:
        return
    yield f"{_number(report.rejected_rows, 'row')} rejected:"
    sentences = {**SENTENCES, **{str(found.reason): found.sentence for found in report.listed}}
    for reason, count in report.rejected.items():
        yield f"  {count:,} {reason}: {sentences[reason]}"
    yield from _listed(account)


def _listed(account: Account) -> Iterator[str]:
    """The first rejected rows by number, less those that were only not asked for."""
    numbering = {file.path: file.numbering for file in account.files}
    found = account.rejected()
    for rejection in found[:_LISTED]:
        place = f"{printable(rejection.source)}, {numbering.get(rejection.source, 'row')} {rejection.row}"
        yield f"  {place}: {rejection.reason}"
    left = account.report.rejected_rows - min(len(found), _LISTED)
    if left > 0:
        yield f"  … and {left:,} more; --format json lists them."


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
