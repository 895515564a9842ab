"""The `agon` command: a table of subcommands, each imported only when it is the one asked for."""

import argparse
import importlib
import sys
from dataclasses import dataclass
from typing import Protocol, cast

from agon.supervisor.policy import EXIT_BAD_CONFIGURATION

EXIT_OK = 0
EXIT_FAILED = 2
BAD_CONFIGURATION_CODE = "bad_configuration"


@dataclass(frozen=True, slots=True)
class Command:
    module: str
    summary: str


COMMANDS: dict[str, Command] = {
    "up": Command("agon.cli.up", "run the whole arena on this machine"),
    "doctor": Command("agon.cli.doctor", "check that this machine can run the arena, and say what to mend"),
    "rank": Command("agon.cli.rank", "make a leaderboard out of battle logs"),
    "round": Command("agon.cli.round", "have models answer a question bank, and rank them by their scores"),
    "export": Command("agon.cli.export", "write the arena's votes as a battle log"),
    "reward": Command("agon.cli.reward", "train, measure and build the reward model"),
    "quantise": Command("agon.cli.quantise", "make the reward model's 8-bit engines"),
    "gateway": Command("agon.cli.gateway", "run one HTTP gateway"),
    "runner": Command("agon.cli.runner", "run one runner, which owns the engines"),
    "worker": Command("agon.cli.worker", "run one background worker"),
    "migrate": Command("agon.cli.migrate", "bring the ledger's schema up to date"),
    "admin-key": Command("agon.cli.admin_key", "make and revoke admin keys"),
    "models": Command("agon.cli.models", "list and fetch the models the arena can run itself"),
    "config": Command("agon.cli.config", "check the configuration, or show every setting that holds"),
    "fake-engine": Command("agon.cli.fake_engine", "run a scriptable engine server for tests and load"),
}


class CommandModule(Protocol):
    def configure(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace) -> int: ...


def usage() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name.ljust(width)}  {command.summary}" for name, command in COMMANDS.items()]
    return "\n".join(["usage: agon COMMAND [options]", "", *lines, "", "`agon COMMAND --help` says more of each."])


def main(argv: list[str] | None = None) -> int:
    words = sys.argv[1:] if argv is None else argv
    if not words or words[0] in {"-h", "--help", "help"}:
        print(usage())
        return EXIT_OK
    if words[0] in {"-V", "--version"}:
        return _print_version()
    command = COMMANDS.get(words[0])
    if command is None:
        print(f"agon: there is no command '{words[0]}'.\n\n{usage()}", file=sys.stderr)
        return EXIT_FAILED
    return _run(words[0], command, words[1:])


def _print_version() -> int:
    from importlib.metadata import version

    print(f"agon {version('agon-arena')}")
    return EXIT_OK


def _run(name: str, command: Command, words: list[str]) -> int:
    from agon.core.errors import AgonError

    module = cast("CommandModule", importlib.import_module(command.module))
    parser = argparse.ArgumentParser(prog=f"agon {name}", description=command.summary[0].upper() + command.summary[1:])
    module.configure(parser)
    args = parser.parse_args(words)
    try:
        return module.run(args)
    except AgonError as error:
        print(f"agon {name}: {error.message}", file=sys.stderr)
        return EXIT_BAD_CONFIGURATION if error.code == BAD_CONFIGURATION_CODE else EXIT_FAILED
    except KeyboardInterrupt:
        return 130
