"""`agon worker`: one background worker."""

import argparse
import os


def configure(parser: argparse.ArgumentParser) -> None:
    del parser


def run(args: argparse.Namespace) -> int:
    del args
    # The board's matrices are small: more threads would only wait for each other. Read when numpy is imported.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from agon.config import load_settings
    from agon.telemetry import set_up_logs
    from agon.worker.app import run_worker

    settings = load_settings()
    set_up_logs(settings.log_level)
    run_worker(settings)
    return 0
