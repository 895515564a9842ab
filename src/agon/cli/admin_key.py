"""`agon admin-key`: make and revoke the keys of the admin API."""

import argparse
import asyncio


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        choices=["ensure", "create", "revoke-all"],
        help="ensure: make one if there is none; create: make one more; revoke-all: forget every key",
    )


def run(args: argparse.Namespace) -> int:
    from agon.bootstrap.ledger import ensure_admin_key, revoke_admin_keys
    from agon.config import load_settings
    from agon.supervisor.running import with_running_ledger

    settings = with_running_ledger(load_settings())
    if args.action == "revoke-all":
        asyncio.run(revoke_admin_keys(settings))
        return 0
    key = asyncio.run(ensure_admin_key(settings, another=args.action == "create"))
    if key is not None:
        print(key)
    return 0
