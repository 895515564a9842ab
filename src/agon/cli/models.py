"""`agon models`: list the built-in models and fetch them."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

    from agon.engines.catalogue import BuiltIn
    from agon.engines.progress import Progress
    from agon.engines.weights import WeightStore


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="show the built-in models and which of them are here")
    pull = actions.add_parser("pull", help="fetch built-in models, the default contestants if none is named")
    pull.add_argument("names", nargs="*", metavar="NAME", help="a built-in model")
    pull.add_argument("--all", action="store_true", help="fetch all of them")
    for action in (listing, pull):
        action.add_argument("--data-dir", type=Path, help="the arena's data folder (AGON_DATA_DIR)")


def run(args: argparse.Namespace) -> int:
    from agon.config import load_settings
    from agon.engines.weights import WeightStore

    data_dir: Path = args.data_dir or load_settings().data_dir
    store = WeightStore(data_dir / "models")
    return _list(store) if args.action == "list" else _pull(store, args.names, everything=args.all)


def _list(store: "WeightStore") -> int:
    from rich.console import Console
    from rich.table import Column, Table

    from agon.engines.catalogue import BUILT_INS

    table = Table(Column("name", no_wrap=True), "model", "size", "here", "licence", "note", box=None, pad_edge=False)
    for model in BUILT_INS:
        size = f"{(model.weights.size_bytes or 0) >> 20} MiB"
        here = "yes" if store.has(model.weights) else "no"
        table.add_row(model.name, model.title, size, here, model.licence, model.note)
    Console().print(table)
    return 0


def _pull(store: "WeightStore", names: list[str], *, everything: bool) -> int:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TransferSpeedColumn
    from rich.progress import Progress as Bars

    from agon.core.errors import AgonError

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    failures: list[AgonError] = []
    with Bars(*columns, console=console) as bars:
        for model in _chosen(names, everything=everything):
            try:
                _fetch(store, model, bars)
            except AgonError as error:
                failures.append(error)
    for error in failures:
        console.print(f"agon models: {error.message}", highlight=False, soft_wrap=True)
    return 2 if failures else 0


def _chosen(names: list[str], *, everything: bool) -> list["BuiltIn"]:
    from agon.engines.catalogue import BUILT_INS, built_in, default_contestants

    if everything:
        return list(BUILT_INS)
    return [built_in(name) for name in names or [contestant.name for contestant in default_contestants()]]


def _fetch(store: "WeightStore", model: "BuiltIn", bars: "Bars") -> None:
    task = bars.add_task(model.name, total=model.weights.download_bytes)

    def report(step: "Progress") -> None:
        done = step.done_bytes if step.total_bytes else None
        bars.update(task, description=f"{model.name}: {step.stage}", completed=done, total=step.total_bytes)

    store.ensure(model.weights, report)
    bars.update(task, completed=model.weights.size_bytes, total=model.weights.size_bytes)
