"""Prints a benchmark's results and keeps them in `benchmarks/results`, with the machine and the commit."""

import json
import os
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import psutil
from benchmarks.harness.statistics import Claim, Fact
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"

console = Console(highlight=False)


def publish(name: str, claims: Sequence[Claim], facts: Sequence[Fact] = ()) -> None:
    """Print the table and write `benchmarks/results/<name>.json`."""
    console.print(_claims_table(name, claims))
    if facts:
        console.print(_facts_table(facts))
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{name}.json"
    body = {
        "claims": [asdict(claim) for claim in claims],
        "facts": [asdict(fact) for fact in facts],
        "machine": machine(),
        "commit": commit(),
    }
    path.write_text(json.dumps(body, indent=2, ensure_ascii=False) + "\n", "utf-8")
    console.print(f"Written to {path.relative_to(ROOT)}.")


def machine() -> dict[str, object]:
    """What the figures depend on. No names and no paths: results are shared."""
    return {
        "system": platform.system(),
        "architecture": platform.machine(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "python": platform.python_version(),
        "load_at_end": round(os.getloadavg()[0], 1),
    }


def commit() -> str:
    """The commit measured; `+` says that the working tree differed from it."""
    try:
        head = _git("rev-parse", "--short=12", "HEAD")
        return head + ("+" if _git("status", "--porcelain", "--untracked-files=no", "--", "src", "benchmarks") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def _claims_table(name: str, claims: Sequence[Claim]) -> Table:
    table = Table(title=f"{name}: ours over the baseline, in one run")
    table.add_column("claim", overflow="fold")
    for column in ("ours", "baseline", "ratio", "95 % interval", "runs"):
        table.add_column(column, justify="right", no_wrap=True)
    for claim in claims:
        # A ratio far below one still has two figures that tell something.
        form = ".2f" if claim.ratio >= 0.1 else ".4f"
        interval = f"{claim.low:{form}} to {claim.high:{form}}"
        figures = (f"{claim.ours:,.1f}", f"{claim.baseline:,.1f}", f"{claim.ratio:{form}}", interval, str(claim.runs))
        table.add_row(claim.claim, *figures)
    return table


def _facts_table(facts: Sequence[Fact]) -> Table:
    table = Table(title="where it comes from")
    table.add_column("figure", overflow="fold")
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("unit", no_wrap=True)
    for fact in facts:
        table.add_row(fact.name, f"{fact.value:,.1f}", fact.unit)
    return table
