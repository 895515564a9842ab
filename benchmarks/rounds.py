"""From an answer to its place on a board at 200 concurrent submitters: what each means is worth, stage by stage.

The stages are those of a published account of such a pipeline, which reports 1.8, 3.1 and 5.7 times the throughput of
its synchronous baseline, and a P99 down to a tenth. The baseline is rebuilt here: each answer is scored by itself, in
full precision, padded to the longest the model takes, while its sender waits.
"""

import argparse
import asyncio
import os
from collections.abc import Mapping, Sequence

from benchmarks.harness.arena import Arena
from benchmarks.harness.report import ROOT, console, publish
from benchmarks.harness.statistics import Claim, Fact, compare
from benchmarks.staging.stages import BATCHED, CACHED, INT8, PLAIN, UNPADDED, Figures, Yard

from agon.bootstrap.reward import ensure_default
from agon.engines.encoder.files import locked
from agon.engines.encoder.making import Workshop
from agon.engines.encoder.texts import PACKAGED, read_texts
from agon.supervisor.options import free_port

DATA_DIR = ROOT / "build" / "quantise"
WINDOWS_S: Mapping[str, tuple[float, float]] = {
    PLAIN: (12.0, 15.0),
    UNPADDED: (8.0, 10.0),
    INT8: (5.0, 8.0),
    CACHED: (5.0, 8.0),
}
"""Warm-up and window: a submitter's first answer waits for those of all others, so the warm-up is a round of them."""
ANSWERS = 8_000
CONFIGURATION = """default_models = false

[limits]
client_submits_per_minute = 0

[scoring]
preload = true
agreement_battles = 0
"""


async def once(arena: Arena, yard: Yard, seed: int, answers: int) -> dict[str, Figures]:
    found: dict[str, Figures] = {}
    with arena.paused("worker"):
        for stage, (warm_up_s, window_s) in WINDOWS_S.items():
            found[stage] = await yard.synchronous(stage, seed=seed, warm_up_s=warm_up_s, window_s=window_s)
            _tell(stage, found[stage])
    found[BATCHED] = await yard.asynchronous(seed=seed, answers=answers)
    _tell(BATCHED, found[BATCHED])
    return found


def _tell(stage: str, figures: Figures) -> None:
    console.print(
        f"  {stage:28} {figures.per_s:8.1f} answers/s   P50 {figures.p50_ms:8.1f} ms   P99 {figures.p99_ms:8.1f} ms"
    )


def claims(repeats: Sequence[Mapping[str, Figures]]) -> list[Claim]:
    found: list[Claim] = []
    for stage in (UNPADDED, INT8, CACHED, BATCHED):
        for what in ("per_s", "p50_ms", "p99_ms"):
            ours, plain = ([getattr(each[name], what) for each in repeats] for name in (stage, PLAIN))
            name = {"per_s": "answers/s", "p50_ms": "P50 ms", "p99_ms": "P99 ms"}[what]
            found.append(compare(f"{name}: {stage}, over {PLAIN}", ours, plain))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rounds", description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--answers", type=int, default=ANSWERS, help="of the last stage")
    args = parser.parse_args()
    model = ensure_default(DATA_DIR)
    with locked(model):
        Workshop(model, read_texts([PACKAGED])[0], tell=console.print).int8()
    with Arena() as arena:
        arena.configure(CONFIGURATION)
        # The worker's data folder is the arena's: it finds the model there that is built already.
        (arena.folder / "reward").symlink_to(model.parent, target_is_directory=True)
        port = free_port("127.0.0.1")
        arena.run("gateway")
        arena.run("worker", environment={"AGON_WORKER_METRICS_PORT": str(port)})
        arena.await_http("/healthz")
        arena.await_http("/ready", port)
        yard = Yard(arena, model)
        repeats = asyncio.run(_repeats(arena, yard, args.repeats, args.answers))
    facts = [
        Fact("submitters", 200, ""),
        Fact("answers of the last stage", args.answers, ""),
        Fact("cores", os.cpu_count() or 1, ""),
    ]
    publish("rounds", claims(repeats), facts)


async def _repeats(arena: Arena, yard: Yard, repeats: int, answers: int) -> list[dict[str, Figures]]:
    found: list[dict[str, Figures]] = []
    for seed in range(repeats):
        console.print(f"repeat {seed + 1}")
        found.append(await once(arena, yard, seed, answers))
    return found


if __name__ == "__main__":
    main()
