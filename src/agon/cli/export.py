"""`agon export`: the arena's votes and forfeits as a battle log."""

import argparse
import asyncio
import sys
from collections import Counter
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from agon.config import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--format",
        choices=["plain", "lmsys", "fastchat"],
        default="plain",
        help="plain: a CSV file without any words of the battles; lmsys, fastchat: a JSON object a line, with them",
    )
    parser.add_argument("--out", metavar="FILE", type=Path, help="write to a file, not to standard output")


def run(args: argparse.Namespace) -> int:
    from agon.config import load_settings
    from agon.report.files import opened
    from agon.supervisor.running import with_running_ledger

    settings = with_running_ledger(load_settings())
    with opened(args.out) as file:
        written = asyncio.run(_export(settings, args.format, file))
    parts = [_counted(written[False], "vote")]
    if written[True]:
        parts.append(_counted(written[True], "forfeit"))
    print(f"{' and '.join(parts)} exported.", file=sys.stderr)
    return 0


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


async def _export(settings: "Settings", form: str, file: TextIO) -> Counter[bool]:
    """How many lines were written, by whether they are forfeits, which are left out where they do not count."""
    from agon.battlelogs.writers import Form, writer_of
    from agon.bootstrap.archive import vote_archive
    from agon.core.board import ForfeitRule

    writer, left_out = writer_of(Form(form)), settings.board.forfeit is ForfeitRule.VOID
    written = Counter[bool]()
    file.write(writer.header)
    async with vote_archive(settings) as archive, aclosing(archive.every_vote(dialogues=writer.dialogues)) as votes:
        async for vote in votes:
            if not (vote.forfeit and left_out):
                file.write(writer.line(vote))
                written[vote.forfeit] += 1
    return written
