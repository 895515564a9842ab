"""`agon export`: the arena's votes as a battle log."""

import argparse
import asyncio
import sys
from collections.abc import Generator
from contextlib import aclosing, contextmanager
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
    from agon.supervisor.running import with_running_ledger

    settings = with_running_ledger(load_settings())
    with _opened(args.out) as file:
        count = asyncio.run(_export(settings, args.format, file))
    print(f"{count:,} vote{'' if count == 1 else 's'} exported.", file=sys.stderr)
    return 0


async def _export(settings: "Settings", form: str, file: TextIO) -> int:
    from agon.battlelogs.writers import Form, writer_of
    from agon.bootstrap.archive import vote_archive

    writer = writer_of(Form(form))
    count = 0
    file.write(writer.header)
    async with vote_archive(settings) as archive, aclosing(archive.every_vote(dialogues=writer.dialogues)) as votes:
        async for vote in votes:
            file.write(writer.line(vote))
            count += 1
    return count


@contextmanager
def _opened(path: Path | None) -> Generator[TextIO]:
    """Standard output, or a file that is in its place only once it is whole."""
    if path is None:
        yield sys.stdout
        return
    from agon.report.files import whole_file

    with whole_file(path) as file:
        yield file
