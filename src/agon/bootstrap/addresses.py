"""Where the ledger, the bus and the jobs are."""

from celery import Celery

from agon.config import Settings
from agon.core.errors import InvalidInput
from agon.stores.jobs import celery_app


def ledger_url(settings: Settings) -> str:
    """Where the ledger is. Raises `InvalidInput` if it is not said."""
    return _said(settings.stores.database_url, "AGON_DATABASE_URL")


def store_urls(settings: Settings) -> tuple[str, str]:
    """Where the ledger and the bus are. Raises `InvalidInput` if either is not said."""
    return ledger_url(settings), _said(settings.stores.redis_url, "AGON_REDIS_URL")


def _said(url: str, variable: str) -> str:
    if not url:
        raise InvalidInput(
            f"{variable} must be set; `agon up` starts embedded servers and sets it itself.", code="bad_configuration"
        )
    return url


def jobs(settings: Settings) -> Celery:
    """Celery, for those who send jobs and those who run them."""
    return celery_app(settings.stores.redis_url, settings.stores.redis_prefix)
