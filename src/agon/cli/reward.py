"""`agon reward`: train, measure and build the reward model."""

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

    from agon.bootstrap.reward_pairs import Judged, Watch
    from agon.config import Settings
    from agon.engines.progress import Progress, Report
    from agon.scoring.reward.preferences import Fault

_LISTED = 20
"""Left-out lines that are shown to people one by one; JSON has all of them."""


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    build = actions.add_parser("build", help="build the default model: fetch the encoder, put its head on")
    build.add_argument("--out", metavar="DIR", type=Path, help="where to; default: the data folder's own place")
    train = actions.add_parser("train", help="train a model on judged pairs, and measure it on prompts it never saw")
    train.add_argument("files", nargs="*", metavar="FILE", type=Path, help="JSON lines of judged pairs")
    train.add_argument("--arena", action="store_true", help="also the arena's own votes on battles of one turn")
    train.add_argument("--out", metavar="DIR", type=Path, help="the model's folder; default: one in the data folder")
    train.add_argument("--seed", type=int, default=0, help="of the folds; default: 0")
    train.add_argument("--folds", metavar="N", type=_at_least(2), default=5, help="default: 5")
    train.add_argument("--repeats", metavar="N", type=_at_least(1), default=3, help="of the folds; default: 3")
    evaluate = actions.add_parser("evaluate", help="measure a model on judged pairs")
    evaluate.add_argument("files", nargs="+", metavar="FILE", type=Path, help="JSON lines of judged pairs")
    evaluate.add_argument("--model", metavar="DIR", type=Path, help="a model's folder; the default model by default")
    evaluate.add_argument("--precision", choices=["fp32", "int8"], default="fp32", help="default: fp32")
    for action in (train, evaluate):
        action.add_argument("--format", choices=["table", "json"], default="table", help="of what is printed")
        action.add_argument("--strict", action="store_true", help="exit with 2 if any line had to be left out")
        action.add_argument(
            "--threads", metavar="N", type=_at_least(1), default=os.cpu_count() or 1, help="of the encoder"
        )
    for action in (build, train, evaluate):
        action.add_argument("--data-dir", type=Path, help="the arena's data folder (AGON_DATA_DIR)")


def _at_least(least: int) -> Callable[[str], int]:
    def whole(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"at least {least}")
        return value

    whole.__name__ = "number"
    return whole


def run(args: argparse.Namespace) -> int:
    """Exit code 0, or 2 if a file cannot be read, or with `--strict` a line."""
    # The matrices are small, and more threads would make other last digits. Read when numpy is imported.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    actions = {"build": _build, "train": _train, "evaluate": _evaluate}
    return actions[args.action](args)


def _data_dir(args: argparse.Namespace) -> Path:
    from agon.config import load_settings

    return args.data_dir or load_settings().data_dir


def _build(args: argparse.Namespace) -> int:
    from agon.bootstrap.reward import default_recipe, encoder_of, ensure_default
    from agon.engines.encoder.build import build_recipe

    data_dir = _data_dir(args)
    with _bars() as bars:
        if args.out is None:
            folder: Path = ensure_default(data_dir, _fetching(bars))
        else:
            folder = args.out
            build_recipe(default_recipe(), encoder_of(data_dir, _fetching(bars)), folder)
    print(folder)
    return 0


def _train(args: argparse.Namespace) -> int:
    from agon.bootstrap.reward import encoder_of, ensure_built
    from agon.bootstrap.reward_training import Plan, train
    from agon.core.errors import InvalidInput
    from agon.engines.encoder.build import build_recipe

    if not args.files and not args.arena:
        raise InvalidInput("Name files of judged pairs, or say --arena.", code="nothing_to_train_on")
    data_dir = _data_dir(args)
    judged = _judged(args)
    plan = Plan(seed=args.seed, folds=args.folds, repeats=args.repeats, threads=args.threads)
    with _bars() as bars:
        weights = encoder_of(data_dir, _fetching(bars))
        trained = train(judged, weights, plan, _watching(bars))
        if args.out is None:
            folder: Path = ensure_built(trained.recipe, data_dir)
        else:
            folder = args.out
            build_recipe(trained.recipe, weights, folder)
    model = {"revision": trained.recipe.revision, "folder": str(folder), "temperature": trained.recipe.temperature}
    _say(args, judged.faults, {**trained.measured, "model": model}, "On prompts that were not trained on")
    return _code(args, judged)


def _evaluate(args: argparse.Namespace) -> int:
    from agon.bootstrap.reward import ensure_default
    from agon.bootstrap.reward_measuring import evaluate
    from agon.scoring.drift import Precision

    judged = _judged(args)
    with _bars() as bars:
        folder: Path = args.model or ensure_default(_data_dir(args), _fetching(bars))
        found = evaluate(
            judged, folder, precision=Precision(args.precision), threads=args.threads, watch=_watching(bars)
        )
    _say(args, judged.faults, found, "On these pairs")
    return _code(args, judged)


def _judged(args: argparse.Namespace) -> "Judged":
    from agon.bootstrap.reward_pairs import Judged, read_arena, read_files

    judged = Judged()
    read_files(judged, args.files)
    if getattr(args, "arena", False):
        asyncio.run(read_arena(judged, _settings(args)))
    return judged


def _settings(args: argparse.Namespace) -> "Settings":
    from agon.config import load_settings
    from agon.supervisor.running import with_running_ledger

    settings = load_settings()
    if args.data_dir is not None:
        stores = settings.stores.model_copy(update={"data_dir": args.data_dir})
        settings = settings.model_copy(update={"stores": stores})
    return with_running_ledger(settings)


def _code(args: argparse.Namespace, judged: "Judged") -> int:
    return 2 if args.strict and judged.faults else 0


# --- what is shown ----------------------------------------------------------------------------------------------------


@contextmanager
def _bars() -> "Generator[Bars]":
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        yield bars


def _watching(bars: "Bars") -> "Watch":
    tasks: dict[str, Any] = {}

    def watch(stage: str, done: int, total: int) -> None:
        if stage not in tasks:
            tasks[stage] = bars.add_task(stage, total=total)
        bars.advance(tasks[stage], done)

    return watch


def _fetching(bars: "Bars") -> "Report":
    tasks: dict[str, Any] = {}

    def report(step: "Progress") -> None:
        if step.name not in tasks:
            tasks[step.name] = bars.add_task(step.name, total=step.total_bytes)
        bars.update(
            tasks[step.name],
            description=f"{step.name}: {step.stage}",
            completed=step.done_bytes,
            total=step.total_bytes,
            visible=step.stage != "ready",
        )

    return report


def _say(args: argparse.Namespace, faults: "Sequence[Fault]", found: dict[str, Any], title: str) -> None:
    if args.format == "json":
        listed = [{"file": fault.file, "line": fault.line, "reason": fault.reason} for fault in faults]
        print(json.dumps({**found, "left_out": len(faults), "faults": listed}, ensure_ascii=False, indent=1))
        return
    from rich.console import Console

    _say_faults(faults)
    console = Console()
    for table in (_accuracy_table(found, title), _trust_table(found)):
        console.print(table)
        console.print()
    model = found["model"]
    console.print(f"Model {model['revision']} in {model['folder']}", highlight=False, soft_wrap=True)


def _say_faults(faults: "Sequence[Fault]") -> None:
    for fault in faults[:_LISTED]:
        print(f"{fault.file}:{fault.line}: {fault.reason}", file=sys.stderr)
    if len(faults) > _LISTED:
        print(f"… and {len(faults) - _LISTED:,} more.", file=sys.stderr)
    if faults:
        print(f"{len(faults):,} lines left out.", file=sys.stderr)


def _accuracy_table(found: dict[str, Any], title: str) -> Any:
    from rich.table import Column, Table

    numbers = [Column(name, justify="right") for name in ("pairs", "right", "95 %", "longer answer", "TF-IDF")]
    table = Table(Column("file", no_wrap=True), *numbers, title=title, box=None, pad_edge=False, title_justify="left")
    for name, part in found["by_file"].items():
        table.add_row(name, *_cells(part, part.get("longer_answer"), part.get("tfidf")))
    rivals = found["baselines"]
    rest = [rivals.get(name, {}).get("accuracy") for name in ("longer_answer", "tfidf")]
    table.add_section()
    table.add_row("all", *_cells(found, *rest))
    for label, name in (("seen in training", "seen_in_training"), ("not seen", "unseen")):
        if found["seen_in_training"]["pairs"]:
            table.add_row(label, *_cells(found[name], None, None))
    return table


def _cells(part: dict[str, Any], *rivals: float | None) -> list[str]:
    span = "" if part["low"] is None else f"{100 * part['low']:.1f} to {100 * part['high']:.1f}"
    return [f"{part['pairs']:,}", _percent(part["accuracy"]), span, *map(_percent, rivals)]


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"


def _trust_table(found: dict[str, Any]) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_header=False)
    calibration, length = found["calibration"], found["length"]
    table.add_row("random", "50.0 %")
    table.add_row("ties, left out of accuracy", f"{found['ties']:,}")
    table.add_row("expected calibration error", f"{calibration['error']:.3f}")
    table.add_row("log loss (0.693 knows nothing)", f"{calibration['log_loss']:.3f}")
    table.add_row("temperature still missing", f"{calibration['temperature']:.2f}")
    table.add_row("longer answer scores higher / is better", _pair(length, "prefers_longer", "longer_is_better"))
    table.add_row(
        "right where the longer / the shorter won", _pair(length, "right_where_longer_won", "right_where_shorter_won")
    )
    if length["at_equal_quality"] is not None:
        table.add_row("correlation with length at equal quality", f"{length['at_equal_quality']:.3f}")
    for name, part in found.get("padding", {}).items():
        words = name.replace("_", " ")
        table.add_row(f"padded ({words}): gained / mean change", f"{_percent(part['gained'])} / {part['change']:+.2f}")
    return table


def _pair(part: dict[str, Any], first: str, second: str) -> str:
    return f"{_percent(part[first])} / {_percent(part[second])}"
