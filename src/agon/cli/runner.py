"""`agon runner`: one runner, which owns engines and generates answers."""

import argparse
import asyncio
import signal
from contextlib import suppress

from agon.config import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    del parser


def run(args: argparse.Namespace) -> int:
    del args
    from agon.config import load_settings
    from agon.telemetry import set_up_logs

    settings = load_settings()
    set_up_logs(settings.log_level)
    with suppress(asyncio.CancelledError):
        asyncio.run(_serve(settings))
    return 0


async def _serve(settings: Settings) -> None:
    from agon.bootstrap.runner import runner

    task = asyncio.current_task()
    assert task is not None
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    async with runner(settings) as serving:
        await serving.run()
