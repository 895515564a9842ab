"""`agon doctor`: can this machine run the arena, and if not, what would mend it?"""

import argparse
import os


def configure(parser: argparse.ArgumentParser) -> None:
    from agon.supervisor.options import add_flags

    add_flags(parser)


def run(args: argparse.Namespace) -> int:
    """Exit code 0 if all is well, 1 if something wants mending."""
    from agon.supervisor.checks import findings
    from agon.supervisor.options import read_options

    found = findings(read_options(args, os.environ))
    width = max(len(finding.name) for finding in found)
    for finding in found:
        print(f"{'✓' if finding.is_good else '✗'} {finding.name.ljust(width)}  {finding.detail}")
        if not finding.is_good and finding.advice:
            print(f"  {' ' * width}  → {finding.advice}")
    return 0 if all(finding.is_good for finding in found) else 1
