"""Ranking against other programs: from a Parquet file to a printed table, and the core alone; `--quick` on a tenth."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness.installed import installed
from benchmarks.harness.report import ROOT, console, publish
from benchmarks.harness.statistics import Claim, Fact, compare

FOLDER = ROOT / "build" / "ranking"
PEERS = ROOT / "benchmarks" / "rankers" / "peers.py"
ROUNDS = 1000
OUR_RUNS = 3
BYTECODE = {"PYTHONPYCACHEPREFIX": str(FOLDER / "bytecode")}
"""Where Agon's compiled modules are kept, as those of the installed peers are, whatever the checkout does with them."""
LIMIT_S = 900.0
"""After this long a peer is given up, and the benchmark with it."""


@dataclass(frozen=True, slots=True)
class Size:
    models: int
    rows: int
    style: bool = False

    def tenth(self) -> "Size":
        return Size(self.models, self.rows // 10, self.style)

    @property
    def log(self) -> Path:
        return FOLDER / f"{self.models}x{self.rows}{'-style' if self.style else ''}.parquet"

    @property
    def codes(self) -> Path:
        return self.log.with_suffix(".npz")

    def __str__(self) -> str:
        return f"{self.models} x {self.rows / 1e6:g} M"


@dataclass(frozen=True, slots=True)
class Plan:
    """Sizes of data, and rounds of bootstrap that FastChat's method is given; the rest of the 1000 is extrapolated."""

    small: Size
    large: Size
    tenfold: Size
    rounds: Mapping[str, int]
    repeats: Mapping[str, int]


FULL = Plan(
    small=Size(42, 1_800_000, style=True),
    large=Size(200, 10_000_000),
    tenfold=Size(42, 18_000_000),
    rounds={"small": ROUNDS, "large": 20},
    repeats={"small": 3, "large": 2, "bootstrap": 3, "style": 2, "once": 1},
)
QUICK = Plan(
    small=FULL.small.tenth(),
    large=FULL.large.tenth(),
    tenfold=Size(42, 1_800_000),
    rounds={"small": 200, "large": 20},
    repeats={"small": 3, "large": 1, "bootstrap": 1, "style": 1, "once": 1},
)


@dataclass(frozen=True, slots=True)
class Ran:
    seconds: float
    peak_mb: float
    output: str


class Machine:
    """Runs one program at a time. This process stays small, since a child's peak begins at its parent's."""

    def __init__(self, peers_python: Path) -> None:
        self._peers_python = peers_python

    def ours(self, log: Path, *words: str) -> Ran:
        return run([sys.executable, "-m", "agon.cli", "rank", *words, str(log)], BYTECODE)

    def our_median(self, log: Path) -> Ran:
        """The median of some runs, since one is so short that it says little of a busy machine."""
        return sorted((self.ours(log) for _ in range(OUR_RUNS)), key=lambda ran: ran.seconds)[OUR_RUNS // 2]

    def peer(self, name: str, log: Path) -> Ran:
        return run([str(self._peers_python), str(PEERS), name, "file", str(log)])

    def our_core(self, task: str, size: Size) -> tuple[float, list[float]]:
        # As `agon rank` sets it.
        environment = {"OPENBLAS_NUM_THREADS": "1"} | BYTECODE
        return timing(run([sys.executable, "-m", "benchmarks.rankers.core", task, str(size.codes)], environment))

    def peer_core(self, name: str, task: str, size: Size, rounds: int = 0) -> tuple[float, list[float]]:
        return timing(run([str(self._peers_python), str(PEERS), name, task, str(size.codes), str(rounds)]))


def run(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Ran:
    """Runs a command to its end: the time until it is gone, and the most memory it held, as the system counts both."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryFile("w+") as output:
        start = time.perf_counter()
        child = subprocess.Popen(
            command, cwd=ROOT, stdout=output, stderr=output, env=inherited | dict(environment or {})
        )
        usage = _await(child, start + LIMIT_S)
        seconds = time.perf_counter() - start
        output.seek(0)
        said = output.read()
    if child.returncode:
        raise RuntimeError(f"{' '.join(command[1:4])} failed: {said[-2000:]}")
    # Bytes on macOS, KiB elsewhere.
    return Ran(seconds, usage / (1e6 if sys.platform == "darwin" else 1e6 / 1024), said)


def _await(child: "subprocess.Popen[str] | subprocess.Popen[bytes]", deadline: float) -> float:
    while True:
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if pid:
            child.returncode = os.waitstatus_to_exitcode(status)
            return usage.ru_maxrss
        if time.perf_counter() > deadline:
            child.kill()
            child.wait()
            raise TimeoutError(f"{child.args} did not end in time")
        time.sleep(0.002)


def timing(ran: Ran) -> tuple[float, list[float]]:
    found = json.loads(ran.output.splitlines()[-1])
    return found["seconds"], found["ratings"]


def prepared(plan: Plan) -> Machine:
    """The peers' environment and the data, made once and kept in a folder that git ignores."""
    commands = installed("ranking")
    for size in (plan.small, plan.large, plan.tenfold):
        if not size.codes.exists():
            console.print(f"Drawing {size} battles …")
            words = [str(size.models), str(size.rows), str(size.log), "style" if size.style else "plain"]
            run([sys.executable, "-m", "benchmarks.rankers.data", *words])
    machine = Machine(commands / "python")
    # Compiles ours.
    machine.ours(plan.small.log)
    machine.our_core("board", plan.small)
    return machine


@dataclass(frozen=True, slots=True)
class Series:
    """What each way took, repeat by repeat."""

    ours: list[float]
    peers: dict[str, list[float]]

    def speeds(self, what: str, amount: float, names: Sequence[str]) -> list[Claim]:
        ours = [amount / seconds for seconds in self.ours]
        return [
            compare(f"{what}, over {name}", ours[: len(took)], [amount / seconds for seconds in took])
            for name, took in self.peers.items()
            if name in names
        ]


def file_to_table(machine: Machine, size: Size, repeats: int, peers: Mapping[str, int]) -> list[Claim]:
    """Whole processes in turn; `peers` says how many repeats each of them takes part in."""
    times, memory = (Series([], {name: [] for name in peers}) for _ in range(2))
    for repeat in range(repeats):
        mine = machine.our_median(size.log)
        times.ours.append(mine.seconds)
        memory.ours.append(mine.peak_mb)
        for name in (name for name, most in peers.items() if repeat < most):
            theirs = machine.peer(name, size.log)
            times.peers[name].append(theirs.seconds)
            memory.peers[name].append(theirs.peak_mb)
        console.print(f"  file to table, {size}, {repeat + 1} of {repeats}")
    claims = times.speeds(f"{size}: battles/s, file to table with intervals", size.rows, ("arena-rank", "fastchat"))
    claims += times.speeds(f"{size}: battles/s, file to table; it gives no intervals", size.rows, ("evalica", "choix"))
    peaks = [
        compare(f"{size}: peak MB, file to table, over {name}", memory.ours[: len(took)], took)
        for name, took in memory.peers.items()
    ]
    return claims + peaks


@dataclass(frozen=True, slots=True)
class Contest:
    """A task of the core and those who do it too: peer, its name for the task, and how far its ratings may lie off."""

    task: str
    what: str
    peers: Sequence[tuple[str, str, float]]
    rounds: int = 0


def contested(machine: Machine, size: Size, contest: Contest, repeats: int) -> tuple[list[Claim], list[Fact]]:
    series = Series([], {f"{peer} ({task})": [] for peer, task, _ in contest.peers})
    apart: dict[str, float] = {}
    for repeat in range(repeats):
        seconds, ratings = machine.our_core(contest.task, size)
        series.ours.append(seconds)
        for peer, task, most in contest.peers:
            name = f"{peer} ({task})"
            seconds, theirs = machine.peer_core(peer, task, size, contest.rounds)
            series.peers[name].append(seconds)
            apart[name] = farthest(ratings, theirs)
            if apart[name] > most:
                raise RuntimeError(f"{name} rates {apart[name]} points apart on {size}, more than {most}")
        console.print(f"  {contest.what}, {size}, {repeat + 1} of {repeats}")
    amount = ROUNDS if contest.task == "bootstrap" else size.rows
    claims = series.speeds(f"{size}: {contest.what}", amount, list(series.peers))
    facts = [
        Fact(f"{size}: {contest.what}, ratings apart from {name}", value, "points") for name, value in apart.items()
    ]
    return claims, facts


def farthest(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The largest difference in points, both measured from their means."""
    shift = statistics.fmean(theirs) - statistics.fmean(ours)
    return max(abs(his - mine - shift) for mine, his in zip(ours, theirs, strict=True))


def contests(size: str, plan: Plan) -> list[tuple[Contest, int]]:
    rounds = plan.rounds[size]
    share = "" if rounds == ROUNDS else f", its {ROUNDS:,} extrapolated from {rounds}"
    peers = [("arena-rank", "board", 1.0), ("evalica", "board", 1.0), ("choix", "board", 0.01)]
    elo = [("evalica", "elo", 0.01), ("evalica", "elo_call", 0.01)]
    found = [
        (Contest("board", "battles/s, codes to ratings with intervals", peers), plan.repeats[size]),
        (Contest("elo", "battles/s, Elo", elo), plan.repeats[size]),
        (
            Contest("bootstrap", f"rounds/s, bootstrap{share}", [("fastchat", "bootstrap", 15.0)], rounds),
            plan.repeats["bootstrap" if size == "small" else "once"],
        ),
    ]
    if size == "small":
        style = [("arena-rank", "style", 1.0), ("fastchat", "style", 1.0)]
        found.append((Contest("style", "battles/s, style control", style), plan.repeats["style"]))
    return found


def growth(machine: Machine, plan: Plan, repeats: int) -> list[Claim]:
    """What ten times the rows take of ours, in time and memory."""
    large, small = ([machine.our_median(size.log) for _ in range(repeats)] for size in (plan.tenfold, plan.small))
    what = f"agon rank on {plan.tenfold} over {plan.small}"
    return [
        compare(f"seconds, {what}", [ran.seconds for ran in large], [ran.seconds for ran in small]),
        compare(f"peak MB, {what}", [ran.peak_mb for ran in large], [ran.peak_mb for ran in small]),
    ]


def passes(machine: Machine, size: Size, repeats: int) -> list[Fact]:
    """Ours in passes over the codes of all battles, 5 bytes each, at the speed of memory."""
    once = statistics.median(machine.our_core("memory_pass", size)[0] for _ in range(repeats))
    board = statistics.median(machine.our_core("board", size)[0] for _ in range(repeats))
    whole = statistics.median(machine.our_median(size.log).seconds for _ in range(repeats))
    return [
        Fact(f"{size}: one pass over the codes at the speed of memory", once * 1e3, "ms"),
        Fact(f"{size}: codes to ratings with intervals", board * 1e3, "ms"),
        Fact(f"{size}: codes to ratings with intervals, in such passes", board / once, "passes"),
        Fact(f"{size}: file to table", whole * 1e3, "ms"),
        Fact(f"{size}: file to table, in such passes", whole / once, "passes"),
    ]


def others(machine: Machine, size: Size) -> list[Fact]:
    """Whole commands beyond the plain one."""
    ways = [
        ("--bootstrap 1000", ("--bootstrap", str(ROUNDS))),
        ("--method elo", ("--method", "elo")),
        ("--style", ("--style",)),
    ]
    return [Fact(f"{size}: agon rank {shown}", machine.ours(size.log, *words).seconds, "s") for shown, words in ways]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the battles and fewer repeats")
    plan = QUICK if parser.parse_args().quick else FULL
    FOLDER.mkdir(parents=True, exist_ok=True)
    machine = prepared(plan)
    repeats = plan.repeats
    claims: list[Claim] = []
    facts: list[Fact] = []
    for name, size in (("small", plan.small), ("large", plan.large)):
        most = repeats[name]
        few = most if name == "small" else 1
        peers = {"arena-rank": most, "fastchat": few, "evalica": few, "choix": few}
        claims += file_to_table(machine, size, most, peers)
        for contest, times in contests(name, plan):
            found, told = contested(machine, size, contest, times)
            claims += found
            facts += told
        facts += passes(machine, size, most)
    claims += growth(machine, plan, repeats["large"])
    facts += others(machine, plan.small)
    publish("ranking" if plan is FULL else "ranking-quick", claims, facts)


if __name__ == "__main__":
    main()
