"""`agon runner`: one runner, which owns engines and generates answers."""

import argparse
import asyncio
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

from agon.config import Settings

if TYPE_CHECKING:
    from agon.dispatch.runner import Runner


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
    from prometheus_client import start_http_server

    from agon.bootstrap.runner import runner
    from agon.telemetry import RunnerMetrics

    task = asyncio.current_task()
    assert task is not None
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    metrics = RunnerMetrics()
    if settings.server.runner_metrics_port:
        start_http_server(settings.server.runner_metrics_port, settings.server.runner_metrics_host, metrics.registry)
    async with runner(settings, metrics) as serving:
        _drain_on_first_sigterm(serving, task)
        await serving.run()


def _drain_on_first_sigterm(serving: "Runner", task: "asyncio.Task[object]") -> None:
    """SIGTERM lets what runs come to its end; SIGINT, or a second SIGTERM, does not."""
    loop = asyncio.get_running_loop()

    def drain() -> None:
        serving.drain()
        loop.add_signal_handler(signal.SIGTERM, task.cancel)

    loop.add_signal_handler(signal.SIGTERM, drain)
