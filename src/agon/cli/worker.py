"""`agon worker`: one background worker."""

import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    del parser


def run(args: argparse.Namespace) -> int:
    del args
    from agon.config import load_settings
    from agon.telemetry import set_up_logs
    from agon.worker.app import run_worker

    settings = load_settings()
    set_up_logs(settings.log_level)
    run_worker(settings)
    return 0
