"""What an engine's server tells of its load, so that what others ask of it counts in the balance too."""

import re
import time
from collections.abc import Mapping

import aiohttp
from yarl import URL

from agon.engines.faults import FOREIGN

_EVERY_S = 1.0
_RETRY_S = 5.0
"""After which a server that has told before and does not now is asked again."""
_SILENT_RETRY_S = 60.0
"""The same for one that has never told."""
_PATIENCE_S = 0.5
_MAX_BYTES = 4 << 20
_GAUGES = frozenset(
    {
        "vllm:num_requests_running",
        "vllm:num_requests_waiting",
        "sglang:num_running_reqs",
        "sglang:num_queue_reqs",
        "llamacpp:requests_processing",
        "llamacpp:requests_deferred",
    }
)
_SAMPLE = re.compile(r"^([a-z]+:[a-z_]+)(?:\{(.*)\})? ([0-9.eE+-]+)$")
_MODEL = re.compile(r'\bmodel_name="((?:[^"\\]|\\.)*)"')


def metrics_url(chat: URL) -> URL:
    """Where a server that chats at an address tells its metrics."""
    base = chat.path.removesuffix("/chat/completions").removesuffix("/v1")
    return chat.with_path(f"{base}/metrics")


def read_load(text: str, model: str) -> int | None:
    """Requests that run or wait, out of a server's metrics; `None` if it does not tell."""
    found = [
        (match[2], float(match[3]))
        for line in text.splitlines()
        if (match := _SAMPLE.match(line)) and match[1] in _GAUGES
    ]
    ours = [value for labels, value in found if _is_of(labels, model)]
    return int(sum(ours)) if ours else None


def _is_of(labels: str | None, model: str) -> bool:
    named = _MODEL.search(labels or "")
    return named is None or named[1] == model


class ServerLoad:
    """Asks a server how much it has to do, at most once a second."""

    def __init__(self, chat: URL, model: str) -> None:
        self._url = metrics_url(chat)
        self._model = model
        self._known: int | None = None
        self._tells = False
        self._asks_again_s = 0.0

    async def requests(self, session: aiohttp.ClientSession) -> int | None:
        """Requests that run or wait at the server, whoever asked; `None` if it does not tell."""
        now = time.monotonic()
        if now >= self._asks_again_s:
            self._asks_again_s = now + _EVERY_S
            self._known = await self._ask(session)
            self._tells = self._tells or self._known is not None
            if self._known is None:
                self._asks_again_s = time.monotonic() + (_RETRY_S if self._tells else _SILENT_RETRY_S)
        return self._known

    async def _ask(self, session: aiohttp.ClientSession) -> int | None:
        patience = aiohttp.ClientTimeout(total=_PATIENCE_S)
        headers: Mapping[str, str] = {"Accept": "text/plain"}
        try:
            async with session.get(self._url, timeout=patience, headers=headers, allow_redirects=False) as response:
                if response.status != 200:
                    return None
                body = bytearray()
                while len(body) < _MAX_BYTES and (chunk := await response.content.readany()):
                    body += chunk
        except FOREIGN:
            return None
        return read_load(body.decode("utf-8", errors="replace"), self._model)
