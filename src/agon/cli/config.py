"""`agon config`: check the configuration, and show what holds."""

import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=["check", "show"], help="check: say what is wrong; show: print every setting")


def run(args: argparse.Namespace) -> int:
    from agon.config import config_file, load_settings

    settings = load_settings()
    if args.action == "check":
        print(f"{config_file() or 'The built-in configuration'} is good: {len(settings.contestants)} contestants.")
        return 0
    shown = settings.model_copy(update={"secret": "(set)" if settings.secret else ""})
    print(shown.model_dump_json(indent=2))
    return 0
