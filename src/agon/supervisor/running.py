"""The arena that runs on this machine, for commands beside it."""

from pathlib import Path

from agon.config import Settings
from agon.core.errors import Unavailable
from agon.embedded.postgres import PostgresServer
from agon.embedded.valkey import ValkeyServer

_ADDRESS_FILE = "address"


def is_running(settings: Settings) -> bool:
    """Whether there is an arena to talk to: one on the data folder, or one whose ledger is named."""
    return bool(settings.stores.database_url) or PostgresServer(settings.data_dir).is_listening()


def with_running_ledger(settings: Settings) -> Settings:
    """The settings, with the address of the embedded ledger where none is given. Raises `Unavailable`."""
    if settings.stores.database_url:
        return settings
    if not is_running(settings):
        raise Unavailable(
            f"No arena runs on {settings.data_dir}. Start it, name its folder with AGON_DATA_DIR, or its ledger with "
            "AGON_DATABASE_URL.",
            code="not_running",
        )
    stores = settings.stores.model_copy(update={"database_url": PostgresServer(settings.data_dir).url})
    return settings.model_copy(update={"stores": stores})


def with_running_stores(settings: Settings) -> Settings:
    """The same with the address of the embedded bus. Raises `Unavailable`."""
    found = with_running_ledger(settings)
    if found.stores.redis_url:
        return found
    stores = found.stores.model_copy(update={"redis_url": ValkeyServer(settings.data_dir).url})
    return found.model_copy(update={"stores": stores})


def note_address(data_dir: Path, url: str) -> None:
    """Say where the arena that has locked the folder serves."""
    (data_dir / _ADDRESS_FILE).write_text(f"{url}\n", "utf-8")


def noted_address(settings: Settings) -> str | None:
    """Where the arena on the data folder serves; `None` for one elsewhere, which has told nobody here."""
    file = settings.data_dir / _ADDRESS_FILE
    if settings.stores.database_url or not file.is_file():
        return None
    return file.read_text("utf-8").strip() or None
