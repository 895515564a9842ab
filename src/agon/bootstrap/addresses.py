"""Where the ledger, the bus and the jobs are."""

from celery import Celery

from agon.config import Settings
from agon.core.errors import InvalidInput
from agon.stores.jobs import celery_app


def store_urls(settings: Settings) -> tuple[str, str]:
    """Where the ledger and the bus are. Raises `InvalidInput` if either is not said."""
    if not settings.stores.database_url or not settings.stores.redis_url:
        raise InvalidInput(
            "AGON_DATABASE_URL and AGON_REDIS_URL must be set; `agon up` starts embedded servers and sets them itself.",
            code="bad_configuration",
        )
    return settings.stores.database_url, settings.stores.redis_url


def jobs(settings: Settings) -> Celery:
    """Celery, for those who send jobs and those who run them."""
    return celery_app(settings.stores.redis_url, settings.stores.redis_prefix)
