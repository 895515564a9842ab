"""The arena that runs on this machine, for commands beside it."""

from agon.config import Settings
from agon.core.errors import Unavailable
from agon.embedded.postgres import PostgresServer


def with_running_ledger(settings: Settings) -> Settings:
    """The settings, with the address of the embedded ledger where none is given. Raises `Unavailable`."""
    if settings.stores.database_url:
        return settings
    server = PostgresServer(settings.data_dir)
    if not server.is_listening():
        raise Unavailable(
            f"No arena runs on {settings.data_dir}. Start it, name its folder with AGON_DATA_DIR, or its ledger with "
            "AGON_DATABASE_URL.",
            code="not_running",
        )
    stores = settings.stores.model_copy(update={"database_url": server.url})
    return settings.model_copy(update={"stores": stores})
