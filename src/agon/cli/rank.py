"""`agon rank`: a leaderboard out of battle logs."""

import argparse
import os
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agon.battlelogs.faults import Unreadable
    from agon.battlelogs.readings import Progress
    from agon.ranking.bradley_terry import Anchor
    from agon.ranking.cleaning import Cleaned, CleaningRules
    from agon.ranking.methods import BoardOptions
    from agon.report.standings import Standings
    from agon.report.texts import Account

_LISTED = 100_000
"""Rejected rows that JSON lists one by one."""
_LONG_BYTES = 32 << 20
"""Input from which on a progress bar is worth its place."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="battle logs of any known form; - is standard input")
    _add_method(parser)
    _add_filters(parser)
    _add_outputs(parser)


def _add_method(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("method")
    group.add_argument("--method", choices=["bt", "elo", "davidson", "rao-kupper"], default="bt", help="default: bt")
    group.add_argument(
        "--ties", choices=["half", "drop"], default="half", help="what a tie counts; default: half a win"
    )
    group.add_argument("--style", action="store_true", help="control for the length and formatting of answers")
    group.add_argument("--anchor", metavar="NAME=RATING", type=_anchor, help="fix one model's rating")
    group.add_argument("--bootstrap", metavar="N", type=int, default=0, help="intervals from N bootstrap rounds")
    group.add_argument("--cluster", choices=["voter"], help="let votes of one voter lean together in the intervals")
    group.add_argument("--seed", type=int, default=0, help="of the bootstrap; default: 0")
    group.add_argument("--min-battles", metavar="N", type=int, default=30, help="mark models with fewer; default: 30")


def _add_filters(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("which battles count")
    group.add_argument("--since", metavar="TIME", type=_moment, help="none before this day or moment, in UTC")
    group.add_argument("--until", metavar="TIME", type=_moment, help="none from this day or moment on, in UTC")
    group.add_argument(
        "--window", metavar="DAYS", type=_days, help="only the last days, counted from the newest battle"
    )
    group.add_argument("--category", metavar="NAME", help="only battles of this category")
    group.add_argument("--language", metavar="NAME", help="only battles in this language")
    group.add_argument("--anonymous-only", action="store_true", help="only battles whose voter did not know the names")
    group.add_argument("--cap-per-voter", metavar="N", type=int, help="at most N battles of a voter on a pair")
    group.add_argument(
        "--alias", metavar="OLD=NEW", type=_alias, action="append", default=[], help="a model's other name"
    )


def _add_outputs(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("output")
    group.add_argument("--format", choices=["table", "json", "csv"], default="table", help="of what is printed")
    group.add_argument(
        "--out", metavar="FILE", type=_ending("csv", "json", "parquet"), help="also write .csv, .json or .parquet"
    )
    group.add_argument("--plot", metavar="FILE", type=_ending("png", "svg"), help="draw ratings with intervals")
    group.add_argument("--plot-matrix", metavar="FILE", type=_ending("png", "svg"), help="draw the win rates of pairs")
    group.add_argument("--plot-history", metavar="FILE", type=_ending("png", "svg"), help="draw ratings through time")
    group.add_argument("--html", metavar="FILE", type=_ending("html"), help="write a report that needs nothing else")
    group.add_argument("--strict", action="store_true", help="exit with 2 if any row had to be rejected")


def run(args: argparse.Namespace) -> int:
    """Exit code 0, or 2 if a file cannot be read, or with `--strict` a row."""
    # The matrices are small: more threads would only wait for each other. Read when numpy is imported.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from agon.battlelogs.faults import Unreadable
    from agon.report.standings import standings_of

    if _pictured(args):
        from agon.report.pictures import require_pictures

        require_pictures()
    _spell_out(sys.stdout)
    options = _options(args)
    try:
        cleaned, account = _read(args, _rules(args, options), options)
    except Unreadable as error:
        return _refuse(args, error)
    standings = standings_of(cleaned, options, seed=args.seed)
    _write(args, standings, account)
    _print(args, standings, account)
    return 2 if args.strict and account.report.faulty else 0


def _spell_out(stream: object) -> None:
    """Lets the stream spell out what its encoding lacks: names come from anywhere."""
    reconfigure: Callable[..., None] | None = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


def _pictured(args: argparse.Namespace) -> bool:
    return any((args.plot, args.plot_matrix, args.plot_history, args.html))


def _options(args: argparse.Namespace) -> "BoardOptions":
    from agon.ranking.methods import BoardOptions, Method, Ties

    return BoardOptions(
        method=Method(args.method),
        ties=Ties(args.ties),
        style=args.style,
        by_voter=args.cluster is not None,
        bootstrap=args.bootstrap,
        anchor=args.anchor,
        min_battles=args.min_battles,
    )


def _rules(args: argparse.Namespace, options: "BoardOptions") -> "CleaningRules":
    from agon.ranking.cleaning import CleaningRules

    return CleaningRules(
        aliases=dict(args.alias),
        anonymous_only=args.anonymous_only,
        since=args.since,
        until=args.until,
        window_days=args.window,
        category=args.category,
        language=args.language,
        per_voter=args.cap_per_voter,
        needs_style=options.style,
        needs_voter=options.by_voter,
    )


def _read(args: argparse.Namespace, rules: "CleaningRules", options: "BoardOptions") -> "tuple[Cleaned, Account]":
    from agon.battlelogs.collect import collect
    from agon.battlelogs.readings import Wants
    from agon.ranking.cleaning import Cleaner
    from agon.ranking.rejects import LISTED
    from agon.report.texts import Account, LogFile

    wants = Wants(
        voter=rules.by_voter,
        category=rules.category is not None,
        language=rules.language is not None,
        anonymous=rules.anonymous_only,
        style=options.style,
    )
    keep_rows = options.needs_rows or bool(args.plot_history or args.html)
    cleaner = Cleaner(rules, keep_rows=keep_rows, listed=_LISTED if args.format == "json" else LISTED)
    with _progress(args.files) as progress:
        logs = collect(args.files, cleaner, wants, progress)
    for log in logs:
        if log.form == "empty":
            print(f"agon rank: {log.source} has no line.", file=sys.stderr)
    cleaned = cleaner.finish()
    files = tuple(LogFile(log.source, log.form, log.numbering, log.skipped) for log in logs)
    return cleaned, Account(files, cleaned.report)


@contextmanager
def _progress(files: Sequence[str]) -> "Generator[Progress]":
    from agon.battlelogs.sources import total_bytes

    total = total_bytes(list(files))
    if not sys.stderr.isatty() or (total is not None and total < _LONG_BYTES):
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("reading"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("", total=total)
        yield lambda count: bars.advance(task, count)


def _refuse(args: argparse.Namespace, error: "Unreadable") -> int:
    print(f"agon rank: {error.message}", file=sys.stderr)
    if args.format == "json":
        import json

        refused = {"row": None, "reason": error.code, "message": error.message, "file": error.source}
        print(
            json.dumps(
                {"rows": [], "rejected": [refused], "accepted": 0, "error": refused}, ensure_ascii=False, indent=1
            )
        )
    return 2


def _print(args: argparse.Namespace, standings: "Standings", account: "Account") -> None:
    try:
        _print_board(args.format, standings, account)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read the table has seen enough; nothing more must be flushed into the pipe at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if args.format != "json":
        from agon.report.texts import summary

        # What was made of the input goes beside the table, so that the table alone can be piped on.
        print("\n".join(summary(standings, account)), file=sys.stderr)


def _print_board(form: str, standings: "Standings", account: "Account") -> None:
    from agon.report import texts

    if form == "json":
        print(texts.json_text(standings, account))
    elif form == "csv":
        print(texts.csv_text(standings.board.rows), end="")
    elif sys.stdout.isatty():
        from rich.console import Console

        texts.print_rich(Console(), standings.board.rows)
    else:
        print(texts.plain_table(standings.board.rows))


def _write(args: argparse.Namespace, standings: "Standings", account: "Account") -> None:
    from agon.report import files

    if args.out:
        files.write_rows(args.out, standings, account)
    if not _pictured(args):
        return
    from agon.report import pictures

    specs: list[tuple[Path | None, Callable[[Standings], pictures.Spec]]] = [
        (args.plot, pictures.ratings),
        (args.plot_matrix, pictures.matrix),
        (args.plot_history, pictures.history),
    ]
    for path, draw in specs:
        if path:
            files.write_bytes(path, pictures.drawn(draw(standings), path.suffix))
    if args.html:
        from agon.report.page import page

        files.write_bytes(args.html, page(standings, account).encode())


def _ending(*kinds: str) -> Callable[[str], Path]:
    def path(text: str) -> Path:
        found = Path(text)
        if found.suffix.removeprefix(".").lower() not in kinds:
            raise argparse.ArgumentTypeError(f"{text!r} must end in {' or '.join(f'.{kind}' for kind in kinds)}")
        return found

    return path


def _anchor(text: str) -> "Anchor":
    from agon.ranking.bradley_terry import Anchor

    name, _, rating = text.rpartition("=")
    try:
        return Anchor(name, float(rating))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=RATING") from None


def _alias(text: str) -> tuple[str, str]:
    old, _, new = text.partition("=")
    if not old or not new:
        raise argparse.ArgumentTypeError(f"{text!r} is not OLD=NEW")
    return old, new


def _days(text: str) -> float:
    try:
        return float(text.removesuffix("d"))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of days") from None


def _moment(text: str) -> float:
    from datetime import UTC, datetime

    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no day or moment, as 2026-11-30 is one") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
