"""`python -m tests.chaos`: the whole storm, one line a repeat."""

import argparse
import asyncio
import tempfile
import time
from pathlib import Path

from tests.chaos.cluster import running_cluster
from tests.chaos.monkey import STRIKES
from tests.chaos.storm import Plan, storm
from tests.chaos.verdict import check_flat, lines


async def _run(plan: Plan, folder: Path) -> None:
    async with running_cluster(folder) as cluster:
        repeats = await storm(cluster, plan, _tell)
    for line in lines(repeats):
        _tell(line)
    check_flat(repeats)


def _tell(line: str) -> None:
    print(line, flush=True)  # noqa: T201


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--first", type=int, default=1, help="begin with this repeat of the seed's storm")
    parser.add_argument("--battles", type=int, default=110)
    parser.add_argument("--programs", type=int, default=8, help="users of the OpenAI-compatible API")
    parser.add_argument("--kind", choices=sorted(STRIKES), help="the one thing to happen each time")
    parser.add_argument("--folder", type=Path, help="keep data and logs here")
    args = parser.parse_args()
    kinds = None if args.kind is None else [[args.kind]] * (args.first + args.repeats - 1)
    plan = Plan(args.seed, args.repeats, args.battles, programs=args.programs, first=args.first, kinds=kinds)
    _tell(f"seed {plan.seed}")
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_run(plan, args.folder or Path(folder)))


if __name__ == "__main__":
    main()
