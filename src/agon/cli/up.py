"""`agon up`: the whole arena on this machine."""

import argparse
import os


def configure(parser: argparse.ArgumentParser) -> None:
    from agon.supervisor.options import add_flags

    add_flags(parser)


def run(args: argparse.Namespace) -> int:
    from agon.supervisor.options import read_options
    from agon.supervisor.supervisor import Supervisor
    from agon.supervisor.terminal import Terminal

    return Supervisor(read_options(args, os.environ), Terminal()).run()
