"""What `agon round` shows: progress while a round runs, its board, and rounds as lines."""

import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Column, Table
from rich.text import Text

from agon.core.rounds import FINAL, AnswerStage
from agon.core.text import printable

if TYPE_CHECKING:
    from agon.core.round_ports import Progress as Made
    from agon.core.rounds import Round, RoundAnswer
    from agon.rounds.board_page import Figure, RoundRow, Standings
    from agon.rounds.following import Snapshot, Standstill

_GOING_ON = " …"
"""Ends a line of `agon up` that the next one replaces."""
_WIDTH = 132
_LINE_S = 10.0
"""Between two lines of progress where there is no terminal."""


class View:
    """A bar for each contestant, on standard error; lines now and then where that is no terminal."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[words]}"))
        self._bars = Progress(*columns, TimeElapsedColumn(), console=self._console)
        self._status = self._console.status("")
        self._tasks: dict[str, TaskID] = {}
        self._line: str = ""
        self._told: str = ""
        self._told_s = float("-inf")

    def __enter__(self) -> Self:
        self._status.stop()
        if self._console.is_terminal:
            self._bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._bars.stop()
        self._status.stop()

    def say(self, text: str) -> None:
        self._console.print(printable(text), markup=False)

    def starting(self, line: str) -> None:
        """What an arena tells while it starts: at a terminal, what is only going on takes the place of the last."""
        if not self._console.is_terminal or not line.endswith(_GOING_ON):
            self.say(line)
            return
        self._status.update(Text(printable(line.removesuffix(_GOING_ON))))
        self._status.start()

    def show(self, now: "Snapshot") -> None:
        if not self._console.is_terminal:
            self._show_line(now)
            return
        for one in now.progress:
            total = sum(one.stages.values())
            if one.contestant not in self._tasks:
                name = printable(one.contestant)
                self._tasks[one.contestant] = self._bars.add_task(name, total=total, words="")
            done = sum(one.stages.get(stage, 0) for stage in FINAL)
            self._bars.update(self._tasks[one.contestant], total=total, completed=done, words=_words(one))

    def stands(self, still: "Standstill") -> None:
        self._tell_line()
        if not still.reasons:
            self.say("Nothing has changed for a while. Is a worker running, and can it score? Its log says more.")
        for name, reason in still.reasons.items():
            self.say(f"{name}: {reason}" if name else reason)

    def _show_line(self, now: "Snapshot") -> None:
        self._line = "; ".join(f"{one.contestant}: {_words(one)}" for one in now.progress)
        if now.is_over or time.monotonic() - self._told_s > _LINE_S:
            self._tell_line()

    def _tell_line(self) -> None:
        if self._line != self._told:
            self._told, self._told_s = self._line, time.monotonic()
            self.say(self._line)


def _words(one: "Made") -> str:
    stages = one.stages
    total = sum(stages.values())
    made = total - stages.get(AnswerStage.PENDING, 0) - stages.get(AnswerStage.FAILED, 0)
    words = [f"made {made}/{total}", f"scored {stages.get(AnswerStage.SCORED, 0)}"]
    rest = (AnswerStage.ABSTAINED, AnswerStage.FAILED, AnswerStage.PARKED)
    return " · ".join([*words, *(f"{stage.value} {stages[stage]}" for stage in rest if stages.get(stage))])


def show_board(page: "Standings", progress: Sequence["Made"]) -> None:
    """The board as a table on standard output, with what there is to know of it below."""
    table = Table("rank", Column("model", no_wrap=True), box=None, pad_edge=False)
    for head in ("mean score", "95 % interval", "win rate", "95 % interval", "answers", "failed"):
        table.add_column(head, justify="right", no_wrap=True)
    stages = {one.contestant: one.stages for one in progress}
    for row in page.rows:
        table.add_row(*_cells(row, stages.get(row.contestant, {})))
    console = _wide()
    console.print(table)
    notes = {f"{row.contestant}: {note.text}": None for row in page.rows for note in row.notes}
    for text in [*(note.text for note in page.notes), *notes]:
        console.print(printable(text), markup=False, soft_wrap=True)


def _wide() -> Console:
    """Standard output with room for names: they are not cut, also where it is no terminal."""
    console = Console(highlight=False)
    console.width = max(console.width, _WIDTH)
    return console


def _cells(row: "RoundRow", stages: Mapping[AnswerStage, int]) -> list[Text | str]:
    answers = sum(count for stage, count in stages.items() if stage in FINAL and stage is not AnswerStage.FAILED)
    failed = stages.get(AnswerStage.FAILED, 0) + stages.get(AnswerStage.PARKED, 0)
    rank = "" if row.rank is None else str(row.rank)
    rate, score = row.win_rate, row.score
    return [
        rank,
        Text(printable(row.contestant)),
        "" if score.value is None else f"{score.value:.3f}",
        _interval(score),
        "" if rate.value is None else f"{100 * rate.value:.1f} %",
        _interval(rate, 100),
        str(answers),
        str(failed),
    ]


def _interval(figure: "Figure", factor: int = 1) -> str:
    if figure.low is None or figure.high is None:
        return ""
    digits = 3 if factor == 1 else 1
    return f"{factor * figure.low:.{digits}f} … {factor * figure.high:.{digits}f}"


def show_rounds(rounds: Sequence["Snapshot"]) -> None:
    """Rounds as a table on standard output."""
    table = Table(Column("id", no_wrap=True), "name", "scorer", "questions", "models", "done", "trouble", box=None)
    for one in rounds:
        total = one.count(*AnswerStage)
        done = one.count(*FINAL)
        share = "" if not total else f"{100 * done // total} %"
        of = one.round
        texts = [str(of.id), of.name, of.scorer, str(of.questions), str(len(of.contestants)), share, str(one.troubled)]
        table.add_row(*(Text(printable(text)) for text in texts))
    _wide().print(table)


def show_trouble(answers: Sequence["RoundAnswer"]) -> None:
    console = Console(highlight=False)
    for answer in answers:
        words = f"{answer.stage.value}: {answer.contestant}, {answer.question}: {answer.error or ''}"
        console.print(printable(words), markup=False, soft_wrap=True)


def head_of(of: "Round") -> str:
    return f"{of.name}: {of.questions} questions, scored by {of.scorer}; round {of.id}"
