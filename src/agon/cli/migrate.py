"""`agon migrate`: bring the ledger's schema up to date."""

import argparse
import asyncio


def configure(parser: argparse.ArgumentParser) -> None:
    del parser


def run(args: argparse.Namespace) -> int:
    del args
    from agon.bootstrap.ledger import migrate_ledger
    from agon.config import load_settings

    applied = asyncio.run(migrate_ledger(load_settings()))
    print(f"{applied} migrations applied." if applied else "The ledger is up to date.")
    return 0
