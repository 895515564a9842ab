"""What waits for a server that is away says so, and goes on later."""

import logging
from collections.abc import Generator
from contextlib import contextmanager

from agon.core.errors import Unavailable

log = logging.getLogger(__name__)


@contextmanager
def waiting(what: str) -> Generator[None]:
    try:
        yield
    except Unavailable as error:
        log.warning("%s waits: %s", what, error.message)
