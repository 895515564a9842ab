"""Where one machine's arena serves and keeps its data: flags over what the settings say."""

import argparse
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agon.config import config_file, load_settings


@dataclass(frozen=True, slots=True)
class Options:
    host: str
    port: int
    data_dir: Path
    config: Path | None
    database_url: str | None
    """An external server; `None` asks for the embedded one. The same holds for `redis_url`."""
    redis_url: str | None

    @property
    def url(self) -> str:
        """Where a person on this machine finds the arena."""
        shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104 - compared, not bound
        return f"http://{f'[{shown}]' if ':' in shown else shown}:{self.port}"

    def environment(self, base: Mapping[str, str], *, database_url: str, redis_url: str) -> dict[str, str]:
        """What the child processes read."""
        ours = {
            "AGON_DATABASE_URL": database_url,
            "AGON_REDIS_URL": redis_url,
            "AGON_DATA_DIR": str(self.data_dir),
            "AGON_HOST": self.host,
            "AGON_PORT": str(self.port),
            "PYTHONUNBUFFERED": "1",
        }
        return {**base, **ours, **({"AGON_CONFIG": str(self.config)} if self.config else {})}


def add_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", metavar="FILE", help="the arena's agon.toml (AGON_CONFIG)")
    parser.add_argument("--data-dir", metavar="DIR", help="where the arena keeps its data (AGON_DATA_DIR)")
    parser.add_argument("--host", help="the address to serve on (AGON_HOST)")
    parser.add_argument("--port", help="the port to serve on (AGON_PORT); 0 takes any free one")


def read_options(args: argparse.Namespace, environ: Mapping[str, str]) -> Options:
    """Raises `InvalidInput` with code `bad_configuration`, as `load_settings` does."""
    flags = {
        "AGON_CONFIG": args.config,
        "AGON_DATA_DIR": args.data_dir,
        "AGON_HOST": args.host,
        "AGON_PORT": args.port,
    }
    merged = {**environ, **{name: value for name, value in flags.items() if value}}
    wants_any_port = merged.get("AGON_PORT") == "0"
    if wants_any_port:
        del merged["AGON_PORT"]
    settings = load_settings(merged)
    config = config_file(merged)
    host = settings.server.host
    return Options(
        host=host,
        port=free_port(host) if wants_any_port else settings.server.port,
        data_dir=settings.data_dir,
        config=config.absolute() if config else None,
        database_url=settings.stores.database_url or None,
        redis_url=settings.stores.redis_url or None,
    )


def free_port(host: str) -> int:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.bind((host, 0))
        return probe.getsockname()[1]
