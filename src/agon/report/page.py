"""A ranking as one page of HTML that needs nothing but itself."""

from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files

from agon.core.errors import InvalidInput
from agon.core.text import printable
from agon.ranking.leaderboard import Row
from agon.ranking.rejects import NOTICE_SENTENCES, SENTENCES
from agon.report import pictures
from agon.report.standings import Standings
from agon.report.texts import NOTHING, Account, interval

_HEADINGS = (
    "Rank",
    "Model",
    "Rating",
    "95 % interval",
    "Battles",
    "Wins",
    "Losses",
    "Ties",
    "Both bad",
    "Win rate",
    "Notes",
)
_LISTED = 200


def page(standings: Standings, account: Account) -> str:
    """The whole page. Raises `InvalidInput` if pictures cannot be drawn here."""
    body = "\n".join(
        (
            "<h1>Ranking</h1>",
            f"<p>{_lead(standings)}</p>",
            *_table(standings),
            *_pictures(standings),
            *_account(account),
        )
    )
    shell = files("agon.report").joinpath("page.html").read_text(encoding="utf-8")
    return shell.replace("<!-- body -->", body)


def _lead(standings: Standings) -> str:
    board, options = standings.board, standings.options
    methods = {"bt": "Bradley-Terry", "elo": "online Elo", "davidson": "Davidson", "rao-kupper": "Rao-Kupper"}
    return (
        f"{board.votes:,} battles of {len(board.rows)} models. {methods[options.method]}, {escape(standings.errors)}. "
        "400 points are tenfold odds of winning. Models share a rank where their intervals overlap."
    )


def _table(standings: Standings) -> Iterator[str]:
    yield "<table id=board><thead><tr>"
    yield "".join(f"<th scope=col><button type=button>{heading}</button></th>" for heading in _HEADINGS)
    yield "</tr></thead><tbody>"
    ranks = standings.simultaneous()
    for row in standings.board.rows:
        yield _row(row, ranks.get(row.model))
    yield "</tbody></table>"


def _row(row: Row, ranks: tuple[int, int] | None) -> str:
    hint = "" if ranks is None else f"With 95 % confidence for all models at once: rank {ranks[0]} to {ranks[1]}"
    notes = "<br>".join(escape(note.sentence) for note in row.notes)
    cells = (
        (row.rank, NOTHING if row.rank is None else str(row.rank), hint),
        (printable(row.model), escape(printable(row.model)), ""),
        (
            row.rating,
            NOTHING if row.rating is None else f"{row.rating:.1f}",
            "" if row.se is None else f"± {row.se:.1f}",
        ),
        (row.low if row.low is not None else row.high, interval(row), ""),
        *((count, f"{count:,}", "") for count in (row.battles, row.wins, row.losses, row.ties, row.both_bad)),
        (row.win_rate, NOTHING if row.win_rate is None else f"{100 * row.win_rate:.1f} %", ""),
        ("", notes, ""),
    )
    return "<tr>" + "".join(_cell(*cell) for cell in cells) + "</tr>"


def _cell(value: object, shown: str, title: str) -> str:
    key = "" if value is None else escape(str(value), quote=True)
    said = f' title="{escape(title, quote=True)}"' if title else ""
    return f'<td data-key="{key}"{said}>{shown}</td>'


def _pictures(standings: Standings) -> Iterator[str]:
    if not standings.counts.models:
        return
    for draw in (pictures.ratings, pictures.matrix, pictures.history):
        try:
            svg = pictures.drawn(draw(standings), ".svg").decode()
        except InvalidInput as error:
            if error.code == "missing_timestamp":
                continue
            raise
        yield f"<figure>{svg}</figure>"


def _account(account: Account) -> Iterator[str]:
    report = account.report
    yield "<h2>What was counted</h2>"
    yield "<ul>"
    for file in account.files:
        skipped = "".join(f"; {count:,} {escape(kind)} passed over" for kind, count in file.skipped.items())
        yield f"<li>{escape(file.path)}: {escape(file.form)}{skipped}</li>"
    yield f"<li>{report.kept:,} battles counted, {report.rejected_rows:,} rows rejected</li>"
    for notice, count in report.notices.items():
        yield f"<li>{count:,} rows: {escape(NOTICE_SENTENCES[notice])}</li>"
    yield "</ul>"
    if report.rejected_rows:
        yield from _rejected(account)


def _rejected(account: Account) -> Iterator[str]:
    report = account.report
    sentences = {**SENTENCES, **{str(found.reason): found.sentence for found in report.listed}}
    yield "<h2>What was rejected, and why</h2>"
    yield from _plain_table(
        ("Rows", "Reason", "Meaning"),
        [(f"{count:,}", str(reason), sentences[reason]) for reason, count in report.rejected.items()],
    )
    numbering = {file.path: file.numbering for file in account.files}
    listed = account.rejected()[:_LISTED]
    yield f"<details><summary>The first {len(listed)} rows</summary>"
    yield from _plain_table(
        ("File", "Row", "Reason"),
        [(found.source, f"{numbering.get(found.source, 'row')} {found.row}", str(found.reason)) for found in listed],
    )
    yield "</details>"


def _plain_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield (
        "<table><thead><tr>" + "".join(f"<th scope=col>{heading}</th>" for heading in headings) + "</tr></thead><tbody>"
    )
    for row in rows:
        yield "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
    yield "</tbody></table>"
