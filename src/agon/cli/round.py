"""`agon round`: have models answer a bank of questions, have the answers scored, and rank the models."""

import argparse
import asyncio
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

if TYPE_CHECKING:
    from agon.bootstrap.round_desk import RoundDesk
    from agon.cli.round_view import View
    from agon.cli.round_work import Work
    from agon.config import Settings
    from agon.rounds.following import Snapshot

EXIT_TROUBLED = 3
"""The round is over, or cannot go on, and some answers failed or could not be scored."""
_LISTED = 20


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    _add_run(actions.add_parser("run", help="answer, score and rank; the same command again goes on where it was"))
    actions.add_parser("list", help="show the latest rounds")
    shown = actions.add_parser("show", help="show a round's progress, board and trouble")
    added = actions.add_parser("add", help="have a further model answer a round")
    again = actions.add_parser("rerun", help="have what failed or could not be scored done once more")
    exported = actions.add_parser("export", help="write a round's answers and scores, a JSON object a line")
    for action in (shown, added, again, exported):
        action.add_argument("round", metavar="ROUND", help="its id, the beginning of it, or its name")
    added.add_argument("model", metavar="MODEL", help="a contestant of this arena")
    exported.add_argument("--out", metavar="FILE", type=Path, help="write to a file, not to standard output")
    for action in (added, again):
        _add_waiting(action)
    for action in actions.choices.values():
        action.add_argument("--data-dir", type=Path, help="the arena's data folder (AGON_DATA_DIR)")
        action.add_argument("--config", type=Path, metavar="FILE", help="the arena's agon.toml (AGON_CONFIG)")
        if action is not exported:
            action.add_argument("--json", action="store_true", help="print JSON")


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bank", metavar="FILE", type=Path, help="questions: JSON lines, JSON or CSV")
    parser.add_argument("--models", metavar="NAMES", action="append", help="contestants, with commas; default: all")
    parser.add_argument("--scorer", metavar="NAME", default="reward", help="reward, judge:MODEL, or a plug-in's name")
    parser.add_argument("--name", help="what the round is called; default: the file's name")
    parser.add_argument("--seed", type=int, default=0, help="of every answer; default: 0")
    parser.add_argument("--max-tokens", metavar="N", type=int, help="of an answer; default: limits.answer_tokens")
    parser.add_argument("--limit", metavar="N", type=int, help="only so many questions, from all categories alike")
    parser.add_argument("--category", metavar="NAME", action="append", default=[], help="only questions of this one")
    parser.add_argument("--anchor", metavar="MODEL", help="whom a judge compares with; default: the first model")
    parser.add_argument("--id", metavar="UUID", type=UUID, help="the round's id; default: one made from all of this")
    _add_waiting(parser)


def _add_waiting(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--no-wait", action="store_true", help="leave it to the arena that runs, and do not watch")


def run(args: argparse.Namespace) -> int:
    """Exit code 0, 2 for what is wrong with what was asked, 3 if answers failed or could not be scored."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from agon.config import load_settings

    for name, value in (("AGON_DATA_DIR", args.data_dir), ("AGON_CONFIG", args.config)):
        if value is not None:
            os.environ[name] = str(value.absolute())
    settings = load_settings()
    match args.action:
        case "run" | "add" | "rerun":
            return _work(args, settings)
        case "list":
            return _list(args, settings)
        case "show":
            return _show(args, settings)
        case _:
            return _export(args, settings)


def _work(args: argparse.Namespace, settings: "Settings") -> int:
    """On the arena that runs, or on one that runs for as long as this takes."""
    from agon.cli.round_view import View
    from agon.supervisor.guest import guest_arena
    from agon.supervisor.running import is_running, noted_address

    work = _work_of(args, settings)
    view = View()
    if args.no_wait or is_running(settings):
        return _worked(args, settings, work, view, address=noted_address(settings))
    environment = {**os.environ, "AGON_ROUNDS_SHARE": os.environ.get("AGON_ROUNDS_SHARE") or "1"}
    view.say(f"No arena runs on {settings.data_dir}; one is started for this round.")
    with guest_arena(settings.data_dir, environment, view.starting):
        code = _worked(args, settings, work, view, in_guest=True)
    if not args.json:
        print("`agon up` on the same data folder shows answers side by side, and more, under Rounds.")
    return code


def _work_of(args: argparse.Namespace, settings: "Settings") -> "Work":
    """What is to be done, checked as far as it can be without an arena."""
    from agon.cli.round_work import Addition, Asked, Rerun, read_bank

    if args.action == "add":
        return Addition(args.round, args.model)
    if args.action == "rerun":
        return Rerun(args.round)
    parts: list[str] = args.models or []
    names = [name.strip() for part in parts for name in part.split(",") if name.strip()]
    return Asked(
        bank=read_bank(args.bank, args.category, args.limit),
        models=tuple(dict.fromkeys(names)),
        scorer=args.scorer,
        name=args.name or args.bank.stem,
        named=args.name is not None,
        seed=args.seed,
        max_tokens=args.max_tokens or settings.limits.answer_tokens,
        anchor=args.anchor,
        id=args.id,
    )


def _worked(
    args: argparse.Namespace,
    settings: "Settings",
    work: "Work",
    view: "View",
    *,
    address: str | None = None,
    in_guest: bool = False,
) -> int:
    begun: list[UUID] = []
    try:
        return asyncio.run(_at_work(args, settings, work, view, begun=begun, address=address))
    except KeyboardInterrupt:
        if begun:
            view.say(
                "Nothing is lost: the same command goes on from here."
                if in_guest
                else f"The arena goes on with it: `agon round show {begun[0]}` tells how far it is."
            )
        raise


async def _at_work(
    args: argparse.Namespace,
    settings: "Settings",
    work: "Work",
    view: "View",
    *,
    begun: list[UUID],
    address: str | None,
) -> int:
    from agon.bootstrap.round_desk import round_desk
    from agon.cli.round_view import head_of
    from agon.cli.round_work import following
    from agon.supervisor.running import with_running_stores

    async with round_desk(with_running_stores(settings)) as desk:
        round_id = await work.do(desk)
        begun.append(round_id)
        view.say(head_of(await desk.ledger.find(round_id)))
        given_up = False
        if not args.no_wait:
            with view:
                given_up = not (await following(desk, round_id).until_over(view.show, view.stands)).is_over
        code = await _shown(args, desk, round_id, address)
        return EXIT_TROUBLED if given_up else code


def _list(args: argparse.Namespace, settings: "Settings") -> int:
    async def listed() -> int:
        from agon.bootstrap.round_desk import round_desk
        from agon.cli.round_view import show_rounds
        from agon.cli.round_work import following
        from agon.supervisor.running import with_running_stores

        async with round_desk(with_running_stores(settings)) as desk:
            rounds = [await following(desk, one.id).look() for one in await desk.ledger.latest(limit=_LISTED)]
        if args.json:
            print(json.dumps([_facts(one) for one in rounds], ensure_ascii=False, indent=2))
        else:
            show_rounds(rounds)
        return 0

    return asyncio.run(listed())


def _show(args: argparse.Namespace, settings: "Settings") -> int:
    async def shown() -> int:
        from agon.bootstrap.round_desk import round_desk
        from agon.cli.round_work import find
        from agon.supervisor.running import noted_address, with_running_stores

        async with round_desk(with_running_stores(settings)) as desk:
            return await _shown(args, desk, (await find(desk, args.round)).id, noted_address(settings))

    return asyncio.run(shown())


async def _shown(args: argparse.Namespace, desk: "RoundDesk", round_id: UUID, address: str | None) -> int:
    """Show a round as it is now; exit code 3 if it is over with trouble."""
    from agon.cli.round_view import head_of, show_board, show_trouble
    from agon.cli.round_work import following
    from agon.rounds.board_page import encode
    from agon.rounds.following import OPEN
    from agon.rounds.standings import standings

    now = await following(desk, round_id).look()
    page = standings(now.round, await desk.source.scores(round_id), now.progress, made_at=None)
    trouble = await desk.ledger.troubled(round_id, limit=_LISTED)
    where = None if address is None else f"{address}/#/rounds/{round_id}"
    if args.json:
        print(json.dumps({**_facts(now), "page": where, "board": json.loads(encode(page))}, ensure_ascii=False))
    else:
        print(head_of(now.round))
        show_board(page, now.progress)
        show_trouble(trouble)
        if where is not None:
            print(f"Answers side by side, and more: {where}")
    return EXIT_TROUBLED if not now.count(*OPEN) and now.troubled else 0


def _facts(now: "Snapshot") -> dict[str, object]:
    of = now.round
    progress = {one.contestant: {stage.value: count for stage, count in one.stages.items()} for one in now.progress}
    facts = {"name": of.name, "scorer": of.scorer, "seed": of.seed, "max_tokens": of.max_tokens, "anchor": of.anchor}
    return {"round": str(of.id), **facts, "questions": of.questions, "is_over": now.is_over, "progress": progress}


def _export(args: argparse.Namespace, settings: "Settings") -> int:
    async def exported() -> int:
        from agon.bootstrap.round_desk import round_desk
        from agon.cli.round_work import find, lines
        from agon.report.files import opened
        from agon.supervisor.running import with_running_stores

        async with round_desk(with_running_stores(settings)) as desk:
            of = await find(desk, args.round)
            with opened(args.out) as file:
                async for line in lines(desk, of):
                    file.write(line + "\n")
        return 0

    return asyncio.run(exported())
