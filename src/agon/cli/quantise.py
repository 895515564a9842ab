"""`agon quantise`: make the reward model's 8-bit engines, and measure them beside the full one."""

import argparse
import asyncio
import json
import os
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from agon.bootstrap.quantise import Quantised
    from agon.engines.encoder.making import Made
    from agon.engines.encoder.measuring import Report
    from agon.scoring.fidelity import Fidelity
    from agon.scoring.reward.preferences import Fault

_LISTED = 20
_MIB = 1 << 20


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model", nargs="?", metavar="MODEL_DIR", type=Path, help="a reward model's folder; the default one by default"
    )
    parser.add_argument(
        "--samples",
        nargs="+",
        metavar="FILE",
        type=Path,
        default=[],
        help="judged pairs as JSON lines, to calibrate and measure with; by default some that come with Agon",
    )
    parser.add_argument("--count", metavar="N", type=int, default=300, help="samples to calibrate on; default: 300")
    parser.add_argument("--seed", type=int, default=0, help="of the draw of samples; default: 0")
    parser.add_argument(
        "--target", choices=["cpu", "tensorrt", "both"], default="cpu", help="what to make; default: cpu"
    )
    parser.add_argument("--report", action="store_true", help="measure the CPU's engine beside the full one")
    parser.add_argument("--again", action="store_true", help="make what is there already anew")
    parser.add_argument("--restore", action="store_true", help="put engines that were rolled back in force again")
    parser.add_argument("--format", choices=["table", "json"], default="table", help="of what is printed")
    parser.add_argument("--strict", action="store_true", help="exit with 2 if any line had to be left out")
    parser.add_argument("--data-dir", type=Path, help="the arena's data folder (AGON_DATA_DIR)")


def run(args: argparse.Namespace) -> int:
    """Exit code 0, or 2 if an engine cannot be made, or with `--strict` if a line was left out."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from rich.console import Console

    from agon.bootstrap.quantise import Target, model_folder, quantise, restore
    from agon.config import load_settings

    if args.count < 1:
        raise SystemExit("agon quantise: --count must be at least 1")
    settings = load_settings()
    folder = model_folder(args.model, args.data_dir or settings.data_dir)
    told = Console(stderr=True, highlight=False)
    if args.restore:
        restored = asyncio.run(restore(settings, folder))
        print(
            json.dumps({"restored": restored}) if args.format == "json" else f"{restored} engines are in force again."
        )
        return 0
    with told.status("reading the model") as status:
        found = quantise(
            folder,
            args.samples,
            target=Target(args.target),
            tell=status.update,
            seed=args.seed,
            samples=args.count,
            again=args.again,
            reported=args.report,
        )
    _complain(told, found.faults)
    if args.format == "json":
        print(json.dumps(_plain(found), ensure_ascii=False, indent=2))
    else:
        _show(Console(highlight=False), found)
    return 2 if args.strict and found.faults else 0


def _complain(told: "Console", faults: "Sequence[Fault]") -> None:
    for fault in faults[:_LISTED]:
        told.print(f"{fault.file}, line {fault.line}: {fault.reason}; left out", markup=False, soft_wrap=True)
    if len(faults) > _LISTED:
        told.print(f"… and {len(faults) - _LISTED} more lines were left out")


# --- for machines -----------------------------------------------------------------------------------------------------


def _plain(found: "Quantised") -> Mapping[str, Any]:
    return {
        "model": str(found.folder),
        "engines": {target.value: _plain_made(made) for target, made in found.made.items()},
        "on_gpu": found.on_gpu,
        "left_out": [asdict(fault) for fault in found.faults],
        "report": None if found.report is None else _plain_report(found.report),
    }


def _plain_made(made: "Made") -> Mapping[str, Any]:
    artefact = made.artefact
    return {
        "reused": made.reused,
        "calibration_reused": made.calibration_reused,
        "digest": artefact.digest,
        "source": artefact.source,
        "calibration": artefact.calibration,
        "options": dict(artefact.options),
        "fidelity": None if artefact.fidelity is None else asdict(artefact.fidelity),
        "candidates": [asdict(candidate) for candidate in made.candidates],
    }


def _plain_report(report: "Report") -> Mapping[str, Any]:
    from agon.engines.encoder.measuring import shares

    mixed = report.mixed
    ratios = {way: mixed.ratio(way) for way in mixed.seconds}
    return {
        "size": {"fp32": report.full.size, "int8": report.int8.size, "ratio": report.size_ratio},
        "load_s": {"fp32": report.full.load_s, "int8": report.int8.load_s},
        "quality": asdict(report.quality),
        "latency_ms": [
            {
                "batch": each.batch,
                "plain": statistics.median(each.plain_ms),
                "fp32": statistics.median(each.full_ms),
                "int8": statistics.median(each.int8_ms),
            }
            for each in report.latencies
        ],
        "mixed": {
            "samples": mixed.samples,
            "tokens_mean": mixed.tokens_mean,
            "padding": mixed.padding,
            "read_s": mixed.read_s,
            "seconds": {way: statistics.median(seconds) for way, seconds in mixed.seconds.items()},
            "ratio": ratios,
            "processor_ratio": {way: mixed.ratio(way, processor=True) for way in mixed.seconds},
            "share": dict(shares(ratios)),
        },
    }


# --- for people -------------------------------------------------------------------------------------------------------


def _show(console: "Console", found: "Quantised") -> None:
    for target, made in found.made.items():
        state = "was there already" if made.reused else "is made"
        console.print(f"[bold]{target}[/bold]: engine {made.artefact.digest[:16]} {state}", soft_wrap=True)
        calibration = "reused" if made.calibration_reused else "new"
        console.print(f"  calibration {made.artefact.calibration[:16]} ({calibration})", soft_wrap=True)
        for candidate in made.candidates:
            chosen = "→" if candidate.recipe.name == made.artefact.options.get("name") else " "
            console.print(
                f"  {chosen} {candidate.recipe.name}: {candidate.seconds:.2f} s, {candidate.size / _MIB:.1f} MiB, "
                f"{_words(candidate.fidelity)}",
                markup=False,
                soft_wrap=True,
            )
        if made.artefact.fidelity is not None and not made.candidates:
            console.print(f"  {_words(made.artefact.fidelity)}", markup=False, soft_wrap=True)
    if found.on_gpu:
        console.print(f"TensorRT's engine is {found.on_gpu}", markup=False, soft_wrap=True)
    if found.report is not None:
        _show_report(console, found.report)


def _words(fidelity: "Fidelity") -> str:
    return (
        f"mean KL {fidelity.kl_mean:.1e}, p99 {fidelity.kl_p99:.1e}, top-1 {fidelity.top1:.1%}, "
        f"score error {fidelity.error_mean:.3f}"
    )


def _show_report(console: "Console", report: "Report") -> None:
    from rich.table import Table

    from agon.engines.encoder.measuring import PLAIN, STEPS, shares

    quality, mixed = report.quality, report.mixed
    table = Table("", "full", "8 bits", "ratio", box=None, pad_edge=False)
    full, int8 = report.full, report.int8
    table.add_row("size, MiB", f"{full.size / _MIB:.1f}", f"{int8.size / _MIB:.1f}", f"{report.size_ratio:.2f}")
    table.add_row("load, s", f"{full.load_s:.2f}", f"{int8.load_s:.2f}", f"{int8.load_s / full.load_s:.2f}")
    for each in report.latencies:
        ms = [statistics.median(values) for values in (each.full_ms, each.int8_ms)]
        table.add_row(f"batch of {each.batch}, ms", f"{ms[0]:.1f}", f"{ms[1]:.1f}", f"{ms[1] / ms[0]:.2f}")
    accuracy = quality.accuracy_full, quality.accuracy_int8
    table.add_row("pairs right", f"{accuracy[0]:.1%}", f"{accuracy[1]:.1%}", "")
    console.print(table)
    fidelity = quality.fidelity
    console.print(
        f"On {fidelity.pairs} pairs: {_words(fidelity)} (p99 {fidelity.error_p99:.3f}), "
        f"Kendall {fidelity.kendall:.3f}, Spearman {fidelity.spearman:.4f}",
        markup=False,
        soft_wrap=True,
    )
    ratios = {way: mixed.ratio(way) for way in mixed.seconds}
    by_itself = shares(ratios)
    ways = Table(
        f"{mixed.samples} texts of {mixed.tokens_mean:.0f} tokens on average", "s", "of plain", "this step", "processor"
    )
    for way in (PLAIN, *(way for way in mixed.seconds if way not in STEPS), *STEPS[1:]):
        step = f"{by_itself[way]:.2f}" if way in by_itself else ""
        ways.add_row(
            way,
            f"{statistics.median(mixed.seconds[way]):.2f}",
            f"{ratios[way]:.2f}",
            step,
            f"{mixed.ratio(way, processor=True):.2f}",
        )
    console.print(ways)
